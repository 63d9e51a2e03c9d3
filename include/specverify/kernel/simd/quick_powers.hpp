// SPDX-License-Identifier: Apache-2.0
//! Computes fast exponentials of logits in float, as powers of two relative to a reference, and sums of these powers.
#ifndef SPECVERIFY_KERNEL_SIMD_QUICK_POWERS_HPP
#define SPECVERIFY_KERNEL_SIMD_QUICK_POWERS_HPP

#include <specverify/kernel/scalar/log_sum_exp.hpp>
#include <specverify/kernel/simd/powers.hpp>

#include <limits>

#if SPECVERIFY_WITH_SIMD
#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Computes e^((z - reference) / T) as powers of two, each multiplied by 2^offset(). The reference must be a float.
template <class Table>
class quick_powers_of {
 public:
  //! Makes powers for sums.
  explicit quick_powers_of(const exact_weight& weight) noexcept : quick_powers_of(weight, 1.0f, -126.0) {}
  //! Makes powers for results, each of which is multiplied by `factor`.
  quick_powers_of(const exact_weight& weight, float factor) noexcept : quick_powers_of(weight, factor, -127.0) {}
  //! Returns whether the rounding of exponents is small enough and -infinity stays -infinity. Otherwise use the exact
  //! sum.
  [[nodiscard]] bool usable() const noexcept {
    constexpr float largest_shift = Table::has_lines ? 0x1p18f : 0x1p22f;
    return slope_ >= 0x1p-126f && slope_ < 16777216.0f && shift_ > -largest_shift && shift_ < largest_shift &&
           least_ >= -std::numeric_limits<float>::max();
  }
  [[nodiscard]] double offset() const noexcept { return offset_; }
  [[nodiscard]] SPECVERIFY_INLINE power_parts operator()(const pack<float>& values) const noexcept {
    if constexpr (Table::has_lines) {
      return table_.line(values, slope_, shift_, least_, most_);
    } else {
      return table_(exponent(values));
    }
  }
  //! Returns the powers times the factor, or 0 if an exponent is below -126. No exponent may be above 126. An object of
  //! zeroed_denormals must exist.
  [[nodiscard]] SPECVERIFY_INLINE pack<float> results(const pack<float>& values) const noexcept {
    if constexpr (Table::has_lines) {
      const power_parts power = table_.line(larger(values, pack<float>(least_)), slope_, shift_);
      return power.scale * power.fraction;
    } else {
      const pack<float> y = exponent(values);
      const power_parts power = table_(y);
      const pack<float> product = power.scale * power.fraction;
      if constexpr (Table::flushes) return product;
      return chosen(y > pack<float>(-126.0f), product, pack<float>(0.0f));
    }
  }

 private:
  quick_powers_of(const exact_weight& weight, float factor, double least) noexcept
      : table_(factor),
        slope_(static_cast<float>(weight.inverse_temperature * log2_e)),
        reference_(static_cast<float>(weight.reference)) {
    if constexpr (SPECVERIFY_FUSES) {
      const double product = weight.reference * static_cast<double>(slope_);
      shift_ = static_cast<float>(-product);
      if (Table::has_lines && shift_ > -0x1p18f && shift_ < 0x1p18f)
        shift_ = 0.125f * static_cast<float>(static_cast<std::int32_t>(8 * shift_));
      offset_ = product + static_cast<double>(shift_);
      least_ = static_cast<float>((least - static_cast<double>(shift_)) / static_cast<double>(slope_));
      most_ = static_cast<float>((126.0 - static_cast<double>(shift_)) / static_cast<double>(slope_));
    }
  }
  [[nodiscard]] SPECVERIFY_INLINE pack<float> exponent(const pack<float>& values) const noexcept {
    if constexpr (SPECVERIFY_FUSES) {
      return fused(values, pack<float>(slope_), pack<float>(shift_));
    } else {
      return (values - pack<float>(reference_)) * pack<float>(slope_);
    }
  }

  Table table_;
  float slope_;
  float reference_;
  float shift_ = 0;
  double offset_ = 0;
  float least_ = 0, most_ = 0;  // values for the exponents -126 or -127, and 126
};

using quick_powers = quick_powers_of<power_table>;

inline constexpr std::uint32_t quick_group = 4 * pack_size<float>;  // values that a sum of powers reads per step

//! Returns a pack whose lanes add up to the sum of the powers of `count` values, summed in four chains. `count` must be
//! a multiple of quick_group.
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
#include <specverify/core/foreign_macros_on.def>
#endif  // SPECVERIFY_WITH_SIMD

#endif
