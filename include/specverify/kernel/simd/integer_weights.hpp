// SPDX-License-Identifier: Apache-2.0
//! Computes integer weights with vector instructions. The steps are those of the scalar reference, in 64-bit lanes, so
//! the weights have the same bits.
#ifndef SPECVERIFY_KERNEL_SIMD_INTEGER_WEIGHTS_HPP
#define SPECVERIFY_KERNEL_SIMD_INTEGER_WEIGHTS_HPP

#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/simd/wide.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

#if SPECVERIFY_WIDE_PRODUCTS

//! Performs the steps of kernel::logit_weight for a pack of values.
class wide_weights {
 public:
  explicit wide_weights(const integer_weight& weight) noexcept : maximum_(weight.maximum), scale_(weight.scale) {}

#if defined(SPECVERIFY_PRODUCTS_OF_52_BITS)
  //! Returns twice the weights. The exponent stays in the mantissa: shifted left by 26 it is g * 2^20 (modulo 2^52),
  //! and the octaves are the low bits after a shift right by 26.
  template <class Work>
  [[nodiscard]] SPECVERIFY_INLINE wide_register doubled(const Work* values) const noexcept {
    constexpr double beyond = 2147483647.5;  // rounds to 32 octaves, so the weight is 0
    pack<double> scaled = (maximum_ - widened(values)) * scale_;
    round_product(scaled);
    const wide_register bits = wide_bits(scaled + pack<double>(round_to_integer));
    const wide_register g = wide_left<26>(bits);
    wide_register sum = wide_subtract(wide_set(5486705u), wide_product_52(wide_set(472172u), g));
    sum = wide_subtract(wide_set(41155297u), wide_product_52(sum, g));
    sum = wide_subtract(wide_set(238337602u), wide_product_52(sum, g));
    sum = wide_subtract(wide_set(1031757278u), wide_product_52(sum, g));
    sum = wide_subtract(wide_set(2977044080u), wide_product_52(sum, g));
    sum = wide_subtract(wide_set(std::uint64_t{1} << 32), wide_product_52(sum, g));
    const wide_register rounded = wide_add(wide_right_by_low_bits(sum, wide_right<26>(bits)), wide_set(1));
    return wide_even_below(rounded, scaled, beyond);
  }
#else
  template <class Work>
  [[nodiscard]] SPECVERIFY_INLINE wide_register doubled(const Work* values) const noexcept {
    const pack<double> scaled = smaller((maximum_ - widened(values)) * scale_, pack<double>(weight_ceiling));
    const wide_register exponent =
        wide_subtract(wide_bits(scaled + pack<double>(round_to_integer)), wide_set(0x4338000000000000u));
    const wide_register g = wide_left<32 - weight_fraction_bits>(
        wide_and(exponent, wide_set((std::uint64_t{1} << weight_fraction_bits) - 1)));
    const wide_register shift = wide_right<weight_fraction_bits>(exponent);
    wide_register sum = wide_subtract(wide_set(5486705u), wide_product_high(wide_set(472172u), g));
    sum = wide_subtract(wide_set(41155297u), wide_product_high(sum, g));
    sum = wide_subtract(wide_set(238337602u), wide_product_high(sum, g));
    sum = wide_subtract(wide_set(1031757278u), wide_product_high(sum, g));
    sum = wide_subtract(wide_set(2977044080u), wide_product_high(sum, g));
    const wide_register mantissa = wide_subtract(wide_set(std::uint64_t{1} << 32), wide_product_high(sum, g));
    const wide_register rounded = wide_add(wide_right_by(mantissa, shift), wide_set(1));
    // At 32 or more octaves below the maximum, bit 5 of the shift is set and the weight is 0
    const wide_register beyond = wide_right<weight_fraction_bits + 5>(exponent);
    return wide_right_by(wide_and(rounded, wide_set(~std::uint64_t{1})), wide_left<6>(beyond));
  }
#endif

 private:
  pack<double> maximum_;
  pack<double> scale_;
};

[[nodiscard]] SPECVERIFY_INLINE std::uint64_t wide_total(wide_register total) noexcept {
  std::uint64_t parts[wide_size], sum = 0;
  wide_store(parts, total);
  for (const std::uint64_t part : parts) sum += part;
  return sum;
}

template <class Level, class Work>
inline std::uint64_t write_weights(exec::simd_on<Level>, const Work* values, std::uint32_t count,
                                   const integer_weight& weight, std::uint32_t* weights) noexcept {
  if (weight.probabilities) [[unlikely]]
    return write_weights(exec::seq, values, count, weight, weights);
  const wide_weights wide(weight);
  wide_register total = wide_set(0);
  std::uint32_t i = 0;
  for (; i + wide_size <= count; i += wide_size) {
    const wide_register result = wide_right<1>(wide.doubled(values + i));
    total = wide_add(total, result);
    wide_store_low(weights + i, result);
  }
  if (i == count) return wide_total(total);
  return wide_total(total) + write_weights(exec::seq, values + i, count - i, weight, weights + i);
}

template <class Level, class Work>
[[nodiscard]] inline std::uint64_t sum_weights(exec::simd_on<Level>, const Work* values, std::uint32_t count,
                                               const integer_weight& weight) noexcept {
  if (weight.probabilities) [[unlikely]]
    return sum_weights(exec::seq, values, count, weight);
  const wide_weights wide(weight);
  wide_register total = wide_set(0);
  std::uint32_t i = 0;
  for (; i + wide_size <= count; i += wide_size) total = wide_add(total, wide.doubled(values + i));
  return wide_total(total) / 2 + sum_weights(exec::seq, values + i, count - i, weight);
}

#endif

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
