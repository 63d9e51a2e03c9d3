// SPDX-License-Identifier: Apache-2.0
#include <specverify/policy/protocol.hpp>

#include <doctest/doctest.h>

#include <type_traits>

using namespace specverify;

namespace {

channel_state link_of(double rate, double round_trip) {
  channel_state link;
  link.uplink_rate = rate;
  link.downlink_rate = rate;
  link.round_trip = round_trip;
  return link;
}

}  // namespace

TEST_CASE("protocol: the round trip rule of the testbed") {
  constexpr round_trip_rule rule;
  CHECK(rule.choose(0.011) == hidden_protocol::full);
  CHECK(rule.choose(0.010) == hidden_protocol::selective);
  CHECK(rule.choose(0.0) == hidden_protocol::selective);
}

TEST_CASE("T17 protocol: SH wins when it saves more vectors than the second exchange costs") {
  struct anchor {
    double rate, round_trip, saved;
  };
  for (const anchor& at :
       {anchor{20e6, 0.05, 30.5}, anchor{20e6, 0.005, 3.1}, anchor{500e6, 0.05, 763}, anchor{500e6, 0.005, 76}}) {
    protocol_model model;  // B_h = 32768
    model.accounting = bit_accounting::paper;
    channel_state link = link_of(at.rate, at.round_trip);
    link.downlink_rate = unlimited_rate;  // overheads are ignored in these figures
    CAPTURE(at.rate);
    CAPTURE(at.round_trip);
    // The saving at which the choice turns, by bisection on E[M] at L = 1000 and P(M > 0) = 1.
    double low = 0, high = 1000;
    for (int i = 0; i < 60; ++i) {
      const double saved = (low + high) / 2;
      (model.choose(1000, link, {1000 - saved, 1, 1}) == hidden_protocol::full ? low : high) = saved;
    }
    CHECK(low == doctest::Approx(at.saved).epsilon(0.017));
    CHECK(low == doctest::Approx(at.round_trip * at.rate / 32768).epsilon(1e-9));
    CHECK(low == doctest::Approx(second_exchange_break_even(model.format, link)).epsilon(1e-9));
  }
}

TEST_CASE("protocol: the model's times are those of the rounds it stands for") {
  protocol_model model;
  model.format.uplink_overhead = 64;
  model.format.downlink_overhead = 80;
  channel_state link = link_of(20e6, 0.05);
  link.uplink_loss = 0.25;
  link.downlink_loss = 0.5;
  const double vector = 32768 / 15e6;
  CHECK(model.extra_time(hidden_protocol::full, 32, link, {}) == doctest::Approx(32 * vector));
  // 3 mismatches with probability 0.5: a list of 6 places of 6 bits and their number, against a bitmap of 32.
  CHECK(model.request_bits(32, {3, 0.5, 2}) == doctest::Approx(32 + 80));
  CHECK(model.request_bits(64, {3, 0.5, 2}) == doctest::Approx(7 * 7 + 80));
  const double exchange = 0.05 + 64 / 15e6 + (32 + 80) / 10e6;
  CHECK(model.extra_time(hidden_protocol::selective, 32, link, {3, 0.5, 2}) ==
        doctest::Approx(3 * vector + 0.5 * exchange));
  const double one = 0.05 + 64 / 15e6 + (12 + 80) / 10e6;
  CHECK(model.extra_time(hidden_protocol::lazy, 32, link, {3, 0.5, 2}) == doctest::Approx(2 * (vector + one)));
  // With M known both ways of counting agree with the round's own formulas.
  const double known = wisv_selective_exchange_time(model.format, 32, 6, link, bit_accounting::wire) -
                       wisv_selective_exchange_time(model.format, 32, 0, link);
  CHECK(model.extra_time(hidden_protocol::selective, 32, link, {6, 1, 1}) == doctest::Approx(known));
}

TEST_CASE("protocol: lazy where few mismatches are scored and round trips are short, if it is allowed") {
  protocol_model model;
  const channel_state slow = link_of(2e6, 0.0005);
  const mismatch_means often{8, 1, 1};
  CHECK(model.choose(16, slow, often) == hidden_protocol::selective);
  model.allow_lazy = true;
  CHECK(model.choose(16, slow, often) == hidden_protocol::lazy);
  CHECK(model.choose(16, link_of(2e6, 0.5), often) == hidden_protocol::full);
}

TEST_CASE("protocol: means per draft length, from 1 and 0.7") {
  static_assert(std::is_trivially_copyable_v<mismatch_history>);
  mismatch_history history;
  CHECK(history.of(10).mismatches == 1.0);
  CHECK(history.of(10).any == 0.7);
  history.record(10, 3, 2);
  CHECK(history.of(10).mismatches == doctest::Approx(0.95 + 0.15));
  CHECK(history.of(10).any == doctest::Approx(0.95 * 0.7 + 0.05));
  CHECK(history.of(10).evaluated == doctest::Approx(0.95 * 0.9 + 0.1));
  CHECK(history.of(9).mismatches == 1.0);
  history.record(10, 0, 0);
  CHECK(history.of(10).any == doctest::Approx(0.95 * (0.95 * 0.7 + 0.05)));
  history.record(500, 5, 5);
  CHECK(history.of(64).mismatches == doctest::Approx(0.95 + 0.25));
  CHECK(history.of(0).mismatches == history.of(1).mismatches);
}

TEST_CASE("NUM-1 protocol: an option outside its range is named") {
  CHECK(check(protocol_model{}).ok());
  CHECK(check(protocol_model{.format = {.vocab_size = 0}}) == status{errc::empty_vocabulary, part::policy, 0});
  CHECK(check(protocol_model{.format = {.hidden_size = 0}}) == status{errc::invalid_argument, part::policy, 1});
  CHECK(check(protocol_model{.format = {.element_bits = 65}}) == status{errc::invalid_argument, part::policy, 2});
  CHECK(check(protocol_model{.accounting = static_cast<bit_accounting>(2)}) ==
        status{errc::invalid_argument, part::policy, 6});
}
