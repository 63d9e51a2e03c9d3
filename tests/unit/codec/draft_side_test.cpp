// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/message.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "unit/codec/message_kit.hpp"

using namespace specverify;
using namespace specverify_test;

TEST_CASE("channel report: every pattern of a field comes back as the same half") {
  std::array<std::byte, channel_report_bytes> bytes{}, again{};
  std::array<int, 5> accepted{};
  for (std::uint32_t field = 0; field < 5; ++field) {
    for (unsigned half = 0; half < 65536; ++half) {
      bytes.fill(std::byte{0});
      detail::store(bytes.data() + 2 * field, half, 2);
      channel_report value;
      const status outcome = decode_channel_report(bytes, value);
      if (!outcome.ok()) {
        REQUIRE(outcome.where == field);
        REQUIRE(outcome.code == ((half & 0x7c00u) == 0x7c00u ? errc::value_not_finite : errc::field_out_of_range));
        continue;
      }
      ++accepted[field];
      REQUIRE(encode_channel_report(value, again).ok());
      REQUIRE(again == bytes);
    }
  }
  // Rates: 0 to 38; losses: 0 to the half below 1; seconds: every half without a sign that is finite.
  CHECK(accepted == std::array<int, 5>{0x50c1, 0x50c1, 0x3c00, 0x3c00, 0x7c00});
}

TEST_CASE("channel report: values come back within their bounds") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> unit(0, 1);
  for (int run = 0; run < 20000; ++run) {
    const channel_report value{std::pow(10.0f, 12 * unit(random)), std::pow(10.0f, 12 * unit(random)), unit(random) * 0.999999f, unit(random) * unit(random),
                               unit(random) * 100};
    std::array<std::byte, channel_report_bytes> bytes{};
    REQUIRE(encode_channel_report(value, bytes).ok());
    channel_report read;
    REQUIRE(decode_channel_report(bytes, read).ok());
    const auto close = [](float a, float b, double log10_step) { return std::fabs(std::log10((1.0 + a) / (1.0 + b))) <= log10_step; };
    REQUIRE(close(read.uplink_rate, value.uplink_rate, 13 * 0x1p-11));
    REQUIRE(close(read.downlink_rate, value.downlink_rate, 13 * 0x1p-11));
    REQUIRE(std::fabs(read.uplink_loss - value.uplink_loss) <= 0x1p-11f);
    REQUIRE(read.uplink_loss < 1.0f);
    REQUIRE(std::fabs(read.downlink_loss - value.downlink_loss) <= 0x1p-11f);
    REQUIRE(std::fabs(read.round_trip - value.round_trip) <= value.round_trip * 0x1p-11f + 0x1p-25f);
  }
}

TEST_CASE("channel report: what is refused, by name") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const channel_report good{4e6f, 8e6f, 0.1f, 0.0f, 0.05f};
  std::array<std::byte, channel_report_bytes> out{};
  const auto with = [&](unsigned field, float wrong) {
    channel_report value = good;
    float* const fields[] = {&value.uplink_rate, &value.downlink_rate, &value.uplink_loss, &value.downlink_loss, &value.round_trip};
    *fields[field] = wrong;
    return encode_channel_report(value, out);
  };
  for (unsigned field = 0; field < 5; ++field) {
    CHECK(with(field, nan) == status{errc::value_not_finite, part::codec, field});
    CHECK(with(field, infinity) == status{errc::value_not_finite, part::codec, field});
    CHECK(with(field, -0.25f) == status{errc::field_out_of_range, part::codec, field});
    CHECK(with(field, -1e-40f) == status{errc::field_out_of_range, part::codec, field});
    CHECK(with(field, -0.0f).ok());
    CHECK(with(field, 0.0f).ok());
  }
  CHECK(with(0, 2e38f) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(with(2, 1.0f) == status{errc::field_out_of_range, part::codec, 2});
  CHECK(with(3, std::nextafter(1.0f, 0.0f)).ok());
  CHECK(detail::load(out.data() + 6, 2) == 0x3bff);
  CHECK(with(4, 65520.0f) == status{errc::field_out_of_range, part::codec, 4});
  CHECK(encode_channel_report(good, std::span(out).first(9)) == status{errc::output_too_small, part::codec, 10});
  channel_report read;
  CHECK(decode_channel_report(std::span(out).first(9), read).code == errc::size_mismatch);
}
