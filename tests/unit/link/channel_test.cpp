// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/channel.hpp>
#include <specverify/link/payload.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <type_traits>
#include <vector>

#include "support/alloc_guard.hpp"
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

TEST_CASE("fixed channel: the same state every round") {
  constexpr channel_state state{350e3, 4e6, 1e-3, 1e-3, 0.05, 3};
  constexpr fixed_channel channel = fixed_channel::make(state).value();
  static_assert(channel.state(source, 0, {}) == state && channel.state(source, 99, {}) == state);
}

TEST_CASE("E5 Markov presets: the rates of the paper, those of its code, and the share of low rounds") {
  static_assert(qs_paper_link().low.uplink_rate == 350e3 && qs_paper_link().high.uplink_rate == 4e6);
  static_assert(qs_code_link().low.uplink_rate == 2e6 && qs_code_link().high.uplink_rate == 6e6);
  static_assert(qs_code_link().low_to_high == 0.5 && qs_code_link().high_to_low == 0.5 &&
                qs_code_link().start == markov_start::low);
  static_assert(qs_sweep_size == 8);
  const double low[] = {0.75, 0.6, 6.0 / 11, 0.5, 3.0 / 7, 1.0 / 3, 0.25, 1.0 / 9};
  for (std::size_t i = 0; i < qs_sweep_size; ++i) {
    const markov_channel channel = markov_channel::make(qs_sweep_link(i, qs_paper_link())).value();
    CHECK(near(channel.stationary_low(), low[i], 1e-14));
    CHECK(channel.options().low.uplink_rate == 350e3);
  }
  CHECK(qs_sweep_link(99).high_to_low == qs_sweep_link(7).high_to_low);
  CHECK(markov_channel::make(qs_paper_link()).value().stationary_low() == 0.5);
}

TEST_CASE("Markov: measured share and sojourn of every preset") {
  constexpr std::size_t count = 200000;
  for (std::size_t point = 0; point <= qs_sweep_size; ++point) {
    CAPTURE(point);
    const markov_options options = point == qs_sweep_size ? qs_code_link() : qs_sweep_link(point);
    const std::vector<channel_state> states = rounds_of(markov_channel::make(options).value(), count);
    CHECK(states[0].index == 0);
    std::size_t low = 0, runs[2] = {0, 0};
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_high = states[i].index == 1;
      CHECK((states[i].uplink_rate == (is_high ? 6e6 : 2e6)));
      low += is_high ? 0 : 1;
      if (i + 1 == count || states[i + 1].index != states[i].index) ++runs[is_high];
    }
    const double leave_low = options.low_to_high, leave_high = options.high_to_low, both = leave_low + leave_high;
    const double share = leave_high / both;
    // Five standard deviations; the correlation of a two-state chain multiplies the variance by (2 - both) / both.
    const double spread = 5 * std::sqrt(share * (1 - share) * (2 - both) / both / count);
    CHECK(std::fabs(static_cast<double>(low) / count - share) <= spread);
    const double sojourn_low = static_cast<double>(low) / static_cast<double>(runs[0]);
    const double sojourn_high = static_cast<double>(count - low) / static_cast<double>(runs[1]);
    CHECK(std::fabs(sojourn_low * leave_low - 1) <=
          5 * std::sqrt((1 - leave_low) / static_cast<double>(runs[0])) + 1e-4);
    CHECK(std::fabs(sojourn_high * leave_high - 1) <=
          5 * std::sqrt((1 - leave_high) / static_cast<double>(runs[1])) + 1e-4);
  }
}

TEST_CASE("Markov: starts, absorbing states, streams, errors") {
  markov_options options = qs_code_link();
  options.start = markov_start::high;
  CHECK(markov_channel::make(options).value().state(source, 0, {}).index == 1);
  options.start = markov_start::stationary;
  options.low_to_high = 0.1;
  options.high_to_low = 0.3;
  std::size_t low = 0;
  for (std::uint32_t stream = 0; stream < 20000; ++stream) {
    options.stream = stream;
    low += markov_channel::make(options).value().state(source, 0, {}).index == 0;
  }
  CHECK(std::fabs(static_cast<double>(low) / 20000 - 0.75) <= 5 * std::sqrt(0.75 * 0.25 / 20000));

  options = qs_code_link();
  options.low_to_high = 0;
  for (const channel_state& state : rounds_of(markov_channel::make(options).value(), 100)) CHECK(state.index == 0);
  options.low_to_high = 1;
  options.high_to_low = 1;
  const std::vector<channel_state> alternating = rounds_of(markov_channel::make(options).value(), 100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(alternating[i].index == i % 2);

  options = qs_code_link();
  const std::vector<channel_state> first = rounds_of(markov_channel::make(options).value(), 64);
  options.stream = 1;
  CHECK_FALSE(first == rounds_of(markov_channel::make(options).value(), 64));

  options.low_to_high = not_a_number;
  CHECK(markov_channel::make(options).error() == status{errc::invalid_probability, part::link, 16});
  options.low_to_high = 0;
  options.high_to_low = 1.0000001;
  CHECK(markov_channel::make(options).error() == status{errc::invalid_probability, part::link, 17});
  options.high_to_low = 0;
  options.start = markov_start::stationary;
  CHECK(markov_channel::make(options).error() == status{errc::invalid_argument, part::link, 18});
  options.start = markov_start::high;
  CHECK(markov_channel::make(options).value().stationary_low() == 0);
  options.stream = std::uint32_t{1} << 24;
  CHECK(markov_channel::make(options).error() == status{errc::invalid_argument, part::link, 19});
  options.high.downlink_loss = 1;
  CHECK(markov_channel::make(options).error() == status{errc::invalid_loss, part::link, 11});
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

TEST_CASE("a step's draw depends on source, stream and step alone, and reads purpose 8") {
  struct watched {
    mutable std::vector<random_counter> seen;
    random_block operator()(random_counter counter) const noexcept {
      seen.push_back(counter);
      return source(counter);
    }
  };
  const watched counters{};
  fading_options options;
  options.stream = 9;
  const channel_state state = rayleigh_channel::make(options).value().state(counters, 41, {});
  REQUIRE(counters.seen.size() == 1);
  CHECK(counters.seen[0] == random_counter{0, 41, 0, purpose::channel, 9});
  channel_state previous{};
  previous.index = 1;
  CHECK(rayleigh_channel::make(options).value().state(source, 41, previous) == state);
}

TEST_CASE("record and replay") {
  const markov_channel model = markov_channel::make(qs_paper_link()).value();
  const std::vector<channel_state> states = rounds_of(model, 50);
  const recorded_channel replay = recorded_channel::make(states).value();
  CHECK(rounds_of(replay, 50) == states);
  CHECK(replay.state(philox{}, 53, {}) == states[3]);
  CHECK(recorded_channel::make(states, record_end::hold).value().state(source, 53, {}) == states[49]);
  CHECK(recorded_channel::make({}).error() == status{errc::empty_record, part::link, 0});
  std::vector<channel_state> broken = states;
  broken[7].downlink_loss = 1;
  CHECK(recorded_channel::make(broken).error() == status{errc::invalid_loss, part::link, 59});
  std::array<channel_state, 16> out{};
  const specverify_test::alloc_guard guard;
  record(replay, source, std::span<channel_state>(out));
  CHECK(guard.count() == 0);
  CHECK(out[15] == states[15]);
}
