// SPDX-License-Identifier: Apache-2.0
//! Implements samplers and verifiers of two serving engines from public descriptions, as alternatives to compare with
//! this library. Both first write a float for every probability (softmax over V, to memory) and continue from these
//! floats.
//!
//! vLLM-style:       Leviathan, Kalman, Matias: Fast inference from transformers via speculative decoding (ICML 2023),
//!                   algorithm 1, as vLLM's documentation lays it out: softmax, an accept test for each draft on dense
//!                   laws, and for every drafted row a recovered token, the argmax of max(p - q, 0) / noise with
//!                   exponential noise. A plain draw is the argmax of p / noise.
//! FlashInfer-style: "Sorting-free GPU kernels for LLM sampling" (FlashInfer's blog, March 2025) and its documentation
//!                   of chain_speculative_sampling: softmax with maximum and sum in one read, a draw by the inverse of
//!                   the running sum, a thread block a request, one residual at the first rejection.
//! Both are faster than the originals, because noise is made on the fly and never stored, and because one graph
//! captures a whole step. Rows must begin at 16 bytes, and V must be a multiple of 4. All kernels are templates, so
//! that several translation units of a program may contain them.
#ifndef SPECVERIFY_BENCHMARKS_CUDA_PEERS_CUH
#define SPECVERIFY_BENCHMARKS_CUDA_PEERS_CUH

#include <specverify/cuda/policy.cuh>
#include <specverify/device/rounds.hpp>

#include <cmath>

SPECVERIFY_TYPES_BEGIN
namespace cuda_peers {

inline constexpr std::uint32_t threads = 512;
inline constexpr std::uint32_t lanes_per_warp = 32;
inline constexpr unsigned all_lanes = 0xFFFFFFFFu;

__device__ __forceinline__ std::uint32_t lane_of_thread() { return threadIdx.x % lanes_per_warp; }
__device__ __forceinline__ std::uint32_t warp_of_thread() { return threadIdx.x / lanes_per_warp; }
__device__ __forceinline__ std::uint32_t warps_of_block() { return blockDim.x / lanes_per_warp; }

struct four_values {
  float at[4];
};
__device__ __forceinline__ four_values load_four(const float* data) {
  const float4 all = __ldg(reinterpret_cast<const float4*>(data));
  return {{all.x, all.y, all.z, all.w}};
}
template <class Half>
__device__ __forceinline__ four_values load_four(const Half* data) {
  const ushort4 all = __ldg(reinterpret_cast<const ushort4*>(data));
  return {{kernel::to_working(Half{all.x}), kernel::to_working(Half{all.y}), kernel::to_working(Half{all.z}),
           kernel::to_working(Half{all.w})}};
}

//! Shared memory of a thread block.
struct room {
  float values[32];
  float others[32];
  std::uint32_t ids[32];
  std::uint32_t found;
  float share;
};

//! Returns the sum over a thread block, in every thread.
__device__ __forceinline__ float sum_of_block(float value, float* values) {
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(all_lanes, value, by);
  __syncthreads();
  if (lane_of_thread() == 0) values[warp_of_thread()] = value;
  __syncthreads();
  float sum = 0;
  for (std::uint32_t w = 0; w < warps_of_block(); ++w) sum += values[w];
  return sum;
}
__device__ __forceinline__ float largest_of_block(float value, float* values) {
  for (int by = 16; by > 0; by /= 2) value = fmaxf(value, __shfl_xor_sync(all_lanes, value, by));
  __syncthreads();
  if (lane_of_thread() == 0) values[warp_of_thread()] = value;
  __syncthreads();
  float most = values[0];
  for (std::uint32_t w = 1; w < warps_of_block(); ++w) most = fmaxf(most, values[w]);
  return most;
}
//! Returns the id of the largest value, and the least id if there are several.
__device__ __forceinline__ std::uint32_t argmax_of_block(float value, std::uint32_t id, room& shared) {
  for (int by = 16; by > 0; by /= 2) {
    const float other = __shfl_xor_sync(all_lanes, value, by);
    const std::uint32_t other_id = __shfl_xor_sync(all_lanes, id, by);
    if (other > value || (other == value && other_id < id)) value = other, id = other_id;
  }
  __syncthreads();
  if (lane_of_thread() == 0) shared.values[warp_of_thread()] = value;
  if (lane_of_thread() == 0) shared.ids[warp_of_thread()] = id;
  __syncthreads();
  value = shared.values[0], id = shared.ids[0];
  for (std::uint32_t w = 1; w < warps_of_block(); ++w)
    if (shared.values[w] > value || (shared.values[w] == value && shared.ids[w] < id))
      value = shared.values[w], id = shared.ids[w];
  return id;
}

__device__ __forceinline__ void store_four(float* at, float a, float b, float c, float d) {
  *reinterpret_cast<float4*>(at) = make_float4(a, b, c, d);
}

// ---- Softmax over V, to memory

template <class Scalar>
__device__ __forceinline__ void write_softmax(const Scalar* row, std::uint32_t size, float scale, float most, float sum,
                                              float* probabilities) {
  const float inverse = 1.0f / sum;
  for (std::uint32_t id = threadIdx.x * 4; id < size; id += blockDim.x * 4) {
    const four_values four = load_four(row + id);
    float p[4];
    for (int i = 0; i < 4; ++i) p[i] = expf((four.at[i] - most) * scale) * inverse;
    store_four(probabilities + id, p[0], p[1], p[2], p[3]);
  }
}

//! Three reads and a write: maximum, sum, probabilities.
template <class Scalar>
__global__ void __launch_bounds__(threads)
    peer_softmax_kernel(device_rows<Scalar> rows, float scale, float* probabilities) {
  __shared__ room shared;
  const Scalar* row = rows.data + blockIdx.x * rows.pitch;
  float most = kernel::negative_infinity<float>(), sum = 0;
  for (std::uint32_t id = threadIdx.x * 4; id < rows.size; id += blockDim.x * 4) {
    const four_values four = load_four(row + id);
    for (int i = 0; i < 4; ++i) most = fmaxf(most, four.at[i]);
  }
  most = largest_of_block(most, shared.values);
  for (std::uint32_t id = threadIdx.x * 4; id < rows.size; id += blockDim.x * 4) {
    const four_values four = load_four(row + id);
    for (int i = 0; i < 4; ++i) sum += expf((four.at[i] - most) * scale);
  }
  sum = sum_of_block(sum, shared.others);
  write_softmax(row, rows.size, scale, most, sum, probabilities + std::size_t{blockIdx.x} * rows.size);
}

//! Two reads and a write, because maximum and sum take one read.
template <class Scalar>
__global__ void __launch_bounds__(threads)
    peer_online_softmax_kernel(device_rows<Scalar> rows, float scale, float* probabilities) {
  __shared__ room shared;
  const Scalar* row = rows.data + blockIdx.x * rows.pitch;
  float mine = -3.0e38f, sum = 0;
  for (std::uint32_t id = threadIdx.x * 4; id < rows.size; id += blockDim.x * 4) {
    const four_values four = load_four(row + id);
    const float larger = fmaxf(mine, fmaxf(fmaxf(four.at[0], four.at[1]), fmaxf(four.at[2], four.at[3])));
    sum *= expf((mine - larger) * scale);
    mine = larger;
    for (int i = 0; i < 4; ++i) sum += expf((four.at[i] - mine) * scale);
  }
  const float most = largest_of_block(mine, shared.values);
  sum = sum_of_block(sum * expf((mine - most) * scale), shared.others);
  write_softmax(row, rows.size, scale, most, sum, probabilities + std::size_t{blockIdx.x} * rows.size);
}

// ---- Draws

//! A distribution over V, or the positive difference of two distributions.
struct law {
  const float* p;
  const float* minus;  //!< may be null
  __device__ __forceinline__ void four(std::uint32_t id, float* out) const {
    const four_values a = load_four(p + id);
    for (int i = 0; i < 4; ++i) out[i] = a.at[i];
    if (minus == nullptr) return;
    const four_values b = load_four(minus + id);
    for (int i = 0; i < 4; ++i) out[i] = fmaxf(out[i] - b.at[i], 0.0f);
  }
};

__device__ __forceinline__ float uniform_of(std::uint32_t word) {
  return (static_cast<float>(word >> 8) + 0.5f) * 0x1.0p-24f;
}

//! Returns the argmax of a distribution divided by exponential noise; every thread gets it.
__device__ __forceinline__ std::uint32_t draw_by_noise(const law& from, std::uint32_t size, philox_key key,
                                                       std::uint32_t row, room& shared) {
  float best = -1;
  std::uint32_t at = 0;
  for (std::uint32_t id = threadIdx.x * 4; id < size; id += blockDim.x * 4) {
    const random_block noise = random_at(key, {row, 0, id / 4, purpose::coupling_noise, 0});
    float p[4];
    from.four(id, p);
    for (int i = 0; i < 4; ++i) {
      const float score = p[i] / -logf(uniform_of(noise.word[i]));
      if (score > best) best = score, at = id + static_cast<std::uint32_t>(i);
    }
  }
  return argmax_of_block(best, at, shared);
}

//! Returns the least id whose running sum exceeds `target`; every thread gets it. It stops after that id.
__device__ __forceinline__ std::uint32_t draw_by_sum(const law& from, std::uint32_t size, float target, room& shared) {
  float before = 0;
  __syncthreads();
  if (threadIdx.x == 0) shared.found = size;
  __syncthreads();
  for (std::uint32_t first = 0; first < size; first += blockDim.x * 4) {
    const std::uint32_t id = first + threadIdx.x * 4;
    float p[4] = {0, 0, 0, 0};
    if (id < size) from.four(id, p);
    const float mine = p[0] + p[1] + p[2] + p[3];
    float through = mine;
    for (unsigned by = 1; by < lanes_per_warp; by *= 2) {
      const float other = __shfl_up_sync(all_lanes, through, by);
      if (lane_of_thread() >= by) through += other;
    }
    if (lane_of_thread() == lanes_per_warp - 1) shared.values[warp_of_thread()] = through;
    __syncthreads();
    float sum = before + through - mine, all = before;
    for (std::uint32_t w = 0; w < warps_of_block(); ++w) {
      if (w < warp_of_thread()) sum += shared.values[w];
      all += shared.values[w];
    }
    bool is_over = false;
    for (std::uint32_t i = 0; i < 4; ++i) {
      sum += p[i];
      if (!is_over && p[i] > 0 && sum > target && id + i < size) atomicMin(&shared.found, id + i), is_over = true;
    }
    before = all;
    __syncthreads();
    if (shared.found < size) break;
  }
  __syncthreads();
  return shared.found < size ? shared.found : size - 1;
}

template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads)
    peer_noise_kernel(const float* probabilities, std::uint32_t size, const philox_key* key, token_id* tokens) {
  __shared__ room shared;
  const law p{probabilities + std::size_t{blockIdx.x} * size, nullptr};
  const std::uint32_t id = draw_by_noise(p, size, *key, blockIdx.x, shared);
  if (threadIdx.x == 0) tokens[blockIdx.x] = static_cast<token_id>(id);
}

template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads)
    peer_sum_kernel(const float* probabilities, std::uint32_t size, const philox_key* key, token_id* tokens) {
  __shared__ room shared;
  const law p{probabilities + std::size_t{blockIdx.x} * size, nullptr};
  const float target = uniform_of(random_at(*key, {blockIdx.x, 0, 0, purpose::bonus_draw, 0}).word[0]);
  const std::uint32_t id = draw_by_sum(p, size, target, shared);
  if (threadIdx.x == 0) tokens[blockIdx.x] = static_cast<token_id>(id);
}

// ---- Verification on dense distributions

//! Requests with the same number of drafts: p has drafts + 1 rows per request, q has `drafts` rows, each of V floats.
struct dense_round {
  const float* p;
  const float* q;
  const token_id* drafts;
  std::uint32_t drafted;
  std::uint32_t size;
  const philox_key* key;
  std::uint32_t* accepted;  //!< indexed by request
  token_id* next;           //!< indexed by request: the token after the last accepted draft

  __device__ __forceinline__ law residual(std::uint32_t request, std::uint32_t at) const {
    const float* row = p + (std::size_t{request} * (drafted + 1) + at) * size;
    return {row, at < drafted ? q + (std::size_t{request} * drafted + at) * size : nullptr};
  }
  __device__ __forceinline__ bool accepts(std::uint32_t request, std::uint32_t at) const {
    const law one = residual(request, at);
    const token_id token = drafts[request * drafted + at];
    const float u = uniform_of(random_at(*key, {request, at, 0, purpose::acceptance, 0}).word[0]);
    return u * one.minus[token] < one.p[token];
  }
};

//! Writes the distribution of each draft as V floats, the input of such a verifier. The memory must be zero.
template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads)
    peer_laws_kernel(const device_draft* drafts, std::uint32_t size, float* dense) {
  const specverify::law& from = drafts[blockIdx.x].source;
  for (std::uint32_t i = threadIdx.x; i < from.size; i += blockDim.x)
    dense[std::size_t{blockIdx.x} * size + static_cast<std::uint32_t>(from.ids[i])] =
        static_cast<float>(from.counts[i]) / static_cast<float>(from.resolution);
}

//! vLLM-style, first kernel: draws a token for every drafted row and the bonus row, needed or not.
template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads) peer_recover_kernel(dense_round round, token_id* recovered) {
  __shared__ room shared;
  const std::uint32_t request = blockIdx.x / (round.drafted + 1), at = blockIdx.x % (round.drafted + 1);
  const std::uint32_t id = draw_by_noise(round.residual(request, at), round.size, *round.key, blockIdx.x, shared);
  if (threadIdx.x == 0) recovered[blockIdx.x] = static_cast<token_id>(id);
}
//! Second kernel: one thread per request walks along the drafts.
template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads)
    peer_accept_kernel(dense_round round, std::uint32_t requests, const token_id* recovered) {
  const std::uint32_t request = blockIdx.x * blockDim.x + threadIdx.x;
  if (request >= requests) return;
  std::uint32_t at = 0;
  while (at < round.drafted && round.accepts(request, at)) ++at;
  round.accepted[request] = at;
  round.next[request] = recovered[request * (round.drafted + 1) + at];
}

//! FlashInfer-style: one block per request. If the chain ends, the residual is summed and drawn from.
template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads) peer_chain_kernel(dense_round round) {
  __shared__ room shared;
  const std::uint32_t request = blockIdx.x;
  if (threadIdx.x == 0) {
    std::uint32_t at = 0;
    while (at < round.drafted && round.accepts(request, at)) ++at;
    shared.found = at;
    shared.share = uniform_of(random_at(*round.key, {request, 0, 0, purpose::residual_draw, 0}).word[0]);
  }
  __syncthreads();
  const std::uint32_t accepted = shared.found;
  const float share = shared.share;
  const law left = round.residual(request, accepted);
  float sum = 0;
  for (std::uint32_t id = threadIdx.x * 4; id < round.size; id += blockDim.x * 4) {
    float p[4];
    left.four(id, p);
    sum += p[0] + p[1] + p[2] + p[3];
  }
  sum = sum_of_block(sum, shared.values);
  __syncthreads();
  const std::uint32_t id = draw_by_sum(left, round.size, share * sum, shared);
  if (threadIdx.x == 0) round.accepted[request] = accepted;
  if (threadIdx.x == 0) round.next[request] = static_cast<token_id>(id);
}

}  // namespace cuda_peers
SPECVERIFY_TYPES_END

#endif
