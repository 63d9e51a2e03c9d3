// SPDX-License-Identifier: Apache-2.0
//! Defines the format rows-1 for the writer and the reader. docs/rows.md specifies the format.
#ifndef SPECVERIFY_APPS_ROWS_FORMAT_HPP
#define SPECVERIFY_APPS_ROWS_FORMAT_HPP

#include <specverify/core/views.hpp>

#include <bit>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace recorded {

static_assert(std::endian::native == std::endian::little, "rows-1 is little-endian and read in place");

inline constexpr std::string_view format_name = "rows-1";

//! Defects of a file. Messages begin with the result of `name_of`.
enum class defect : std::uint8_t {
  cannot_open,
  cannot_write,
  truncated,
  bad_header,
  unknown_format,
  bad_metadata,
  bad_tensor,
  wrong_dtype,
  wrong_shape,
  missing_tensor,
  two_forms,
  overlapping_offsets,
  gap_between_tensors,
  trailing_bytes,
  misaligned,
  token_out_of_range,
  bad_top_ids,
  row_has_nan,
  value_too_large,
  no_such_row,
  rows_missing
};

[[nodiscard]] constexpr std::string_view name_of(defect which) {
  constexpr std::string_view names[] = {
      "cannot_open",        "cannot_write",        "truncated",           "bad_header",      "unknown_format",
      "bad_metadata",       "bad_tensor",          "wrong_dtype",         "wrong_shape",     "missing_tensor",
      "two_forms",          "overlapping_offsets", "gap_between_tensors", "trailing_bytes",  "misaligned",
      "token_out_of_range", "bad_top_ids",         "row_has_nan",         "value_too_large", "no_such_row",
      "rows_missing"};
  return names[static_cast<std::size_t>(which)];
}

//! A defect and the place of the defect.
class bad_rows : public std::runtime_error {
 public:
  bad_rows(defect which, const std::string& where)
      : std::runtime_error(std::string(name_of(which)) + ": " + where), which_(which) {}
  [[nodiscard]] defect which() const noexcept { return which_; }

 private:
  defect which_;
};

//! The two models of a file.
enum class side : std::uint8_t { target, drafter };
inline constexpr side both_sides[] = {side::target, side::drafter};
//! Returns p or q, which begins or ends the names of a side's tensors.
[[nodiscard]] constexpr const char* letter_of(side which) { return which == side::target ? "p" : "q"; }

enum class dtype : std::uint8_t { f16, f32, i32 };
[[nodiscard]] constexpr std::size_t width_of(dtype type) { return type == dtype::f16 ? 2 : 4; }
[[nodiscard]] constexpr std::string_view name_of(dtype type) {
  return type == dtype::f16 ? "F16" : type == dtype::f32 ? "F32" : "I32";
}

//! Strings of the header: format, vocab_size, fingerprint, and any other recorded data.
using metadata = std::map<std::string, std::string>;

//! Converts exactly to float.
[[nodiscard]] inline float widened(specverify::float16_bits half) {
  const std::uint32_t sign = std::uint32_t{half.bits} >> 15 << 31, exponent = (std::uint32_t{half.bits} >> 10) & 31u,
                      fraction = half.bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

//! Converts to the nearest half, ties to even. Values beyond 65504 become infinity, but NaN stays NaN.
[[nodiscard]] inline specverify::float16_bits narrowed(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  const auto made = [sign](std::uint32_t rest) {
    return specverify::float16_bits{static_cast<std::uint16_t>(sign | rest)};
  };
  if (magnitude > 0x7f800000u) return made(0x7e00u);
  if (magnitude >= 0x477ff000u) return made(0x7c00u);  // 65520 and more
  if (magnitude < 0x38800000u) {                       // below 2^-14: adding 0.5 rounds to multiples of 2^-24
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return made(std::bit_cast<std::uint32_t>(sum) - 0x3f000000u);
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return made((rounded - (112u << 23)) >> 13);
}

}  // namespace recorded

#endif
