// SPDX-License-Identifier: Apache-2.0
//! Sums the exponentials of a row with vector instructions: an exact sum in double, and a quick sum in float.
#ifndef SPECVERIFY_KERNEL_SIMD_LOG_SUM_EXP_HPP
#define SPECVERIFY_KERNEL_SIMD_LOG_SUM_EXP_HPP

#include <specverify/kernel/simd/digest.hpp>

#include <type_traits>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Performs the steps of kernel::exponential for a pack of numbers.
[[nodiscard]] SPECVERIFY_INLINE pack<double> exponentials(const pack<double>& x) noexcept {
  using wide = pack<double>;
  using integer = pack<std::int64_t>;
  const wide bounded = smaller(larger(x, wide(-701.0)), wide(700.0));
  const integer bits = integer_bits<double>(bounded * wide(log2_e) + wide(round_to_integer));
  // the integer part as a double. Under -ffast-math a compiler could otherwise cancel the two large constants (so 4096
  // is added), or multiply each separately (so the value stays in a register)
  const wide whole = in_register(double_bits(bits + integer(std::int64_t{4096})) - wide(round_to_integer + 4096.0));
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
  return chosen(x >= wide(-700.0), sum * double_bits(exponent), wide(0.0));
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

template <class Level, class Work>
inline void exact_weights(exec::simd_on<Level>, const Work* values, const exact_weight& weight, double* out) noexcept {
  if (weight.probabilities) return exact_weights(exec::seq, values, weight, out);
  constexpr std::uint32_t width = pack_size<double>;
  const pack<double> reference(weight.reference), inverse(weight.inverse_temperature);
  for (std::uint32_t i = 0; i < exact_size; i += width)
    store_pack(out + i, exponentials((widened(values + i) - reference) * inverse));
}

//! Calls use(values, count) for a row in parts of `Part` ids; the last part is padded to whole groups. Rows of 16-bit
//! numbers without a bias, a mask or a stride are passed as they are stored; all other rows are passed as floats.
template <std::uint32_t Part, class Scalar, class Use>
SPECVERIFY_INLINE void in_parts(const row_source<Scalar>& source, const Use& use) noexcept {
  constexpr std::integral_constant<std::uint32_t, Part> whole{};
  alignas(64) float buffer[Part];
  std::uint32_t first = 0;
  if constexpr (!std::is_same_v<Scalar, float>) {
    const Scalar* const stored = source.unchanged();
    for (; stored != nullptr && source.size - first >= Part; first += Part) use(stored + first, whole);
  }
  for (; source.size - first >= Part; first += Part) use(load(source, first, Part, buffer), whole);
  if (first == source.size) return;
  const std::uint32_t left = block_groups(source.size - first, quick_group);
  use(load(source, first, left, buffer), left);
}

//! Sums a row with a relative error of quick_error. The reference must be the row's maximum or, if
//! powers_show_specials, any of its values. In the second case, a NaN, an infinity or a reference that is too low makes
//! the result larger than quick_limit or a NaN. Returns 0 if powers in float do not suffice.
template <class Level, class Scalar>
[[nodiscard]] inline double quick_total(exec::simd_on<Level>, const row_source<Scalar>& source,
                                        const exact_weight& weight) noexcept {
  if constexpr (std::is_same_v<working<Scalar>, float>) {
    const quick_powers powers(weight);
    if (!weight.probabilities && powers.usable()) {
      [[maybe_unused]] const flushed_denormals no_assists;
      wide_sum total;
      in_parts<block_size>(source,
                           [&](const auto* values, auto count) { total.add(quick_block(powers, values, count)); });
      return total.value() * numeric::exp2(-powers.offset());
    }
  }
  return 0;
}

template <class Level, class Scalar>
[[nodiscard]] inline double quick_sum(exec::simd_on<Level> policy, const row_source<Scalar>& source,
                                      const exact_weight& weight) noexcept {
  const double sum = quick_total(policy, source, weight);
  return sum == 0 ? exact_sum(policy, source, weight) : sum;
}

#if SPECVERIFY_KEEPS_IN_REGISTER
//! Sums powers in units of integer weights. Each power is rounded twice: after it is made slightly smaller, and after
//! it is made slightly larger.
class rounded_sums {
 public:
  explicit rounded_sums(const quick_powers& powers) noexcept
      : powers_(powers),
        below_(unit(powers) * static_cast<float>(1 - rounded_power_error)),
        above_(unit(powers) * static_cast<float>(1 + rounded_power_error)) {}
  static constexpr std::uint32_t most_values = 64 * pack_size<float>;  // maximum values to add in float

  //! `count` must be a multiple of quick_group and at most most_values.
  template <class Stored, class Count>
  SPECVERIFY_INLINE void add(const Stored* values, Count count) noexcept {
    constexpr std::uint32_t width = pack_size<float>;
    pack<float> least[2] = {pack<float>(0.0f), pack<float>(0.0f)}, most[2] = {pack<float>(0.0f), pack<float>(0.0f)};
    for (std::uint32_t i = 0; i < count; i += 2 * width) {
      for (std::uint32_t c = 0; c < 2; ++c) {
        const power_parts power = powers_(load_pack(values + i + c * width));
        const pack<float> product = power.scale * power.fraction;
        least[c] += rounded(product, below_);
        most[c] += rounded(product, above_);
      }
    }
    least_.add(least[0] + least[1]);
    most_.add(most[0] + most[1]);
  }
  [[nodiscard]] total_range range() const noexcept {
    return {least_.value() * (1 - rounded_sum_error), most_.value() * (1 + rounded_sum_error)};
  }

 private:
  [[nodiscard]] static float unit(const quick_powers& powers) noexcept {
    return static_cast<float>(static_cast<double>(weight_one) * numeric::exp2(-powers.offset()));
  }
  //! Returns the nearest integer to a product, or above 2^22 the product to a relative 2^-22. Both steps end in a
  //! register, because a compiler could otherwise cancel the two constants or delay the second step.
  [[nodiscard]] static SPECVERIFY_INLINE pack<float> rounded(const pack<float>& power, float factor) noexcept {
    const pack<float> shift(0x1.8p23f);
    return in_register(in_register(fused(power, pack<float>(factor), shift)) - shift);
  }

  quick_powers powers_;
  float below_, above_;
  wide_sum least_, most_;
};
#endif

template <class Level, class Scalar>
[[nodiscard, gnu::noinline]] inline total_range rounded_total(exec::simd_on<Level>,
                                                              [[maybe_unused]] const row_source<Scalar>& source,
                                                              [[maybe_unused]] const exact_weight& weight) noexcept {
#if SPECVERIFY_KEEPS_IN_REGISTER
  if constexpr (std::is_same_v<working<Scalar>, float>) {
    const quick_powers powers(weight);
    if (!weight.probabilities && powers.usable()) {
      [[maybe_unused]] const flushed_denormals no_assists;
      rounded_sums sums(powers);
      in_parts<rounded_sums::most_values>(source, [&](const auto* values, auto count) { sums.add(values, count); });
      return sums.range();
    }
  }
#endif
  return {};
}

//! If a sum is at most this, rounding changes no exponent by more than 7e-7.
inline constexpr double quick_limit = 0x1p32;

template <class Level, class Scalar>
[[nodiscard]] inline double one_read_sum(exec::simd_on<Level> policy, const row_source<Scalar>& source,
                                         double inverse_temperature, double& reference) noexcept {
  if constexpr (std::is_same_v<working<Scalar>, float> && powers_show_specials) {
    const float sampled = source.probabilities ? 0.0f : sampled_reference(policy, source);
    const exact_weight weight{static_cast<double>(sampled), inverse_temperature, false};
    if (!source.probabilities && is_finite(sampled) && quick_powers(weight).usable()) {
      const double sum = quick_sum(policy, source, weight);
      reference = weight.reference;
      return sum <= quick_limit ? sum : 0.0;
    }
  }
  return 0;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
