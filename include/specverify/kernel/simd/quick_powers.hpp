// SPDX-License-Identifier: Apache-2.0
//! Exponentials of logits in float, quickly: powers of two under a reference, and their sums.
#ifndef SPECVERIFY_KERNEL_SIMD_QUICK_POWERS_HPP
#define SPECVERIFY_KERNEL_SIMD_QUICK_POWERS_HPP

#include <specverify/kernel/scalar/log_sum_exp.hpp>
#include <specverify/kernel/simd/powers.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! e^((z - reference) / T) as powers of two; all have the factor 2^offset() too much. The reference is a float.
class quick_powers {
 public:
  explicit quick_powers(const exact_weight& weight) noexcept
      : slope_(static_cast<float>(weight.inverse_temperature * log2_e)),
        reference_(static_cast<float>(weight.reference)) {
    if constexpr (SPECVERIFY_FUSES) {
      const double product = weight.reference * static_cast<double>(slope_);
      shift_ = static_cast<float>(-product);
      offset_ = product + static_cast<double>(shift_);
    }
  }
  //! Whether one rounding each is little, and -infinity stays that. Otherwise the exact sum is the way.
  [[nodiscard]] bool usable() const noexcept {
    return slope_ >= 0x1p-126f && slope_ < 16777216.0f && shift_ > -4194304.0f && shift_ < 4194304.0f;
  }
  [[nodiscard]] double offset() const noexcept { return offset_; }
  [[nodiscard]] SPECVERIFY_INLINE pack<float> exponent(const pack<float>& values) const noexcept {
    if constexpr (SPECVERIFY_FUSES) {
      return fused(values, pack<float>(slope_), pack<float>(shift_));
    } else {
      return (values - pack<float>(reference_)) * pack<float>(slope_);
    }
  }
  [[nodiscard]] SPECVERIFY_INLINE power_parts operator()(const pack<float>& values) const noexcept {
    return table_(exponent(values));
  }
  //! Results of `values`, with 0 where the exponent is below the least of power_parts.
  [[nodiscard]] SPECVERIFY_INLINE pack<float> without_small(const pack<float>& results,
                                                            const pack<float>& values) const noexcept {
    if constexpr (power_table::flushes) return results;
    return chosen(exponent(values) > pack<float>(-126.0f), results, pack<float>(0.0f));
  }

 private:
  power_table table_;
  float slope_;
  float reference_;
  float shift_ = 0;
  double offset_ = 0;
};

inline constexpr std::uint32_t quick_group = 4 * pack_size<float>;  // values that a sum of powers takes at once

//! Sum of the powers of `count` values, a multiple of quick_group; four chains of additions.
template <class Stored, class Count>
[[nodiscard]] SPECVERIFY_INLINE pack<float> quick_block(const quick_powers& powers, const Stored* values,
                                                        Count count) noexcept {
  constexpr std::uint32_t width = pack_size<float>, chains = 4;
  pack<float> sums[chains];
  for (auto& sum : sums) sum = pack<float>(0.0f);
  for (std::uint32_t i = 0; i < count; i += chains * width) {
    for (std::uint32_t c = 0; c < chains; ++c) {
      const power_parts power = powers(load_pack(values + i + c * width));
      sums[c] = fused(power.scale, power.fraction, sums[c]);
    }
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
