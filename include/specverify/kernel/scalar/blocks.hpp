// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: computes exact weights, and masks of values that reach a threshold, for rows whose engine supplies
//! the maximum and the sum of each block (row/blocks.hpp).
#ifndef SPECVERIFY_KERNEL_SCALAR_BLOCKS_HPP
#define SPECVERIFY_KERNEL_SCALAR_BLOCKS_HPP

#include <specverify/kernel/scalar/log_sum_exp.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Writes the exact weights of `count` logits; a forbidden logit gets 0.
inline void write_exact(exec::seq_policy, const float* values, std::uint32_t count, const exact_weight& weight,
                        double* out) noexcept {
  for (std::uint32_t i = 0; i < count; ++i)
    out[i] = is_negative_infinity(values[i]) ? 0.0 : weight(static_cast<double>(values[i]));
}

//! Sets bit i % 64 of words[i / 64] if values[i] is at least `bar`, for `size` values; `size` must be a multiple of 64.
inline void write_reaching(exec::seq_policy, const float* values, std::uint32_t size, float bar,
                           std::uint64_t* words) noexcept {
  for (std::uint32_t part = 0; part < size; part += 64) {
    std::uint64_t mask = 0;
    for (std::uint32_t i = 0; i < 64; ++i) mask |= std::uint64_t{values[part + i] >= bar ? 1u : 0u} << i;
    words[part / 64] = mask;
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
