// SPDX-License-Identifier: Apache-2.0
//! Reads numbers from text; the result has the same bits on every platform. Not every standard library has
//! std::from_chars for doubles, and strtod depends on the locale and the rounding mode.
#ifndef SPECVERIFY_CORE_DETAIL_DECIMAL_HPP
#define SPECVERIFY_CORE_DETAIL_DECIMAL_HPP

#include <specverify/config.hpp>
#include <specverify/cpp20.hpp>

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! A midpoint between two neighbouring doubles has no more significant digits, so later digits can only break a tie.
inline constexpr std::uint32_t most_digits = 768;

//! An integer of up to 2560 bits. This exceeds 10^768, and also 5^1091, the largest divisor.
class long_integer {
 public:
  [[nodiscard]] constexpr bool is_zero() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr std::int64_t bits() const noexcept {
    return size_ == 0 ? 0 : 32 * std::int64_t{size_ - 1} + std::bit_width(words_[size_ - 1]);
  }
  //! Computes this * factor + more.
  constexpr void multiply(std::uint32_t factor, std::uint32_t more) noexcept {
    std::uint64_t carry = more;
    for (std::uint32_t i = 0; i < size_; ++i) {
      carry += std::uint64_t{words_[i]} * factor;
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_[size_++] = static_cast<std::uint32_t>(carry);
  }
  constexpr void multiply_by_power_of_5(std::int64_t power) noexcept {
    for (; power >= 13; power -= 13) multiply(1220703125, 0);
    for (; power > 0; --power) multiply(5, 0);
  }
  constexpr void shift(std::int64_t places) noexcept {
    const std::uint32_t whole = static_cast<std::uint32_t>(places / 32);
    multiply(std::uint32_t{1} << (places % 32), 0);
    for (std::uint32_t i = size_; whole != 0 && i-- > 0;) words_[i + whole] = words_[i];
    for (std::uint32_t i = 0; i < whole; ++i) words_[i] = 0;
    size_ += whole;
  }
  //! If `other` is no larger, subtracts it and returns true.
  [[nodiscard]] constexpr bool take_away(const long_integer& other) noexcept {
    if (below(other)) return false;
    std::uint64_t borrowed = 0;
    for (std::uint32_t i = 0; i < size_; ++i) {
      const std::uint64_t difference = std::uint64_t{words_[i]} - (i < other.size_ ? other.words_[i] : 0) - borrowed;
      words_[i] = static_cast<std::uint32_t>(difference);
      borrowed = difference >> 63;
    }
    while (size_ > 0 && words_[size_ - 1] == 0) --size_;
    return true;
  }
  [[nodiscard]] constexpr bool below(const long_integer& other) const noexcept {
    if (size_ != other.size_) return size_ < other.size_;
    std::uint32_t i = size_;
    while (i > 0 && words_[i - 1] == other.words_[i - 1]) --i;
    return i > 0 && words_[i - 1] < other.words_[i - 1];
  }

 private:
  std::uint32_t words_[80] = {};  // the lowest first
  std::uint32_t size_ = 0;        // the highest word is not 0
};

//! digits * 10^power, without a sign. `count`: number of digits; `more`: whether nonzero digits were left out.
struct decimal {
  long_integer digits;
  std::uint32_t count = 0;
  std::int64_t power = 0;
  bool more = false;
};

//! Reads 12, 1.5, .5, 5. or 1e-3, of any length. The whole text must be a number.
[[nodiscard]] constexpr std::optional<decimal> split_decimal(std::string_view text) noexcept {
  const auto is_digit = [&](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  decimal read;
  std::size_t at = 0, points = 0;
  for (; is_digit(at) || (points == 0 && at < text.size() && text[at] == '.'); ++at) {
    if (text[at] == '.') {
      points = 1;
      continue;
    }
    const std::uint32_t digit = static_cast<std::uint32_t>(text[at] - '0');
    if (read.count == most_digits) {
      read.more = read.more || digit != 0;
      if (points == 0) ++read.power;
      continue;
    }
    read.digits.multiply(10, digit);
    if (!read.digits.is_zero()) ++read.count;
    if (points != 0) --read.power;
  }
  if (at == points) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool negative = at < text.size() && text[at] == '-';
    if (negative || (at < text.size() && text[at] == '+')) ++at;
    if (!is_digit(at)) return std::nullopt;
    std::int64_t power = 0;
    for (; is_digit(at); ++at) {
      if (power < std::int64_t{1} << 58) power = 10 * power + (text[at] - '0');
    }
    read.power += negative ? -power : power;
  }
  if (at != text.size()) return std::nullopt;
  return read;
}

//! Returns the nearest float or double, ties to even, as std::from_chars does. Returns nothing if the result would be
//! infinite, or if a nonzero number would become 0. Uses only integers, so the rounding mode, x87 and -ffast-math have
//! no effect. O(characters).
template <class Float>
[[nodiscard]] constexpr std::optional<Float> decimal_from(std::string_view text) noexcept {
  using word = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  constexpr std::int64_t precision = std::numeric_limits<Float>::digits;
  constexpr std::int64_t least = std::numeric_limits<Float>::min_exponent - 1;  // 2^least is the first normal number
  constexpr word infinity = (word{2} << (sizeof(Float) * 8 - 1 - precision)) - 1;
  const bool negative = !text.empty() && text.front() == '-';
  const word sign = word{negative} << (sizeof(Float) * 8 - 1);
  const std::optional<decimal> read = split_decimal(text.substr(negative ? 1 : 0));
  if (!read) return std::nullopt;
  if (read->digits.is_zero()) return std::bit_cast<Float>(sign);
  // 10^(size - 1) <= number < 10^size
  const std::int64_t size = read->count + read->power;
  if (size > 309 || size < -323) return std::nullopt;

  // number = left / right * 2^power, scaled to 1 <= left / right < 2
  long_integer left = read->digits, right;
  right.multiply(0, 1);
  (read->power < 0 ? right : left).multiply_by_power_of_5(read->power < 0 ? -read->power : read->power);
  const std::int64_t wider = left.bits() - right.bits();
  if (wider > 0) right.shift(wider);
  if (wider < 0) left.shift(-wider);
  std::int64_t power = read->power + wider;
  if (left.below(right)) {
    left.shift(1);
    --power;
  }
  const std::int64_t places = power < least ? precision - (least - power) : precision;
  if (places < 0 || power >= std::numeric_limits<Float>::max_exponent) return std::nullopt;
  word kept = 0;
  for (std::int64_t i = 0; i < places; ++i) {
    kept = kept << 1 | word{left.take_away(right)};
    left.shift(1);
  }
  // Rounds by comparing twice the remainder. A significand of 2^precision carries into the exponent, as it should.
  const bool half_or_more = left.take_away(right);
  if (half_or_more && (!left.is_zero() || read->more || (kept & 1) != 0)) ++kept;
  if (power > least) kept += static_cast<word>(power - least) << (precision - 1);
  if (kept == 0 || kept >= infinity << (precision - 1)) return std::nullopt;
  return std::bit_cast<Float>(sign | kept);
}

//! Reads a number that must be the whole text, without spaces or a plus sign. An integer must not have leading zeros.
template <class Number>
[[nodiscard]] std::optional<Number> number_from(std::string_view text) noexcept {
  if constexpr (std::is_floating_point_v<Number>) {
    return decimal_from<Number>(text);
  } else {
    static_assert(std::is_unsigned_v<Number>);  // a sign could hide leading zeros
    if (text.size() > 1 && text.front() == '0') return std::nullopt;
    Number number{};
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    return number;
  }
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
