// SPDX-License-Identifier: Apache-2.0
// Numbers by their bit patterns, against values written by hand and against the compiler's own conversions.
#include <specverify/core/numeric.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace numeric = specverify::numeric;
using specverify::multiply_wide;

namespace {
double from_bits(std::uint64_t bits) { return numeric::bits_as<double>(bits); }
float from_bits(std::uint32_t bits) { return numeric::bits_as<float>(bits); }
}  // namespace

TEST_CASE("NaN, infinity and sign are read from the bits, under -ffast-math too") {
  const volatile std::uint64_t quiet_nan = 0x7FF8000000000000u, negative_nan = 0xFFF0000000000001u,
                               infinity = 0x7FF0000000000000u, largest = 0x7FEFFFFFFFFFFFFFu;
  CHECK(numeric::is_nan(from_bits(quiet_nan)));
  CHECK(numeric::is_nan(from_bits(negative_nan)));
  CHECK_FALSE(numeric::is_nan(from_bits(infinity)));
  CHECK_FALSE(numeric::is_finite(from_bits(infinity)));
  CHECK_FALSE(numeric::is_finite(from_bits(quiet_nan)));
  CHECK(numeric::is_finite(from_bits(largest)));
  CHECK(numeric::is_positive_infinity(from_bits(infinity)));
  CHECK_FALSE(numeric::is_negative_infinity(from_bits(infinity)));
  CHECK(numeric::is_negative_infinity(from_bits(infinity | 0x8000000000000000u)));
  CHECK(numeric::is_negative(-0.0));
  CHECK_FALSE(numeric::is_negative(0.0));
  const volatile std::uint32_t float_nan = 0x7F800001u, float_infinity = 0x7F800000u, float_largest = 0x7F7FFFFFu;
  CHECK(numeric::is_nan(from_bits(float_nan)));
  CHECK_FALSE(numeric::is_nan(from_bits(float_infinity)));
  CHECK_FALSE(numeric::is_finite(from_bits(float_nan)));
  CHECK(numeric::is_finite(from_bits(float_largest)));
  CHECK(numeric::is_positive_infinity(from_bits(float_infinity)));
  CHECK(numeric::is_negative_infinity(from_bits(float_infinity | 0x80000000u)));
  CHECK(numeric::is_negative(-1.5f));
  static_assert(numeric::is_finite(1.0) && !numeric::is_nan(1.0f));
}

TEST_CASE("bounds by bit patterns refuse NaN and negative numbers") {
  const volatile std::uint64_t quiet_nan = 0x7FF8000000000000u;
  CHECK(numeric::is_within(0.0, 1.0));
  CHECK(numeric::is_within(1.0, 1.0));
  CHECK_FALSE(numeric::is_within(std::nextafter(1.0, 2.0), 1.0));
  CHECK_FALSE(numeric::is_within(-1.0, 1.0));
  CHECK_FALSE(numeric::is_within(-0.0, 1.0));
  CHECK_FALSE(numeric::is_within(from_bits(quiet_nan), 1.0));
  CHECK_FALSE(numeric::is_positive_within(0.0, 1.0));
  CHECK(numeric::is_positive_within(1e-300, 1.0));
  CHECK(numeric::is_positive_within(1.0, 1.0));
  CHECK_FALSE(numeric::is_positive_within(from_bits(quiet_nan), 1.0));
}

TEST_CASE("every finite half is a float of the same value and comes back as itself") {
  int wrong_values = 0, wrong_ways_back = 0, finite = 0;
  for (std::uint32_t half = 0; half < 65536; ++half) {
    if (!numeric::is_finite_half(half)) continue;
    ++finite;
    const std::uint32_t bits = numeric::half_to_float_bits(half);
    const int exponent = static_cast<int>(half >> 10 & 31u);
    const double fraction = static_cast<double>(half & 1023u) / 1024.0;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
    const double value = (half & 0x8000u) != 0 ? -magnitude : magnitude;
    wrong_values += static_cast<double>(from_bits(bits)) == value ? 0 : 1;
    wrong_ways_back += numeric::float_bits_to_half(bits) == half ? 0 : 1;
  }
  CHECK(finite == 2 * 31 * 1024);
  CHECK(wrong_values == 0);
  CHECK(wrong_ways_back == 0);
}

TEST_CASE("a float goes to the nearest half, ties to even, too large ones to infinity") {
  const auto half_of = [](float value) { return numeric::float_bits_to_half(numeric::bits_as<std::uint32_t>(value)); };
  CHECK(half_of(1.0f) == 0x3C00);
  CHECK(half_of(1.0f + 0x1.0p-11f) == 0x3C00);  // a tie, down to even
  CHECK(half_of(1.0f + 0x1.8p-10f) == 0x3C02);  // a tie, up to even
  CHECK(half_of(1.0f + 0x1.1p-11f) == 0x3C01);
  CHECK(half_of(65504.0f) == 0x7BFF);
  CHECK(half_of(65519.0f) == 0x7BFF);
  CHECK(half_of(65520.0f) == 0x7C00);
  CHECK(half_of(-65520.0f) == 0xFC00);
  CHECK(half_of(0x1.0p-24f) == 1);
  CHECK(half_of(0x1.0p-25f) == 0);  // a tie, down to even
  CHECK(half_of(0x1.1p-25f) == 1);
  CHECK(half_of(0x1.FFp-15f) == 0x3FE);
}

TEST_CASE("bytes are little-endian on every machine") {
  std::array<std::byte, 8> bytes{};
  numeric::store_le(bytes.data(), 0x0102030405060708u, 8);
  CHECK(bytes[0] == std::byte{8});
  CHECK(bytes[7] == std::byte{1});
  CHECK(numeric::load_le(bytes.data(), 8) == 0x0102030405060708u);
  CHECK(numeric::load_le(bytes.data(), 3) == 0x060708u);
  numeric::store_le(bytes.data(), 0xABCDEFu, 2);
  CHECK(bytes[0] == std::byte{0xEF});
  CHECK(bytes[1] == std::byte{0xCD});
  CHECK(bytes[2] == std::byte{6});
}

TEST_CASE("numbers below a value are counted as std::lower_bound finds it") {
  for (std::uint32_t size = 0; size <= 40; ++size) {
    std::vector<std::int32_t> numbers(size);
    for (std::uint32_t i = 0; i < size; ++i) numbers[i] = static_cast<std::int32_t>(3 * i + i % 2);
    for (std::int32_t value = -1; value <= 125; ++value) {
      const auto expected = std::lower_bound(numbers.begin(), numbers.end(), value) - numbers.begin();
      CHECK(numeric::count_below(numbers.data(), size, value) == static_cast<std::uint32_t>(expected));
    }
  }
}

TEST_CASE("FNV-1a gives the published values") {
  const auto hash_of = [](std::string_view text) {
    std::vector<std::byte> bytes;
    for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
    return numeric::fnv1a(bytes);
  };
  CHECK(hash_of("") == 0xCBF29CE484222325u);
  CHECK(hash_of("a") == 0xAF63DC4C8601EC8Cu);
  CHECK(hash_of("foobar") == 0x85944171F73967E8u);
}

TEST_CASE("a wide product has all 128 bits") {
  const auto product = multiply_wide(0xFFFFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFFFFFu);
  CHECK(product.high == 0xFFFFFFFFFFFFFFFEu);
  CHECK(product.low == 1);
  CHECK(multiply_wide(std::uint64_t{1} << 40, std::uint64_t{1} << 40).high == std::uint64_t{1} << 16);
}

TEST_CASE("a sum is rounded to a float before it is used") {
  volatile float one = 1.0f, little = 0x1.0p-25f;
  CHECK(numeric::rounded(one + little) - one == 0.0f);
  static_assert(numeric::rounded(1.0f + 0x1.0p-25f) - 1.0f == 0.0f);
}
