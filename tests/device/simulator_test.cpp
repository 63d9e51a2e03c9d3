// SPDX-License-Identifier: Apache-2.0
// The block simulator: small kernels that are right, and small kernels that are wrong in one way each.
#include <cuda_runtime.h>
#include <device/orders.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

constexpr unsigned all_lanes = 0xFFFFFFFFu;

// ---- right

__global__ void reverse(const float* in, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void reverse_in_warps(const float* in, float* out) {
  __shared__ float tile[64];
  const unsigned first = threadIdx.x / 32 * 32, lane = threadIdx.x % 32;
  for (int turn = 0; turn < 3; ++turn) {
    tile[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = tile[first + 31 - lane];
    __syncwarp();
  }
}

__global__ void sum_of_warp(const unsigned* in, unsigned* out) {
  unsigned sum = in[threadIdx.x];
  for (unsigned by = 16; by > 0; by /= 2) sum += __shfl_down_sync(all_lanes, sum, by);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;
}

__global__ void votes(const unsigned* in, unsigned* out) {
  const unsigned bit = in[threadIdx.x] & 1u;
  const unsigned found = __ballot_sync(all_lanes, bit != 0);
  const int count = __syncthreads_count(bit != 0), any = __syncthreads_or(0), every = __syncthreads_and(1);
  const unsigned least = __reduce_min_sync(all_lanes, in[threadIdx.x]);
  const int most = __reduce_max_sync(all_lanes, static_cast<int>(in[threadIdx.x]) - 1000);
  if (threadIdx.x == 0) {
    out[0] = found;
    out[1] = static_cast<unsigned>(count);
    out[2] = static_cast<unsigned>(any);
    out[3] = static_cast<unsigned>(every);
    out[4] = least;
    out[5] = static_cast<unsigned>(most + 1000);
  }
}

__global__ void histogram(const unsigned* in, unsigned* out) {
  __shared__ unsigned bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[in[threadIdx.x] % 8], 1u);
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}

// Every block leaves a part; the block that comes last adds them.
__global__ void sum_of_blocks(const unsigned* in, unsigned* parts, unsigned* counter, unsigned* out) {
  __shared__ unsigned is_last;
  const unsigned first = blockIdx.x * blockDim.x;
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += in[first + i];
    parts[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(counter, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last == 0) return;
  if (threadIdx.x == 1) {
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];
    *out = sum;
    *counter = 0;
  }
}

__global__ void bytes_of_a_word(unsigned char* out) {
  __shared__ unsigned char bytes[64];
  bytes[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = bytes[threadIdx.x ^ 1u];
}

__global__ void all_read_one(const unsigned* one, unsigned* out) { out[threadIdx.x] = *one; }

__global__ void one_adds(unsigned* one) {
  if (threadIdx.x == 33) *one += 1;
}

// ---- wrong

__global__ void no_barrier(const float* in, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void no_second_barrier(const float* in, float* out) {  // a write after the reads of the turn before
  __shared__ float tile[64];
  for (unsigned turn = 0; turn < 2; ++turn) {
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
  }
}

__global__ void no_syncwarp(const float* in, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[threadIdx.x ^ 1u];
}

__global__ void syncwarp_for_a_block(const float* in, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

__global__ void shuffle_is_no_barrier(const float* in, float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  const float own = __shfl_xor_sync(all_lanes, in[threadIdx.x], 1);
  out[threadIdx.x] = tile[threadIdx.x ^ 1u] - own;
}

__global__ void same_value_twice(float* out) {
  __shared__ float one;
  one = 1.0f;
  __syncthreads();
  out[threadIdx.x] = one;
}

__global__ void unwritten_word(const float* in, float* out) {
  __shared__ float tile[65];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];
}

__global__ void unwritten_output(float* out) { out[threadIdx.x] += 1.0f; }

__global__ void short_mask(const unsigned* in, unsigned* out) {
  out[threadIdx.x] = __shfl_sync(0x0000FFFFu, in[threadIdx.x], 0);
}

__global__ void source_outside_of_mask(const unsigned* in, unsigned* out) {
  unsigned value = 0;
  if (threadIdx.x % 32 < 16) value = __shfl_sync(0x0000FFFFu, in[threadIdx.x], 20);
  out[threadIdx.x] = value;
}

__global__ void different_operations(const unsigned* in, unsigned* out) {
  unsigned value = 0;
  if (threadIdx.x % 2 == 0) {
    value = __ballot_sync(all_lanes, in[threadIdx.x] != 0);
  } else {
    value = __shfl_sync(all_lanes, in[threadIdx.x], 0);
  }
  out[threadIdx.x] = value;
}

__global__ void shuffle_in_a_branch(const unsigned* in, unsigned* out) {
  unsigned value = in[threadIdx.x];
  if (threadIdx.x < 40) value = __shfl_sync(all_lanes, value, 0);
  out[threadIdx.x] = value;
}

__global__ void barrier_in_a_branch(float* out) {
  if (threadIdx.x < 32) __syncthreads();
  out[threadIdx.x] = 1.0f;
}

__global__ void barriers_of_two_branches(float* out) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    out[threadIdx.x] = 1.0f;
    __syncthreads();
  }
}

__global__ void barrier_against_warp(float* out) {
  if (threadIdx.x == 5) {
    __syncthreads();
  } else {
    __syncwarp();
    __syncthreads();
  }
  out[threadIdx.x] = 1.0f;
}

__global__ void beyond_the_end(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x + 1]; }

__global__ void changes_its_input(const float* in, float* out) {
  const_cast<float*>(in)[threadIdx.x] = 0.0f;
  out[threadIdx.x] = 0.0f;
}

__global__ void blocks_share_a_word(float* out) {
  if (threadIdx.x == 0) out[0] = static_cast<float>(blockIdx.x);
}

__global__ void unaligned_vector(const float* in, float* out) {
  const float4 four = __ldg(reinterpret_cast<const float4*>(in + 1));
  out[threadIdx.x] = four.x + four.w;
}

__global__ void counter_that_is_no_atomic(const unsigned* in, unsigned* parts, unsigned* counter, unsigned* out) {
  __shared__ unsigned is_last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    const unsigned before = *counter;
    *counter = before + 1;
    is_last = before == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last != 0 && threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];
    *out = sum;
  }
}

__global__ void parts_without_a_fence(const unsigned* in, unsigned* parts, unsigned* counter, unsigned* out) {
  __shared__ unsigned is_last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = in[blockIdx.x];
    is_last = atomicAdd(counter, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last != 0 && threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += parts[i];
    *out = sum;
  }
}

// ---- how they are run

template <class T>
struct memory_of_a_test {
  std::vector<T> in = std::vector<T>(64), out = std::vector<T>(64), parts = std::vector<T>(8);
  T counter{}, sum{};
  memory_of_a_test() {
    for (unsigned i = 0; i < 64; ++i) in[i] = static_cast<T>(i * 7 % 64 + 3);
  }
  void name_to(simulator::device& gpu) {
    gpu.input(in.data(), in.size());
    gpu.output(out.data(), out.size());
    gpu.output(parts.data(), parts.size());
    gpu.both(&counter, 1);
    gpu.output(&sum, 1);
  }
};

using floats = memory_of_a_test<float>;
using words = memory_of_a_test<unsigned>;

template <class Memory, class Launch>
void expect(simulator::fault what, const Launch& launch, const std::string& expected_words = "simulator_test.cpp:") {
  const std::uint64_t order = device_tests::first_order_with(what, [&](simulator::device& gpu) {
    Memory memory;
    memory.name_to(gpu);
    launch(memory);
  });
  CHECK(order == 0);  // found by the order of accesses, not by luck
  simulator::device gpu({.seed = 1});
  Memory memory;
  memory.name_to(gpu);
  launch(memory);
  CHECK_MESSAGE(gpu.report().find(expected_words) != std::string::npos, gpu.report());
}

using device_tests::run;

}  // namespace

TEST_CASE("right kernels give right results in every order, and nothing is said of them") {
  device_tests::in_all_orders([&](simulator::device& gpu) {
    words w;
    floats f;
    w.name_to(gpu);
    f.name_to(gpu);
    run(reverse, 1, 64, f.in.data(), f.out.data());
    for (unsigned i = 0; i < 64; ++i) REQUIRE(f.out[i] == f.in[63 - i]);
    run(reverse_in_warps, 1, 64, f.in.data(), f.out.data());
    for (unsigned i = 0; i < 64; ++i) REQUIRE(f.out[i] == f.in[i / 32 * 32 + 31 - i % 32]);
    run(sum_of_warp, 1, 64, w.in.data(), w.out.data());
    unsigned sum = 0;
    for (unsigned i = 0; i < 32; ++i) sum += w.in[i];
    REQUIRE(w.out[0] == sum);
    run(histogram, 1, 64, w.in.data(), w.out.data());
    for (unsigned i = 0; i < 8; ++i) REQUIRE(w.out[i] == 8);
    run(sum_of_blocks, 8, 8, w.in.data(), w.parts.data(), &w.counter, &w.sum);
    REQUIRE(w.sum == 64 * 3 + 63 * 32);
    REQUIRE(w.counter == 0);
    run(votes, 1, 64, w.in.data(), w.out.data());
    REQUIRE(w.out[0] == 0x55555555u);
    REQUIRE(w.out[1] == 32);
    REQUIRE(w.out[2] == 0);
    REQUIRE(w.out[3] == 1);
    REQUIRE(w.out[4] == 3);
  });
}

TEST_CASE("threads that write different bytes of a word need cells of one byte") {
  for (const unsigned size : {1u, 4u}) {
    simulator::device gpu({.seed = 3, .shared_cell = size});
    std::vector<unsigned char> out(64);
    gpu.output(out.data(), out.size());
    run(bytes_of_a_word, 1, 64, out.data());
    CHECK(gpu.saw(simulator::fault::race) == (size == 4));
    for (unsigned i = 0; i < 64; ++i) CHECK(out[i] == (i ^ 1u));
  }
}

TEST_CASE("races between threads are found in every order") {
  using simulator::fault;
  expect<floats>(fault::race, [](floats& m) { run(no_barrier, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::race, [](floats& m) { run(no_second_barrier, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::race, [](floats& m) { run(no_syncwarp, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::race, [](floats& m) { run(syncwarp_for_a_block, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::race, [](floats& m) { run(shuffle_is_no_barrier, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::race, [](floats& m) { run(same_value_twice, 1, 64, m.out.data()); });
}

TEST_CASE("findings quote the lines of both accesses, and of what is reached apart") {
  using simulator::fault;
  expect<floats>(
      fault::race, [](floats& m) { run(no_barrier, 1, 64, m.in.data(), m.out.data()); },
      "`out[threadIdx.x] = tile[63 - threadIdx.x];` reads what `tile[threadIdx.x] = in[threadIdx.x];` wrote: shared");
  expect<floats>(
      fault::uninitialised, [](floats& m) { run(unwritten_output, 1, 64, m.out.data()); },
      "`__global__ void unwritten_output(float* out) { out[threadIdx.x] += 1.0f; }` reads what nobody wrote: global");
  expect<floats>(
      fault::barrier, [](floats& m) { run(barrier_in_a_branch, 1, 64, m.out.data()); },
      "`if (threadIdx.x < 32) __syncthreads();` after 32 of 64 threads have left");
}

TEST_CASE("races between blocks: a shared word, a counter that is no atomic, parts without a fence") {
  using simulator::fault;
  expect<floats>(fault::race, [](floats& m) { run(blocks_share_a_word, 2, 32, m.out.data()); });
  expect<words>(fault::race, [](words& m) {
    run(counter_that_is_no_atomic, 8, 8, m.in.data(), m.parts.data(), &m.counter, &m.sum);
  });
  expect<words>(fault::race,
                [](words& m) { run(parts_without_a_fence, 8, 8, m.in.data(), m.parts.data(), &m.counter, &m.sum); });
}

TEST_CASE("reads of what nobody wrote are found, in shared and in global memory") {
  using simulator::fault;
  expect<floats>(fault::uninitialised, [](floats& m) { run(no_barrier, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::uninitialised, [](floats& m) { run(unwritten_word, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::uninitialised, [](floats& m) { run(unwritten_output, 1, 64, m.out.data()); });
}

TEST_CASE("wrong masks and lanes at different operations are named") {
  using simulator::fault;
  expect<words>(fault::mask, [](words& m) { run(short_mask, 1, 64, m.in.data(), m.out.data()); });
  expect<words>(fault::mask, [](words& m) { run(source_outside_of_mask, 1, 64, m.in.data(), m.out.data()); });
  expect<words>(fault::mask, [](words& m) { run(sum_of_warp, 1, 48, m.in.data(), m.out.data()); });  // half a warp
  expect<words>(fault::mask, [](words& m) { run(shuffle_in_a_branch, 1, 64, m.in.data(), m.out.data()); });
  expect<words>(fault::divergence, [](words& m) { run(different_operations, 1, 64, m.in.data(), m.out.data()); });
}

TEST_CASE("divergent barriers are named") {
  using simulator::fault;
  expect<floats>(fault::barrier, [](floats& m) { run(barrier_in_a_branch, 1, 64, m.out.data()); });
  expect<floats>(fault::barrier, [](floats& m) { run(barriers_of_two_branches, 1, 64, m.out.data()); });
  expect<floats>(fault::deadlock, [](floats& m) { run(barrier_against_warp, 1, 64, m.out.data()); });
}

TEST_CASE("memory outside of the regions, inputs and alignment") {
  using simulator::fault;
  expect<floats>(fault::outside, [](floats& m) { run(beyond_the_end, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(fault::input_written, [](floats& m) { run(changes_its_input, 1, 64, m.in.data(), m.out.data()); });
  expect<floats>(
      fault::misaligned, [](floats& m) { run(unaligned_vector, 1, 32, m.in.data(), m.out.data()); }, "16 bytes");
  expect<floats>(
      fault::refused, [](floats& m) { run(unwritten_output, 1, 2048, m.out.data()); }, "2048");
}

TEST_CASE("launches come one after the other: what a kernel read, the next may write") {
  device_tests::in_all_orders([&](simulator::device& gpu) {
    words w;
    w.name_to(gpu);
    for (unsigned turn = 0; turn < 3; ++turn) {
      run(all_read_one, 1, 32, &w.counter, w.out.data());
      for (unsigned i = 0; i < 32; ++i) REQUIRE(w.out[i] == turn);
      run(one_adds, 1, 64, &w.counter);
    }
    REQUIRE(cudaMemsetAsync(w.out.data(), 0, w.out.size() * sizeof(unsigned)) == cudaSuccess);
    REQUIRE(w.out[5] == 0);
    REQUIRE(cudaMemsetAsync(w.in.data(), 0, 4) == cudaErrorInvalidValue);  // an input
  });
}

TEST_CASE("loads are counted by the region that they read") {
  simulator::device gpu;
  floats m;
  m.name_to(gpu);
  run(reverse, 1, 64, m.in.data(), m.out.data());
  CHECK(gpu.bytes_read(m.in.data()) == 256);
  CHECK(gpu.bytes_written(m.out.data()) == 256);
  run(reverse, 1, 64, m.in.data(), m.out.data());
  CHECK(gpu.bytes_read(m.in.data()) == 512);
  CHECK(gpu.report() == "");
}
