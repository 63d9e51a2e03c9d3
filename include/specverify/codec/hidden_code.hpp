// SPDX-License-Identifier: Apache-2.0
//! Encodes a hidden state as binary16 values (2 bytes per number), or as a float32 scale and one signed byte per
//! number.
//!
//! Paper:      WISV (arXiv 2604.17701) sends the drafter's hidden states in 16 or 8 bits per number.
//! Symbols:    d = numbers per vector (the width of the drafter or of the split head); s = max|x| / 127, rounded up to
//!             17 significant bits; a byte is round(x / s), ties away from zero.
//! Guarantees: noexcept, no allocation, O(d); on an error the output is unchanged. Law-exact: a decoder accepts exactly
//!             the bytes that the encoder writes, and the decoded numbers encode to the same bytes. float16: equal
//!             floats give equal bits on every machine; the error is at most 2^-11 |x| or 2^-25, whichever is larger.
//!             int8: error <= s (1/2 + 2^-20).
//! Deviates:   the paper does not specify the scale of the 8-bit format. In float16, a number that rounds to more than
//!             65504 is an error; numbers are never clipped.
//! See:        docs/algorithms/hidden_code.md, docs/wire-format.md, tests/unit/codec/hidden_code_test.cpp
#ifndef SPECVERIFY_CODEC_HIDDEN_CODE_HPP
#define SPECVERIFY_CODEC_HIDDEN_CODE_HPP

#include <specverify/codec/detail/bytes.hpp>
#include <specverify/codec/detail/half_float.hpp>
#include <specverify/core/numeric.hpp>

#include <span>

SPECVERIFY_TYPES_BEGIN

enum class hidden_format : std::uint8_t { none = 0, float16 = 1, int8 = 2 };

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the size in bytes of an encoded vector of `size` numbers; 0 for hidden_format::none.
[[nodiscard]] constexpr std::size_t hidden_bytes(hidden_format format, std::size_t size) noexcept {
  if (size == 0 || format == hidden_format::none) return 0;
  const saturating bytes = format == hidden_format::float16 ? saturating(size) * 2 : saturating(size) + 4;
  return static_cast<std::size_t>(bytes.value);
}

namespace detail {

// 2^128 / 127 rounded down to 17 significant bits, so that 127 times this scale is finite
inline constexpr std::uint32_t largest_scale_bits = 0x7c010200u;

//! Returns the scale of an int8 vector, given the bit pattern of the largest magnitude. The scale is the least float of
//! 17 significant bits that is at least this magnitude / 127, or 0 if that float is below the normal floats. Uses only
//! integers, because a scale that differs in one bit would encode decoded numbers differently.
[[nodiscard]] constexpr std::uint32_t scale_of(std::uint32_t largest) noexcept {
  const std::uint32_t exponent = largest >> 23;
  if (exponent < 7) return 0;
  const std::uint64_t dividend = std::uint64_t{(largest & 0x7fffffu) | 0x800000u} << 17;
  std::uint64_t quotient = (dividend + 126) / 127;  // 34 or 35 bits, in units of 2^(exponent - 150 - 17)
  const unsigned drop = static_cast<unsigned>(std::bit_width(quotient)) - 17;
  quotient = (quotient + (std::uint64_t{1} << drop) - 1) >> drop;
  // quotient in [2^16, 2^17]; a carry to 2^17 moves into the exponent.
  const std::uint32_t biased = exponent + drop - 24;
  return biased == 0 ? 0 : (biased << 23) + ((static_cast<std::uint32_t>(quotient) - 0x10000u) << 7);
}

}  // namespace detail

//! Checks that the bytes are a possible output of the encoder. `where`: index of the number.
//! Errors: size_mismatch (no vector has this length); value_not_finite; int8: field_out_of_range (a scale that is
//!         negative or too large; a byte of -128), not_canonical (a scale of more than 17 significant bits or below the
//!         normal floats; no byte of +-127; a byte other than 0 with the scale 0).
[[nodiscard]] inline status check_hidden(std::span<const std::byte> bytes, hidden_format format,
                                         std::size_t size) noexcept {
  if (size == 0 || format == hidden_format::none || bytes.size() != hidden_bytes(format, size))
    return detail::codec_error(errc::size_mismatch, bytes.size());
  if (format == hidden_format::float16) {
    for (std::size_t i = 0; i < size; ++i) {
      if (!numeric::is_finite_half(static_cast<std::uint32_t>(numeric::load_le(bytes.data() + 2 * i, 2))))
        return detail::codec_error(errc::value_not_finite, i);
    }
    return {};
  }
  const auto scale = static_cast<std::uint32_t>(numeric::load_le(bytes.data(), 4));
  if (!numeric::is_finite(std::bit_cast<float>(scale))) return detail::codec_error(errc::value_not_finite, 0);
  if (scale > detail::largest_scale_bits) return detail::codec_error(errc::field_out_of_range, 0);
  if ((scale & 127u) != 0 || (scale != 0 && scale < 0x00800000u)) return detail::codec_error(errc::not_canonical, 0);
  bool full = false, any = false;
  for (std::size_t i = 0; i < size; ++i) {
    const auto byte = std::to_integer<unsigned>(bytes[4 + i]);
    if (byte == 128) return detail::codec_error(errc::field_out_of_range, i);
    full = full || byte == 127 || byte == 129;
    any = any || byte != 0;
  }
  return full == (scale != 0) && any == full ? status{} : detail::codec_error(errc::not_canonical, 0);
}

//! Writes a vector to the front of `out`.
//! Errors: size_mismatch (no numbers, or no format), output_too_small (`where` = bytes needed), value_not_finite,
//!         field_out_of_range (float16: |x| rounds to more than 65504; int8: |x| rounds to more than the largest
//!         float); `where` = index.
[[nodiscard]] inline result<std::span<std::byte>> encode_hidden(std::span<const float> values, hidden_format format,
                                                                std::span<std::byte> out) noexcept {
  const std::size_t bytes = hidden_bytes(format, values.size());
  if (bytes == 0) return detail::codec_error(errc::size_mismatch, values.size());
  if (out.size() < bytes) return detail::codec_error(errc::output_too_small, bytes);
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(values[i]);
    if (!numeric::is_finite(std::bit_cast<float>(bits))) return detail::codec_error(errc::value_not_finite, i);
    if (format == hidden_format::float16 && !numeric::is_finite_half(numeric::float_bits_to_half(bits)))
      return detail::codec_error(errc::field_out_of_range, i);
    if ((bits & 0x7fffffffu) > largest) largest = bits & 0x7fffffffu;
  }
  if (format == hidden_format::float16) {
    for (std::size_t i = 0; i < values.size(); ++i)
      numeric::store_le(out.data() + 2 * i, numeric::float_bits_to_half(std::bit_cast<std::uint32_t>(values[i])), 2);
    return out.first(bytes);
  }
  const std::uint32_t scale = detail::scale_of(largest);
  if (scale > detail::largest_scale_bits) return detail::codec_error(errc::field_out_of_range, 0);
  numeric::store_le(out.data(), scale, 4);
  const double unit = scale == 0 ? 0.0 : 1.0 / static_cast<double>(std::bit_cast<float>(scale));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double steps = static_cast<double>(values[i]) * unit;
    numeric::store_le(out.data() + 4 + i,
                      static_cast<std::uint64_t>(static_cast<std::int64_t>(steps < 0 ? steps - 0.5 : steps + 0.5)), 1);
  }
  return out.first(bytes);
}

//! Reads a vector of out.size() numbers. Errors: as for check_hidden.
[[nodiscard]] inline result<std::span<float>> decode_hidden(std::span<const std::byte> bytes, hidden_format format,
                                                            std::span<float> out) noexcept {
  if (const status why = check_hidden(bytes, format, out.size()); !why.ok()) return why;
  if (format == hidden_format::float16) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::bit_cast<float>(
          numeric::half_to_float_bits(static_cast<std::uint32_t>(numeric::load_le(bytes.data() + 2 * i, 2))));
    return out;
  }
  const float scale = std::bit_cast<float>(static_cast<std::uint32_t>(numeric::load_le(bytes.data(), 4)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int steps = static_cast<int>(std::to_integer<unsigned>(bytes[4 + i]));
    out[i] = scale * static_cast<float>(steps < 128 ? steps : steps - 256);
  }
  return out;
}

SPECVERIFY_NAMESPACE_END

#endif
