// SPDX-License-Identifier: Apache-2.0
//! Sums of exponentials in vectors: the exact one in double, the quick one in float.
#ifndef SPECVERIFY_KERNEL_SIMD_LOG_SUM_EXP_HPP
#define SPECVERIFY_KERNEL_SIMD_LOG_SUM_EXP_HPP

#include <specverify/kernel/scalar/log_sum_exp.hpp>
#include <specverify/kernel/simd/pack.hpp>

#if SPECVERIFY_WITH_XSIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! The steps of kernel::exponential.
[[nodiscard]] SPECVERIFY_INLINE pack<double> exponentials(const pack<double>& x) noexcept {
  using wide = pack<double>;
  using integer = pack<std::int64_t>;
  const wide bounded = smaller(larger(x, wide(-701.0)), wide(700.0));
  const integer bits = integer_bits<double>(bounded * wide(log2_e) + wide(round_to_integer));
  // the integer part as a double; 4096 is added in between so that no compiler cancels the two large constants
  const wide whole = double_bits(bits + integer(std::int64_t{4096})) - wide(round_to_integer + 4096.0);
  const wide r = (bounded - whole * wide(0x1.62e42fee00000p-1)) - whole * wide(0x1.a39ef35793c76p-33);
  wide sum(1.0 / 6227020800.0);
  sum = sum * r + wide(1.0 / 479001600.0);
  sum = sum * r + wide(1.0 / 39916800.0);
  sum = sum * r + wide(1.0 / 3628800.0);
  sum = sum * r + wide(1.0 / 362880.0);
  sum = sum * r + wide(1.0 / 40320.0);
  sum = sum * r + wide(1.0 / 5040.0);
  sum = sum * r + wide(1.0 / 720.0);
  sum = sum * r + wide(1.0 / 120.0);
  sum = sum * r + wide(1.0 / 24.0);
  sum = sum * r + wide(1.0 / 6.0);
  sum = sum * r + wide(0.5);
  sum = sum * r + wide(1.0);
  sum = sum * r + wide(1.0);
  const integer exponent = (bits - integer(std::int64_t{0x4338000000000000} - 1023)) << 52;
  return xsimd::select(x >= wide(-700.0), sum * double_bits(exponent), wide(0.0));
}

template <class Level, class Work>
[[nodiscard]] inline double exact_block(exec::simd_on<Level>, const Work* values, const exact_weight& weight) noexcept {
  if (weight.probabilities) return exact_block(exec::seq, values, weight);
  constexpr std::uint32_t width = pack_size<double>;
  constexpr std::uint32_t rows = lane_count / width;
  const pack<double> reference(weight.reference), inverse(weight.inverse_temperature);
  pack<double> sums[rows];
  for (auto& sum : sums) sum = pack<double>(0.0);
  for (std::uint32_t i = 0; i < exact_size; i += lane_count) {
    for (std::uint32_t r = 0; r < rows; ++r)
      sums[r] += exponentials((widened(values + i + r * width) - reference) * inverse);
  }
  double lanes[lane_count];
  for (std::uint32_t r = 0; r < rows; ++r) store_pack(lanes + r * width, sums[r]);
  return lane_tree(lanes);
}

//! e^x = 2^t for t = difference * scale <= 0, relative error below 2e-7 plus what t's rounding brings; 0 for t <= -126.
[[nodiscard]] SPECVERIFY_INLINE pack<float> quick_exponentials(const pack<float>& difference,
                                                               const pack<float>& scale) noexcept {
  using narrow = pack<float>;
  const narrow floor(-126.0f);
  const narrow t = difference * scale;
  const narrow bounded = larger(t, floor);
  const pack<std::int32_t> octaves = truncated(bounded - narrow(0.5f));
  const narrow f = bounded - xsimd::to_float(octaves);
  narrow sum(0x1.42726ap-13f);
  sum = sum * f + narrow(0x1.5efa94p-10f);
  sum = sum * f + narrow(0x1.3b2c9cp-7f);
  sum = sum * f + narrow(0x1.c6af84p-5f);
  sum = sum * f + narrow(0x1.ebfbe0p-3f);
  sum = sum * f + narrow(0x1.62e430p-1f);
  sum = sum * f + narrow(1.0f);
  const narrow result = sum * float_bits((octaves + pack<std::int32_t>(127)) << 23);
  return xsimd::select(t > floor, result, narrow(0.0f));
}

[[nodiscard]] SPECVERIFY_INLINE float quick_scale(const exact_weight& weight) noexcept {
  return static_cast<float>(weight.inverse_temperature * log2_e);
}

//! For float rows whose reference is the maximum.
template <class Level, class Scalar>
[[nodiscard]] inline double quick_sum(exec::simd_on<Level> policy, const row_source<Scalar>& source,
                                      const exact_weight& weight) noexcept {
  if constexpr (std::is_same_v<working<Scalar>, float>) {
    if (!weight.probabilities) {
      constexpr std::uint32_t width = pack_size<float>;
      constexpr std::uint32_t rows = lane_count / width;
      const pack<float> reference(static_cast<float>(weight.reference)), scale(quick_scale(weight));
      alignas(64) float buffer[block_size];
      double total = 0;
      for (std::uint32_t first = 0; first < source.size; first += block_size) {
        const float* values = load(source, first, block_size, buffer);
        for (std::uint32_t part = 0; part < block_size; part += exact_size) {
          pack<float> sums[rows];
          for (auto& sum : sums) sum = pack<float>(0.0f);
          for (std::uint32_t i = 0; i < exact_size; i += lane_count) {
            for (std::uint32_t r = 0; r < rows; ++r)
              sums[r] += quick_exponentials(load_pack(values + part + i + r * width) - reference, scale);
          }
          float lanes[lane_count];
          for (std::uint32_t r = 0; r < rows; ++r) store_pack(lanes + r * width, sums[r]);
          total += lane_tree(lanes);
        }
      }
      return total;
    }
  }
  return exact_sum(policy, source, weight);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_XSIMD

#endif
