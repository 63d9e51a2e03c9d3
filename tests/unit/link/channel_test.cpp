// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/channel.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "support/alloc_guard.hpp"

using namespace specverify;

namespace {

constexpr philox source{{{17, 4}}};
const double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});

bool near(double value, double expected, double relative) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}

template <class Model>
std::vector<channel_state> rounds_of(const Model& model, std::size_t count) {
  std::vector<channel_state> states(count);
  record(model, source, std::span<channel_state>(states));
  return states;
}

}  // namespace

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
