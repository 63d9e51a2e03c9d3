// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/hidden_code.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/alloc_guard.hpp"

using namespace specverify;

namespace {

// The value of a half by its definition.
double value_of_half(unsigned half) {
  const unsigned exponent = half >> 10 & 31u, fraction = half & 1023u;
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0 + fraction, static_cast<int>(exponent) - 25);
  return (half & 0x8000u) != 0 ? -magnitude : magnitude;
}

std::vector<std::byte> encoded(std::span<const float> values, hidden_format format) {
  std::vector<std::byte> bytes(hidden_bytes(format, values.size()));
  REQUIRE(encode_hidden(values, format, bytes).ok());
  return bytes;
}

}  // namespace

TEST_CASE("halves: all 63488 finite patterns go to their value and back") {
  int finite = 0;
  for (unsigned half = 0; half < 65536; ++half) {
    if (!specverify::numeric::is_finite_half(half)) continue;
    ++finite;
    const float value = std::bit_cast<float>(specverify::numeric::half_to_float_bits(half));
    REQUIRE(static_cast<double>(value) == value_of_half(half));
    // of zeros too: -ffast-math has no signbit for them
    REQUIRE((specverify::numeric::half_to_float_bits(half) >> 31) == (half >> 15));
    REQUIRE(specverify::numeric::float_bits_to_half(std::bit_cast<std::uint32_t>(value)) == half);
  }
  CHECK(finite == 63488);
}

TEST_CASE("halves: the nearest one, ties to even, between all neighbours") {
  for (unsigned half = 0; half < 0x7bff; ++half) {
    const double low = value_of_half(half), high = value_of_half(half + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    REQUIRE(static_cast<double>(middle) == (low + high) / 2);
    const auto to_half = [](float x) {
      return specverify::numeric::float_bits_to_half(std::bit_cast<std::uint32_t>(x));
    };
    REQUIRE(to_half(middle) == (half % 2 == 0 ? half : half + 1));
    REQUIRE(to_half(std::nextafter(middle, 0.0f)) == half);
    REQUIRE(to_half(std::nextafter(middle, 1e9f)) == half + 1);
    REQUIRE(to_half(-middle) == ((half % 2 == 0 ? half : half + 1) | 0x8000u));
  }
  CHECK(specverify::numeric::float_bits_to_half(std::bit_cast<std::uint32_t>(65519.996f)) == 0x7bff);
  CHECK(specverify::numeric::float_bits_to_half(std::bit_cast<std::uint32_t>(65520.0f)) == 0x7c00);
  CHECK(specverify::numeric::float_bits_to_half(std::bit_cast<std::uint32_t>(std::numeric_limits<float>::max())) ==
        0x7c00);
}

TEST_CASE("vectors of random numbers: error bounds, and what comes back encodes to the same bytes") {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  for (int run = 0; run < 2000; ++run) {
    const std::size_t size = 1 + random() % 300;
    const float spread = std::ldexp(1.0f, static_cast<int>(random() % 30) - 24);
    std::vector<float> values(size), read(size);
    for (float& value : values) value = random() % 16 == 0 ? 0.0f : spread * normal(random);
    for (const hidden_format format : {hidden_format::float16, hidden_format::int8}) {
      const auto bytes = encoded(values, format);
      CHECK(bytes.size() == (format == hidden_format::float16 ? 2 * size : size + 4));
      REQUIRE(decode_hidden(bytes, format, read).ok());
      const float scale =
          format == hidden_format::int8
              ? std::bit_cast<float>(static_cast<std::uint32_t>(specverify::numeric::load_le(bytes.data(), 4)))
              : 0.0f;
      for (std::size_t i = 0; i < size; ++i) {
        const double error = std::fabs(static_cast<double>(read[i]) - static_cast<double>(values[i]));
        const double bound = format == hidden_format::float16
                                 ? std::max(std::fabs(static_cast<double>(values[i])) * 0x1p-11, 0x1p-25)
                                 : static_cast<double>(scale) * (0.5 + 0x1p-20);
        REQUIRE(error <= bound);
      }
      REQUIRE(encoded(read, format) == bytes);
    }
  }
}

TEST_CASE("int8: the scale is the least of 17 bits that covers the largest number") {
  std::mt19937_64 random(2);
  for (int run = 0; run < 200000; ++run) {
    const auto bits = static_cast<std::uint32_t>(0x04000000u + random() % (0x7f000000u - 0x04000000u));
    const double largest = static_cast<double>(std::bit_cast<float>(bits));
    int exponent = 0;
    const double fraction = std::frexp(largest / 127, &exponent);  // [0.5, 1)
    const double want = std::ldexp(std::ceil(std::ldexp(fraction, 17)), exponent - 17);
    REQUIRE(static_cast<double>(std::bit_cast<float>(detail::scale_of(bits))) == want);
  }
  CHECK(detail::scale_of(0) == 0);
  CHECK(detail::scale_of(1) == 0);
}

TEST_CASE("each thing that is no vector has its error, and the output stays as it was") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::array<std::byte, 12> out{};
  out.fill(std::byte{0x55});
  const auto untouched = out;
  const auto attempt = [&](std::initializer_list<float> values, hidden_format format, std::size_t room = 12) {
    const status outcome =
        encode_hidden(std::span<const float>(values.begin(), values.size()), format, std::span(out).first(room))
            .error();
    CHECK(out == untouched);
    return outcome;
  };
  for (const hidden_format format : {hidden_format::float16, hidden_format::int8}) {
    CHECK(attempt({}, format) == status{errc::size_mismatch, part::codec, 0});
    CHECK(attempt({1, nan}, format) == status{errc::value_not_finite, part::codec, 1});
    CHECK(attempt({-infinity, 1}, format) == status{errc::value_not_finite, part::codec, 0});
  }
  CHECK(attempt({1}, hidden_format::none).code == errc::size_mismatch);
  CHECK(attempt({1, 2}, hidden_format::float16, 3) == status{errc::output_too_small, part::codec, 4});
  CHECK(attempt({1, 2}, hidden_format::int8, 5) == status{errc::output_too_small, part::codec, 6});
  CHECK(attempt({1, 2, 65520.0f}, hidden_format::float16) == status{errc::field_out_of_range, part::codec, 2});
  CHECK(attempt({std::numeric_limits<float>::max()}, hidden_format::int8).code == errc::field_out_of_range);

  std::array<float, 2> read{7, 7};
  const auto halves = [&](unsigned first, unsigned second) {
    std::array<std::byte, 4> bytes{};
    specverify::numeric::store_le(bytes.data(), first, 2);
    specverify::numeric::store_le(bytes.data() + 2, second, 2);
    return decode_hidden(bytes, hidden_format::float16, read).error();
  };
  const auto steps = [&](std::uint32_t scale, unsigned first, unsigned second) {
    std::array<std::byte, 6> bytes{};
    specverify::numeric::store_le(bytes.data(), scale, 4);
    specverify::numeric::store_le(bytes.data() + 4, first, 1);
    specverify::numeric::store_le(bytes.data() + 5, second, 1);
    return decode_hidden(bytes, hidden_format::int8, read).error();
  };
  for (const unsigned wrong : {0x7c00u, 0x7e00u, 0xfc00u, 0x7c01u})
    CHECK(halves(0, wrong) == status{errc::value_not_finite, part::codec, 1});
  CHECK(steps(0x7f800000u, 127, 0) == status{errc::value_not_finite, part::codec, 0});
  CHECK(steps(0x7fc00000u, 127, 0) == status{errc::value_not_finite, part::codec, 0});
  CHECK(steps(0xff800000u, 127, 0) == status{errc::value_not_finite, part::codec, 0});
  CHECK(steps(0xbf800000u, 127, 0) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(steps(0x80000000u, 0, 0) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(steps(detail::largest_scale_bits + 128, 127, 0) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(steps(0x3f800000u, 127, 128) == status{errc::field_out_of_range, part::codec, 1});
  CHECK(steps(0x3f800001u, 127, 0) == status{errc::not_canonical, part::codec, 0});  // more than 17 bits
  CHECK(steps(0x00400000u, 127, 0) == status{errc::not_canonical, part::codec, 0});  // below the normal floats
  CHECK(steps(0x3f800000u, 126, 130) == status{errc::not_canonical, part::codec, 0});
  CHECK(steps(0, 1, 0) == status{errc::not_canonical, part::codec, 0});
  CHECK(steps(0, 127, 0) == status{errc::not_canonical, part::codec, 0});
  CHECK(check_hidden(out, hidden_format::float16, 5).code == errc::size_mismatch);
  CHECK(check_hidden(out, hidden_format::int8, 7).code == errc::size_mismatch);
  CHECK(read == std::array<float, 2>{7, 7});
  CHECK(steps(0, 0, 0).ok());
  CHECK(steps(detail::largest_scale_bits, 127, 129).ok());
  CHECK(std::isfinite(read[0]));
  CHECK(steps(0x00800000u, 0, 129).ok());
  CHECK(read[1] == -127 * 0x1p-126f);
}

TEST_CASE("of all int8 vectors of one number under one scale, two are accepted") {
  int accepted = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::array<std::byte, 5> bytes{};
    specverify::numeric::store_le(bytes.data(), 0x3f800000u, 4);
    specverify::numeric::store_le(bytes.data() + 4, byte, 1);
    accepted += check_hidden(bytes, hidden_format::int8, 1).ok() ? 1 : 0;
  }
  CHECK(accepted == 2);
}

TEST_CASE("vectors neither allocate nor throw") {
  const std::vector<float> values(4096, 0.5f);
  std::vector<std::byte> bytes(hidden_bytes(hidden_format::float16, 4096));
  std::vector<float> read(4096);
  const specverify_test::alloc_guard guard;
  const bool good = encode_hidden(values, hidden_format::float16, bytes).ok() &&
                    decode_hidden(bytes, hidden_format::float16, read).ok();
  const std::uint64_t allocations = guard.count();
  CHECK(good);
  CHECK(allocations == 0);
  static_assert(noexcept(encode_hidden(values, hidden_format::int8, bytes))&& noexcept(
      decode_hidden(bytes, hidden_format::int8, read)));
}
