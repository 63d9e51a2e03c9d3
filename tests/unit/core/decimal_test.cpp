// SPDX-License-Identifier: Apache-2.0
// Decimals are read as the nearest number: against the standard library, and against values half-way between two
// numbers, whose digits are worked out here.
#include <specverify/core/detail/decimal.hpp>
#include <specverify/core/numeric.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace specverify;

namespace {

template <class Float>
using bits_of = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

constexpr std::uint64_t refused = ~std::uint64_t{0};  // the bits of a NaN, which no decimal is

template <class Float>
std::uint64_t read(const std::string& text) {
  const std::optional<Float> number = detail::number_from<Float>(text);
  return number ? numeric::bits_as<bits_of<Float>>(*number) : refused;
}

// What the standard library says of a decimal. libc++ has strtod alone, for which 1e-999 is 0.
template <class Float>
std::uint64_t standard(const std::string& text) {
  Float number{};
#if defined(__cpp_lib_to_chars)
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return refused;
#else
  if constexpr (sizeof(Float) == 4) number = std::strtof(text.c_str(), nullptr);
  if constexpr (sizeof(Float) == 8) number = std::strtod(text.c_str(), nullptr);
  const bool is_zero = text.substr(0, text.find('e')).find_first_of("123456789") == std::string::npos;
  if (!numeric::is_finite(number) || (!is_zero && numeric::bits_as<bits_of<Float>>(number) << 1 == 0)) return refused;
#endif
  return numeric::bits_as<bits_of<Float>>(number);
}

template <class Float>
std::string written(bits_of<Float> bits) {
  char digits[64];
  return {digits, std::to_chars(digits, digits + sizeof digits, numeric::bits_as<Float>(bits)).ptr};
}

// The digits of number * 2^power and the power of ten behind them.
struct exact {
  std::string digits;
  int power;

  exact(std::uint64_t number, int power_of_2) : power(std::min(power_of_2, 0)) {
    std::vector<std::uint64_t> parts{number % base, number / base % base, number / base / base};
    for (int i = 0; i < std::abs(power_of_2); ++i) {
      std::uint64_t carry = 0;
      for (std::uint64_t& part : parts) {
        part = part * (power_of_2 < 0 ? 5 : 2) + carry;
        carry = part / base;
        part %= base;
      }
      if (carry != 0) parts.push_back(carry);
    }
    for (const std::uint64_t part : parts) {
      const std::string nine = std::to_string(base + part).substr(1);
      digits.insert(0, nine);
    }
    digits.erase(0, digits.find_first_not_of('0'));
  }
  std::string text(const std::string& more = "") const {
    return digits + more + "e" + std::to_string(power - static_cast<int>(more.size()));
  }
  std::string a_little_less() const {  // half-way numbers are odd multiples, so the last digit is not 0
    std::string less = digits;
    for (std::size_t i = less.size(); less[--i]-- == '0';) less[i] = '9';
    return less + "9e" + std::to_string(power - 1);
  }

  static constexpr std::uint64_t base = 1000000000;
};

// Half-way between the numbers with these bits and the next: even ones take it.
template <class Float>
void check_half_way(bits_of<Float> bits) {
  constexpr int fraction = std::numeric_limits<Float>::digits - 1;
  const auto field = static_cast<int>(bits >> fraction);
  const bits_of<Float> above =
      (bits & ((bits_of<Float>{1} << fraction) - 1)) + (field == 0 ? 0 : bits_of<Float>{1} << fraction);
  const exact half(2 * std::uint64_t{above} + 1,
                   std::max(field, 1) + std::numeric_limits<Float>::min_exponent - 2 - fraction - 1);
  const bits_of<Float> next = bits + 1, even = bits % 2 == 0 ? bits : next;
  const auto told = [](bits_of<Float> found) {
    return found == 0 || found >> fraction == 2 * std::numeric_limits<Float>::max_exponent - 1 ? refused : found;
  };
  CAPTURE(bits);
  CHECK(read<Float>(half.text()) == told(even));
  CHECK(read<Float>(half.text(std::string(800, '0'))) == told(even));
  CHECK(read<Float>(half.text(std::string(800, '0') + "1")) == told(next));
  CHECK(read<Float>(half.a_little_less()) == told(bits));
}

int times(int often) { return std::getenv("SPECVERIFY_LONG") != nullptr ? 100 * often : often; }

}  // namespace

TEST_CASE("a decimal is read as the nearest number, ties to even") {
  CHECK(read<double>("0") == 0);
  CHECK(read<double>("-0.00e7") == 0x8000000000000000u);
  CHECK(read<double>("1") == 0x3FF0000000000000u);
  CHECK(read<double>("-1.e0") == 0xBFF0000000000000u);
  CHECK(read<double>("0000.1E+1") == 0x3FF0000000000000u);
  CHECK(read<double>(".1") == 0x3FB999999999999Au);
  CHECK(read<double>("9007199254740993") == 0x4340000000000000u);
  CHECK(read<double>("9007199254740993." + std::string(1000, '0') + "1") == 0x4340000000000001u);
  CHECK(read<double>("1" + std::string(5000, '0') + "e-5000") == 0x3FF0000000000000u);
  CHECK(read<double>("." + std::string(5000, '0') + "1e5001") == 0x3FF0000000000000u);
  CHECK(read<float>("16777217") == 0x4B800000u);
  CHECK(read<float>("-16777217.0000001") == 0xCB800001u);
  static_assert(detail::decimal_from<double>("1e-3") == 1e-3);
}

TEST_CASE("a decimal at the ends of the range: the largest, the least, and what is beyond") {
  CHECK(read<double>("1.7976931348623157e308") == 0x7FEFFFFFFFFFFFFFu);
  CHECK(read<double>("1.7976931348623158e308") == 0x7FEFFFFFFFFFFFFFu);
  CHECK(read<double>("1.7976931348623159e308") == refused);
  CHECK(read<double>("5e-324") == 1);
  CHECK(read<double>("2.4703282292062328e-324") == 1);
  CHECK(read<double>("2.4703282292062327e-324") == refused);
  CHECK(read<float>("3.4028235677973366e38") == 0x7F7FFFFFu);
  CHECK(read<float>("3.4028235677973367e38") == refused);
  for (const char* text : {"1e309", "-1e310", "1e-325", "1e99999999999999999999", "1e-99999999999999999999"}) {
    CAPTURE(text);
    CHECK(read<double>(text) == refused);
    CHECK(read<float>(text) == refused);
  }
  CHECK(read<double>("0e99999999999999999999") == 0);
}

TEST_CASE("a decimal: the whole text is one, in one notation") {
  for (const char* text :
       {"",    "-",  ".",  "-.",   "e5",    ".e5", "1e",    "1e+", "1e-", "1e+-5", "1..",       "1.2.3", "+1",
        "--1", " 1", "1 ", "1e 5", "0x1p3", "1,5", "1'000", "1f",  "nan", "inf",   "-infinity", "1e5.",  "1e5e5"}) {
    CAPTURE(text);
    CHECK(read<double>(text) == refused);
  }
  CHECK(detail::number_from<std::uint32_t>("4294967295") == 4294967295u);
  for (const char* text : {"", "-1", "+1", "1.0", "1e3", "4294967296", " 1", "1 "}) {
    CAPTURE(text);
    CHECK_FALSE(detail::number_from<std::uint32_t>(text));
  }
}

TEST_CASE("a decimal: the shortest that writes a number is that number") {
  std::mt19937_64 random(1);
  for (int i = 0; i < times(3000); ++i) {
    const std::uint64_t bits = random();  // not subnormal: where such are flushed, the standard library writes 0
    if ((bits << 1 >> 53) - 1 < 2046) CHECK(read<double>(written<double>(bits)) == bits);
    const auto short_bits = static_cast<std::uint32_t>(random());
    if ((short_bits << 1 >> 24) - 1 < 254) CHECK(read<float>(written<float>(short_bits)) == short_bits);
  }
}

TEST_CASE("a decimal of any digits is what the standard library reads") {
  std::mt19937_64 random(2);
  for (int i = 0; i < times(5000); ++i) {
    std::string text = random() % 4 == 0 ? "-" : "";
    const std::uint64_t size = 1 + random() % (random() % 8 == 0 ? 60 : 20), point = random() % (2 * size);
    for (std::uint64_t at = 0; at < size; ++at) {
      if (at == point) text += '.';
      text += static_cast<char>('0' + (random() % 5 == 0 ? 0 : random() % 10));
    }
    if (random() % 3 != 0) text += "e" + std::to_string(static_cast<int>(random() % 700) - 350);
    CAPTURE(text);
    CHECK(read<double>(text) == standard<double>(text));
    CHECK(read<float>(text) == standard<float>(text));
  }
}

TEST_CASE("a decimal half-way between two numbers is the even one, and a little decides") {
  for (const std::uint64_t bits :
       {0x0ull, 0x1ull, 0xFFFFFFFFFFFFFull, 0x10000000000000ull, 0x1FFFFFFFFFFFFFull, 0x3FF0000000000000ull,
        0x433FFFFFFFFFFFFFull, 0x7FEFFFFFFFFFFFFEull, 0x7FEFFFFFFFFFFFFFull})
    check_half_way<double>(bits);
  for (const std::uint32_t bits : {0x0u, 0x1u, 0x7FFFFFu, 0x800000u, 0xFFFFFFu, 0x3F800000u, 0x7F7FFFFEu, 0x7F7FFFFFu})
    check_half_way<float>(bits);
  std::mt19937_64 random(3);
  for (int i = 0; i < times(100); ++i) {
    check_half_way<double>(random() % 0x7FEFFFFFFFFFFFFF);
    check_half_way<double>((std::uint64_t{900} << 52) + random() % (std::uint64_t{200} << 52));
    check_half_way<float>(static_cast<std::uint32_t>(random() % 0x7F7FFFFF));
  }
}
