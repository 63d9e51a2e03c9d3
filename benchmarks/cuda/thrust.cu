// SPDX-License-Identifier: Apache-2.0
// Times Thrust (device/) on the batches of bench.cu, and appends lines to the CSV of bench.cu.
// usage: thrust CSV     1, 64 and 512 float32 rows of V = 128 256
// The calls wait for the device, so a graph cannot capture them. Therefore these calls and the reads of the same rows
// are launched again each time.
#include <specverify/device/digest.hpp>
#include <specverify/device/sample.hpp>
#include <specverify/device/select.hpp>
#include <specverify/device/verify.hpp>

#include <thrust/system/cuda/execution_policy.h>

#include <map>

#include "inputs.cuh"
#include "measure.cuh"

namespace {

using namespace specverify;
using namespace cuda_bench;

//! Caches memory for Thrust. Only the first call allocates it on the device; later calls reuse it.
class kept_memory {
 public:
  using value_type = char;
  char* allocate(std::ptrdiff_t size) {
    const auto found = free_.lower_bound(size);
    if (found == free_.end()) {
      char* made = nullptr;
      must(cudaMalloc(&made, static_cast<std::size_t>(size)), "cudaMalloc");
      sizes_[made] = size;
      return made;
    }
    char* const data = found->second;
    free_.erase(found);
    return data;
  }
  void deallocate(char* data, std::size_t) { free_.emplace(sizes_.at(data), data); }
  kept_memory() = default;
  kept_memory(const kept_memory&) = delete;
  kept_memory& operator=(const kept_memory&) = delete;
  ~kept_memory() {
    for (const auto& one : sizes_) must(cudaFree(one.first), "cudaFree");
  }

 private:
  std::multimap<std::ptrdiff_t, char*> free_;
  std::map<char*, std::ptrdiff_t> sizes_;
};

//! Checks that Thrust drew the same tokens as the kernels.
template <class Scalar>
void check_tokens(const inputs<Scalar>& in) {
  must(cudaDeviceSynchronize(), "sample");
  const std::vector<token_id> kernels = in.likely.copied();
  const std::vector<device_token> made = in.out.tokens.copied();
  std::uint32_t others = 0;
  for (std::uint32_t row = 0; row < in.count; ++row)
    others += made[row].why.ok() && made[row].token == kernels[row] ? 0 : 1;
  if (others == 0) return;
  std::printf("%u of %u tokens of Thrust are not those of the kernels\n", others, in.count);
  std::exit(1);
}

void measure_rows(const machine& on, std::uint32_t rows) {
  if (!fits<float>(on, rows, 128256)) return;
  const inputs<float> in(on.card, rows, 128256);
  kept_memory memory;
  const exec::thrust_on how{thrust::cuda::par(memory).on(on.stream)};
  const char* who = "thrust";
  measure<plain_calls>(on, in, who, "digest", [&](std::uint32_t copy, cudaStream_t) {
    must_take(read_rows(how, in.batch(copy)), "read_rows");
  });
  measure<plain_calls>(on, in, who, "sample", [&](std::uint32_t copy, cudaStream_t) {
    must_take(sample(how, in.batch(copy), in.draws(), in.out.tokens.data()), "sample");
  });
  check_tokens(in);
  measure<plain_calls>(on, in, who, "select_256", [&](std::uint32_t copy, cudaStream_t) {
    must_take(select(how, in.batch(copy), 256, in.selected()), "select");
  });
  if (in.drafts.requests == 0) return;
  measure<plain_calls>(on, in, who, "verify_3", [&](std::uint32_t copy, cudaStream_t) {
    must_take(verify_batch(how, device_token_rule{}, in.rounds(copy), in.uniforms(), {in.out.verdicts.data(), nullptr},
                           in.round_memory()),
              "verify_batch");
  });
}

}  // namespace

int main(int count, char** arguments) {
  return run_on_card(count > 1 ? arguments[1] : nullptr, "a", [](const machine& on) {
    for (const std::uint32_t rows : {1u, 64u, 512u}) measure_rows(on, rows);
  });
}
