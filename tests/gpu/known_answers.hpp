// SPDX-License-Identifier: Apache-2.0
//! What arithmetic on the device must do, whatever nvcc's flags were: no macro says so, a kernel does.
#ifndef SPECVERIFY_TESTS_GPU_KNOWN_ANSWERS_HPP
#define SPECVERIFY_TESTS_GPU_KNOWN_ANSWERS_HPP

#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

#include <gpu/batches.hpp>

SPECVERIFY_TYPES_BEGIN
namespace gpu_checks {

struct answers {
  float small_product, small_sum, plain_small_product;
  float product_then_sum;
  double wide_product_then_sum;
  float plain_product_then_sum;  // fused where nvcc fuses by default; said, no failure
  bool small_is_positive;
};

struct questions {
  float small, half, factor, minus;
  double wide_factor, wide_minus;
};

__global__ void answer_kernel(const questions* asked, answers* out) {
  const questions q = *asked;
  if (threadIdx.x != 0) return;
  answers a;
  a.small_product = __fmul_rn(q.small, q.half);
  a.small_sum = __fadd_rn(q.small, q.small);
  a.plain_small_product = q.small * q.half;
  a.product_then_sum = __fadd_rn(__fmul_rn(q.factor, q.factor), q.minus);
  a.wide_product_then_sum = __dadd_rn(__dmul_rn(q.wide_factor, q.wide_factor), q.wide_minus);
  a.plain_product_then_sum = q.factor * q.factor + q.minus;
  a.small_is_positive = q.small > 0.0f;
  *out = a;
}

//! What the functions that kernels share with the host give.
struct shared_values {
  float coarse;
  std::uint32_t weight;
  double exact;
  random_block random;
};

SPECVERIFY_HD SPECVERIFY_INLINE shared_values values_at(float logit, std::uint32_t at, double temperature) {
  const kernel::envelope<float> coarse{0.0f, kernel::coarse_scale(temperature), false};
  const kernel::integer_weight weight{0.0, kernel::weight_scale(temperature), false};
  return {coarse(logit), weight(static_cast<double>(logit)),
          kernel::exponential(static_cast<double>(logit) / temperature),
          random_at(philox_key{{at, 17u}}, random_counter{at, 3, 5, purpose::bonus_draw, 0})};
}

__global__ void shared_kernel(const float* logits, std::uint32_t count, double temperature, shared_values* out) {
  const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < count) out[at] = values_at(logits[at], at, temperature);
}

}  // namespace gpu_checks
SPECVERIFY_TYPES_END

namespace gpu_tests {

//! No flushed denormals, and no product fused with a sum where an intrinsic forbids it.
inline void check_known_answers(tally& found) {
  scene where(1);
  const gpu_checks::questions asked{0x1p-140f, 0.5f, 1 + 0x1p-12f, -(1 + 0x1p-11f), 1 + 0x1p-30, -(1 + 0x1p-29)};
  const array<gpu_checks::questions> in(where, std::vector{asked});
  const array<gpu_checks::answers> out(where, 1);
  const status why = cuda_detail::enqueue(exec::cuda{}, {1, 32}, &gpu_checks::answer_kernel, in.data(), out.data());
  if (!taken(why, "answer_kernel", found)) return;
  const gpu_checks::answers a = out.read()[0];
  const auto expect = [&](bool right, const char* what) { found.expect(right, what, 0, 0); };
  expect(a.small_product == 0x1p-141f, "denormal product");
  expect(a.small_sum == 0x1p-139f, "denormal sum");
  expect(a.plain_small_product == 0x1p-141f, "denormal product without intrinsic (is -ftz=true set?)");
  expect(a.small_is_positive, "denormal above zero");
  expect(a.product_then_sum == 0.0f, "float product rounded before the sum");
  expect(a.wide_product_then_sum == 0.0, "double product rounded before the sum");
  std::printf("plain float products are %s with sums\n", a.plain_product_then_sum == 0.0f ? "not fused" : "fused");
}

//! Coarse exponentials, integer weights and Philox have the host's bits; exact exponentials are within 4 * 2^-53.
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
    const double away = std::fabs(made[i].exact - host.exact);
    found.expect(same_bits(made[i].coarse, host.coarse), "coarse exponential", 0, i);
    found.expect(made[i].weight == host.weight, "integer weight", 0, i);
    found.expect(made[i].random == host.random, "Philox", 0, i);
    found.expect(away <= 8 * 0x1p-53 * host.exact, "exact exponential", 0, i);
  }
}

}  // namespace gpu_tests

#endif
