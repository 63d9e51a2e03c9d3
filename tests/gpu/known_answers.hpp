// SPDX-License-Identifier: Apache-2.0
//! What arithmetic on the device must do, whatever nvcc's flags were, and what kernels share with the host.
#ifndef SPECVERIFY_TESTS_GPU_KNOWN_ANSWERS_HPP
#define SPECVERIFY_TESTS_GPU_KNOWN_ANSWERS_HPP

#include <specverify/cuda/known_answers.cuh>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

#include <gpu/checks.hpp>

SPECVERIFY_TYPES_BEGIN
namespace gpu_checks {

//! What the functions that kernels share with the host give.
struct shared_values {
  float coarse;
  std::uint32_t weight;
  double exact, logarithm;
  random_block random;
};

SPECVERIFY_HD SPECVERIFY_INLINE shared_values values_at(float logit, std::uint32_t at, double temperature) {
  const kernel::envelope<float> coarse{0.0f, kernel::coarse_scale(temperature), false};
  const kernel::integer_weight weight{0.0, kernel::weight_scale(temperature), false};
  return {coarse(logit), weight(static_cast<double>(logit)),
          kernel::exponential(static_cast<double>(logit) / temperature),
          kernel::logarithm(1.0 + static_cast<double>(at) - static_cast<double>(logit)),
          random_at(philox_key{{at, 17u}}, random_counter{at, 3, 5, purpose::bonus_draw, 0})};
}

__global__ void shared_kernel(const float* logits, std::uint32_t count, double temperature, shared_values* out) {
  const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = values_at(logits[at], at, temperature);
}

//! Half precision, by an instruction of the card: all 2^16 numbers.
__global__ void half_kernel(float* out) {
  const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  out[at] = kernel::to_working(float16_bits{static_cast<std::uint16_t>(at)});
}

}  // namespace gpu_checks
SPECVERIFY_TYPES_END

namespace gpu_tests {

//! What an engine may ask its card (cuda/known_answers.cuh).
inline void check_known_answers(tally& found) {
  scene where(1);
  const array<device_answers> out(where, 1);
  if (!taken(known_answers(exec::cuda{}, out.data()), "known_answers", found)) return;
  const device_answers card = out.read()[0];
  const auto expect = [&](bool right, const char* what) { found.expect(right, what, 0, 0); };
  expect(card.denormals, "denormals (is -ftz=true set?)");
  expect(card.roundings, "products that are rounded before sums");
  expect(card.shared, "weights and random numbers");
  expect(card.right(), "all known answers");
  std::printf("plain products are %s with sums\n", card.fuses ? "fused" : "not fused");
}

//! Coarse and exact exponentials, logarithms, integer weights and Philox have the host's bits.
inline void check_shared_functions(std::uint32_t count, tally& found) {
  scene where(2);
  generator random{11};
  std::vector<float> logits(count);
  for (float& logit : logits) logit = static_cast<float>(-80.0 * random.uniform() * random.uniform());
  const array<float> in(where, logits);
  const array<gpu_checks::shared_values> out(where, count);
  const double temperature = 0.7;
  const status why = cuda_detail::enqueue(exec::cuda{}, {(count + 127) / 128, 128}, &gpu_checks::shared_kernel,
                                          in.data(), count, temperature, out.data());
  if (!taken(why, "shared_kernel", found)) return;
  const std::vector<gpu_checks::shared_values> made = out.read();
  for (std::uint32_t i = 0; i < count; ++i) {
    const gpu_checks::shared_values host = gpu_checks::values_at(logits[i], i, temperature);
    found.expect(same_bits(made[i].coarse, host.coarse), "coarse exponential", 0, i);
    found.expect(made[i].weight == host.weight, "integer weight", 0, i);
    found.expect(made[i].random == host.random, "Philox", 0, i);
    found.expect(same_bits(made[i].exact, host.exact), "exact exponential", 0, i);
    found.expect(same_bits(made[i].logarithm, host.logarithm), "logarithm", 0, i);
  }
}

//! What a number of half precision is as a float: the host's bits, and a NaN for a NaN.
inline void check_half_precision(tally& found) {
  constexpr std::uint32_t count = 1u << 16;
  scene where(3);
  const array<float> out(where, count);
  const status why = cuda_detail::enqueue(exec::cuda{}, {count / 128, 128}, &gpu_checks::half_kernel, out.data());
  if (!taken(why, "half_kernel", found)) return;
  const std::vector<float> made = out.read();
  for (std::uint32_t i = 0; i < count; ++i) {
    const float host = kernel::to_working(float16_bits{static_cast<std::uint16_t>(i)});
    found.expect(same_bits(made[i], host) || (numeric::is_nan(made[i]) && numeric::is_nan(host)), "half precision", 0,
                 i);
  }
}

}  // namespace gpu_tests

#endif
