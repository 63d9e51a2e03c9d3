// SPDX-License-Identifier: Apache-2.0
//! Integer weights in vectors: the steps of the scalar reference in 64-bit lanes, the same bits.
#ifndef SPECVERIFY_KERNEL_SIMD_INTEGER_WEIGHTS_HPP
#define SPECVERIFY_KERNEL_SIMD_INTEGER_WEIGHTS_HPP

#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/simd/pack.hpp>

#if SPECVERIFY_WITH_XSIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

#if SPECVERIFY_WIDE_PRODUCTS

[[nodiscard]] SPECVERIFY_INLINE wide_register integer_exponentials(wide_register exponent) noexcept {
  const wide_register g = wide_left<32 - weight_fraction_bits>(
      wide_and(exponent, wide_set((std::uint64_t{1} << weight_fraction_bits) - 1)));
  const wide_register shift = wide_right<weight_fraction_bits>(exponent);
  wide_register sum = wide_subtract(wide_set(5486705u), wide_product_high(wide_set(472172u), g));
  sum = wide_subtract(wide_set(41155297u), wide_product_high(sum, g));
  sum = wide_subtract(wide_set(238337602u), wide_product_high(sum, g));
  sum = wide_subtract(wide_set(1031757278u), wide_product_high(sum, g));
  sum = wide_subtract(wide_set(2977044080u), wide_product_high(sum, g));
  const wide_register mantissa = wide_subtract(wide_set(std::uint64_t{1} << 32), wide_product_high(sum, g));
  const wide_register one = wide_set(1);
  return wide_right_by(wide_add(mantissa, wide_left_by(one, shift)), wide_add(shift, one));
}

template <class Level, class Work>
inline std::uint64_t write_weights(exec::simd_on<Level>, const Work* values, std::uint32_t count,
                                   const integer_weight& weight, std::uint32_t* weights) noexcept {
  if (weight.probabilities) return write_weights(exec::seq, values, count, weight, weights);
  const pack<double> maximum(weight.maximum), scale(weight.scale), magic(round_to_integer);
  const pack<double> floor(weight_floor);
  const wide_register origin = wide_set(0x4338000000000000u);
  wide_register total = wide_set(0);
  std::uint32_t i = 0;
  for (; i + wide_size <= count; i += wide_size) {
    const pack<double> scaled = (widened(values + i) - maximum) * scale;
    const wide_register exponent = wide_subtract(origin, wide_bits(larger(scaled, floor) + magic));
    wide_register result = integer_exponentials(exponent);
    // from 32 octaves on the weight is 0: bit 5 of the shift is set there and nowhere below
    const wide_register beyond = wide_right<weight_fraction_bits + 5>(exponent);
    result = wide_right_by(result, wide_left<6>(beyond));
    total = wide_add(total, result);
    wide_store_low(weights + i, result);
  }
  std::uint64_t parts[wide_size];
  wide_store(parts, total);
  std::uint64_t sum = 0;
  for (const std::uint64_t part : parts) sum += part;
  return sum + write_weights(exec::seq, values + i, count - i, weight, weights + i);
}

#endif

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_XSIMD

#endif
