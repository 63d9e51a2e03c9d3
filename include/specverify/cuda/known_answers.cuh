// SPDX-License-Identifier: Apache-2.0
//! Runs a kernel that checks whether your flags for nvcc keep the arithmetic that kernels share with the CPU. It
//! detects -ftz=true and -use_fast_math.
//!
//! Run it once when an engine starts, or in a test of the build. A kernel is needed because no macro shows these flags.
//! Guarantees: one block of 32 threads on the policy's stream. No allocation.
//! See:        docs/algorithms/cuda.md, tests/device/known_answers_test.cpp
#ifndef SPECVERIFY_CUDA_KNOWN_ANSWERS_CUH
#define SPECVERIFY_CUDA_KNOWN_ANSWERS_CUH

#include <specverify/cuda/detail/load.cuh>
#include <specverify/cuda/detail/threads.cuh>
#include <specverify/cuda/policy.cuh>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>

SPECVERIFY_TYPES_BEGIN

//! Results of the check. If right() is false, kernels of this build can compute other results than the CPU.
struct device_answers {
  bool denormals;  //!< denormal numbers are not replaced by 0
  bool roundings;  //!< a product is rounded before it is added if the code requests that
  bool shared;     //!< weights and random numbers equal the CPU's, bit for bit
  bool fuses;      //!< plain products and sums are fused, which is allowed
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool right() const noexcept { return denormals && roundings && shared; }
};

namespace cuda_detail {

//! Results of the functions that kernels share with the CPU.
struct shared_answer {
  float coarse;
  std::uint32_t weight;
  random_block random;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool operator==(const shared_answer& other) const noexcept {
    bool same = coarse == other.coarse && weight == other.weight;
    for (int i = 0; i < 4; ++i) same = same && random.word[i] == other.random.word[i];
    return same;
  }
};

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE shared_answer shared_answer_at(float logit, std::uint32_t at) noexcept {
  const kernel::envelope<float> coarse{0.0f, kernel::coarse_scale(0.7), false};
  const kernel::integer_weight weight{0.0, kernel::weight_scale(0.7), false};
  return {coarse(logit), weight(static_cast<double>(logit)),
          random_at(philox_key{{at, 17u}}, random_counter{at, 3, 5, purpose::bonus_draw, 0})};
}

//! Inputs, passed at run time so that no compiler computes the results in advance, and the CPU's results.
struct known_questions {
  float tiny, half, factor, minus;
  double wide_factor, wide_minus;
  float logits[lanes_per_warp];
  shared_answer expected[lanes_per_warp];
};

template <std::uint32_t Threads>
__global__ void __launch_bounds__(Threads) answers_kernel(known_questions q, device_answers* out) {
  const std::uint32_t lane = lane_of_thread();
  const bool same = shared_answer_at(q.logits[lane], lane) == q.expected[lane];
  const std::uint32_t agreed = __ballot_sync(all_lanes, same);
  if (lane != 0) return;
  device_answers found;
  const float quarter = 0.25f * q.tiny;  // uses the operators, so compiler flags affect it
  found.denormals = __fmul_rn(q.tiny, q.half) == 0.5f * q.tiny && quarter > 0.0f && q.tiny > quarter &&
                    __fadd_rn(q.tiny, q.tiny) > q.tiny;
  found.roundings = __fadd_rn(__fmul_rn(q.factor, q.factor), q.minus) == 0.0f &&
                    __dadd_rn(__dmul_rn(q.wide_factor, q.wide_factor), q.wide_minus) == 0.0;
  found.fuses = q.factor * q.factor + q.minus != 0.0f;
  found.shared = agreed == all_lanes;
  *out = found;
}

}  // namespace cuda_detail

//! Enqueues the check. `answers` must be in device memory; the kernel writes it. Errors: null_span, engine_failed.
[[nodiscard]] SPECVERIFY_INLINE status known_answers(exec::cuda how, device_answers* answers) noexcept {
  if (answers == nullptr) return device_detail::refusal(errc::null_span);
  cuda_detail::known_questions asked{0x1p-140f,   0.5f,           1 + 0x1p-12f, -(1 + 0x1p-11f),
                                     1 + 0x1p-30, -(1 + 0x1p-29), {},           {}};
  for (std::uint32_t i = 0; i < cuda_detail::lanes_per_warp; ++i) {
    asked.logits[i] = -0.37f * static_cast<float>(i);
    asked.expected[i] = cuda_detail::shared_answer_at(asked.logits[i], i);
  }
  return cuda_detail::enqueue(how, {1, cuda_detail::lanes_per_warp},
                              &cuda_detail::answers_kernel<cuda_detail::lanes_per_warp>, asked, answers);
}

SPECVERIFY_TYPES_END

#endif
