// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/channel.hpp>
#include <specverify/link/channel_state.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <type_traits>

using namespace specverify;

namespace {

const double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});
const double infinite = std::bit_cast<double>(std::uint64_t{0x7FF0000000000000});

bool near(double value, double expected, double relative) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}

}  // namespace

TEST_CASE("a channel state names the field that is out of range") {
  static_assert(std::is_trivially_copyable_v<channel_state>);
  static_assert(check(channel_state{}).ok());
  for (const double bad : {0.0, -0.0, -1.0, not_a_number, -not_a_number, infinite, -infinite, 0x1p1001}) {
    channel_state state;
    state.uplink_rate = bad;
    CHECK(check(state) == status{errc::invalid_rate, part::link, 0});
    state = {};
    state.downlink_rate = bad;
    CHECK(check(state) == status{errc::invalid_rate, part::link, 1});
  }
  for (const double bad : {1.0, 1.5, -1e-9, not_a_number, infinite}) {
    channel_state state;
    state.uplink_loss = bad;
    CHECK(check(state) == status{errc::invalid_loss, part::link, 2});
    state = {};
    state.downlink_loss = bad;
    CHECK(check(state) == status{errc::invalid_loss, part::link, 3});
    CHECK(fixed_channel::make(state).error() == status{errc::invalid_loss, part::link, 3});
  }
  for (const double bad : {-1e-9, not_a_number, infinite}) {
    channel_state state;
    state.round_trip = bad;
    CHECK(check(state) == status{errc::invalid_duration, part::link, 4});
  }
  channel_state edge{unlimited_rate, 5e-324, std::nextafter(1.0, 0.0), 0, 0x1p64, 7};
  CHECK(check(edge).ok());
}

TEST_CASE("the rate: power, distance, path loss, noise; decibels") {
  CHECK(near(shannon_rate(10e6, from_decibel(-20)), 143552.93, 1e-8));
  CHECK(near(shannon_rate(10e6, from_decibel(10)), 34.594316e6, 1e-8));
  CHECK(near(shannon_rate(1, 1e-18), 1.4426950408889634e-18, 1e-12));  // no cancellation
  CHECK(near(to_decibel(from_decibel(7.25)), 7.25, 1e-14));
  // 0.2 W over 100 m at exponent 3: 2e-7 W; over 1e-9 W of noise: 200. Twice as far: eight times less.
  radio_options radio;
  CHECK(near(mean_snr(radio).value(), 200, 1e-12));
  radio.distance = 200;
  CHECK(near(mean_snr(radio).value(), 25, 1e-12));
  radio.path_loss_exponent = 0;
  CHECK(near(mean_snr(radio).value(), 2e8, 1e-12));
  radio.path_loss_exponent = 17;
  CHECK(mean_snr(radio).error() == status{errc::invalid_gain, part::link, 2});
  radio = {};
  radio.noise_power = 0;
  CHECK(mean_snr(radio).error() == status{errc::invalid_gain, part::link, 3});
  radio = {};
  radio.distance = not_a_number;
  CHECK(mean_snr(radio).error() == status{errc::invalid_gain, part::link, 1});
  radio = {};
  radio.transmit_power = 1e-60;
  radio.distance = 1e20;
  radio.path_loss_exponent = 16;
  CHECK(mean_snr(radio).error() == status{errc::invalid_gain, part::link, 4});
}
