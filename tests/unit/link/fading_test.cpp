// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/channel.hpp>
#include <specverify/link/fading.hpp>
#include <specverify/link/payload.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "unit/link/quadrature.hpp"

using namespace specverify;
using specverify_test::integrate;

namespace {

constexpr philox source{{{17, 4}}};
const double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});
const double infinite = std::bit_cast<double>(std::uint64_t{0x7FF0000000000000});

bool near(double value, double expected, double relative) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}

fading_options fading(double snr, double floor, outage_rule rule) {
  fading_options options;
  options.mean_snr = snr;
  options.minimum_gain = floor;
  options.outage = rule;
  return options;
}

template <class Model>
std::vector<channel_state> rounds_of(const Model& model, std::size_t count) {
  std::vector<channel_state> states(count);
  record(model, source, std::span<channel_state>(states));
  return states;
}

}  // namespace

TEST_CASE("T14 Rayleigh: mean transfer time of the full payload, clip and conditional") {
  struct line {
    double decibel, floor;
    outage_rule rule;
    double seconds, shown;
  };
  const line table[] = {
      {-20, 1e-3, outage_rule::clip, 37.425, 5e-4},        {-20, 1e-2, outage_rule::clip, 25.701, 5e-4},
      {-20, 1e-3, outage_rule::conditional, 32.359, 5e-4}, {-20, 1e-2, outage_rule::conditional, 20.832, 5e-4},
      {10, 1e-3, outage_rule::clip, 55.12e-3, 5e-6},       {10, 1e-3, outage_rule::conditional, 50.04e-3, 5e-6},
  };
  const double bits = static_cast<double>(hlm_full_bits({}));
  for (const line& at : table) {
    CAPTURE(at.decibel);
    CAPTURE(at.floor);
    const double snr = from_decibel(at.decibel);
    const rayleigh_channel channel = rayleigh_channel::make(fading(snr, at.floor, at.rule)).value();
    const double mean = bits * channel.mean_seconds_per_bit();
    CHECK(std::fabs(mean - at.seconds) <= at.shown);
    const auto time = [&](double gain) { return bits / (10e6 * std::log2(1 + snr * gain)); };
    double expected = integrate([&](double gain) { return std::exp(-gain) * time(gain); }, at.floor, 60);
    if (at.rule == outage_rule::conditional) {
      expected /= std::exp(-at.floor);
    } else {
      expected += (1 - std::exp(-at.floor)) * time(at.floor);
    }
    CHECK(near(mean, expected, 1e-9));
  }
}

TEST_CASE("Rayleigh: draws follow the exponential law under both outage rules") {
  constexpr std::size_t count = 100000;
  for (const outage_rule rule : {outage_rule::clip, outage_rule::conditional}) {
    const rayleigh_channel channel = rayleigh_channel::make(fading(1, 0.1, rule)).value();
    double sum = 0, inverse = 0;
    std::size_t at_floor = 0;
    for (const channel_state& state : rounds_of(channel, count)) {
      const double gain = std::exp2(state.uplink_rate / 10e6) - 1;
      CHECK(gain >= 0.1 * (1 - 1e-12));
      at_floor += gain <= 0.1 * (1 + 1e-9);
      sum += gain;
      inverse += 1 / state.uplink_rate;
    }
    const double survival = std::exp(-0.1);
    // E[max(g, f)] = f + e^-f; E[g | g >= f] = f + 1.
    CHECK(std::fabs(sum / count - (0.1 + (rule == outage_rule::clip ? survival : 1))) <= 5 / std::sqrt(double(count)));
    CHECK(std::fabs(static_cast<double>(at_floor) / count - (rule == outage_rule::clip ? 1 - survival : 0)) <=
          5 * std::sqrt(0.1 / count));
    CHECK(near(inverse / count, channel.mean_seconds_per_bit(), 0.03));
  }
  const rayleigh_channel clipped = rayleigh_channel::make(fading(1, 0.1, outage_rule::clip)).value();
  CHECK(near(clipped.gain_quantile(0.5), std::log(2.0), 1e-12));
  CHECK(clipped.gain_quantile(0.01) == 0.1);
  const rayleigh_channel retried = rayleigh_channel::make(fading(1, 0.1, outage_rule::conditional)).value();
  CHECK(near(retried.gain_quantile(0.5), 0.1 + std::log(2.0), 1e-12));
}

TEST_CASE("Rician: the law of the gain against its density") {
  constexpr std::size_t count = 100000;
  for (const double factor : {0.0, 1.0, 10.0}) {
    CAPTURE(factor);
    const auto density = [&](double gain) {
      return (factor + 1) * std::exp(-factor - (factor + 1) * gain) *
             std::cyl_bessel_i(0.0, 2 * std::sqrt(factor * (factor + 1) * gain));
    };
    const rician_channel channel = rician_channel::make(fading(1, 1e-3, outage_rule::clip), factor).value();
    std::array<std::size_t, 12> seen{};
    double mean = 0;
    for (std::uint32_t step = 0; step < count; ++step) {
      const double gain = channel.gain(source, step);
      mean += gain / count;
      seen[std::min<std::size_t>(11, static_cast<std::size_t>(gain * 5))] += 1;
    }
    // E g = 1
    CHECK(std::fabs(mean - 1) <= 5 * std::sqrt((1 + 2 * factor) / ((factor + 1) * (factor + 1)) / count) + 1e-6);
    for (std::size_t cell = 0; cell < 11; ++cell) {
      const double expected = integrate(density, 0.2 * static_cast<double>(cell), 0.2 * static_cast<double>(cell + 1));
      CHECK(std::fabs(static_cast<double>(seen[cell]) / count - expected) <= 5 * std::sqrt(expected / count) + 1e-9);
    }
  }
}

TEST_CASE("Rician: outage rules") {
  const rician_channel clipped = rician_channel::make(fading(1, 1, outage_rule::clip), 0).value();
  const rician_channel retried = rician_channel::make(fading(1, 1, outage_rule::conditional), 0).value();
  std::size_t at_floor = 0, retried_at_floor = 0;
  double mean = 0;
  for (std::uint32_t step = 0; step < 20000; ++step) {
    const double low = clipped.gain(source, step), high = retried.gain(source, step);
    at_floor += low == 1;
    retried_at_floor += high == 1;
    if (low > 1) CHECK(low == high);
    mean += high / 20000;
  }
  CHECK(std::fabs(static_cast<double>(at_floor) / 20000 - (1 - std::exp(-1.0))) <= 5 * std::sqrt(0.25 / 20000));
  CHECK(retried_at_floor == 0);
  CHECK(std::fabs(mean - 2) <= 5 / std::sqrt(20000.0));  // the exponential law forgets
  // A source that always falls below: after the last trial the floor is taken.
  struct silent {
    random_block operator()(random_counter) const noexcept { return {}; }
  };
  CHECK(retried.gain(silent{}, 0) == 1);
}

TEST_CASE("fading: losses, round trip and downlink pass through; errors name the field") {
  fading_options options = fading(2, 1e-3, outage_rule::clip);
  options.downlink_rate = 3e6;
  options.uplink_loss = 0.1;
  options.downlink_loss = 0.2;
  options.round_trip = 0.05;
  const channel_state state = rayleigh_channel::make(options).value().state(source, 5, {});
  CHECK((state.downlink_rate == 3e6 && state.uplink_loss == 0.1 && state.downlink_loss == 0.2 &&
         state.round_trip == 0.05));
  CHECK(check(state).ok());
  const channel_state other = rician_channel::make(options).value().state(source, 5, {});
  CHECK((other.downlink_rate == 3e6 && other.uplink_loss == 0.1 && other.downlink_loss == 0.2 &&
         other.round_trip == 0.05));
  const auto error = [](auto change) {
    fading_options bad;
    change(bad);
    return rayleigh_channel::make(bad).error();
  };
  CHECK(error([](fading_options& bad) { bad.bandwidth = 0; }) == status{errc::invalid_rate, part::link, 0});
  CHECK(error([](fading_options& bad) { bad.mean_snr = not_a_number; }) == status{errc::invalid_gain, part::link, 1});
  CHECK(error([](fading_options& bad) { bad.minimum_gain = 0; }) == status{errc::invalid_gain, part::link, 2});
  CHECK(error([](fading_options& bad) { bad.minimum_gain = 1.5; }) == status{errc::invalid_gain, part::link, 2});
  CHECK(error([](fading_options& bad) { bad.outage = static_cast<outage_rule>(2); }) ==
        status{errc::invalid_argument, part::link, 3});
  CHECK(error([](fading_options& bad) { bad.downlink_rate = -1; }) == status{errc::invalid_rate, part::link, 4});
  CHECK(error([](fading_options& bad) { bad.uplink_loss = 1; }) == status{errc::invalid_loss, part::link, 5});
  CHECK(error([](fading_options& bad) { bad.downlink_loss = -1; }) == status{errc::invalid_loss, part::link, 6});
  CHECK(error([](fading_options& bad) { bad.round_trip = infinite; }) == status{errc::invalid_duration, part::link, 7});
  CHECK(error([](fading_options& bad) { bad.stream = std::uint32_t{1} << 24; }) ==
        status{errc::invalid_argument, part::link, 8});
  CHECK(rician_channel::make({}, -1).error() == status{errc::invalid_gain, part::link, 9});
  CHECK(rician_channel::make({}, not_a_number).error() == status{errc::invalid_gain, part::link, 9});
}
