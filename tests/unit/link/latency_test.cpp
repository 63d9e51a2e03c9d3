// SPDX-License-Identifier: Apache-2.0
#include <specverify/link/latency.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "unit/link/quadrature.hpp"
#include "unit/link/wisv_table.hpp"

using namespace specverify;
using specverify_test::wisv_cell;
using specverify_test::wisv_method;
using specverify_test::wisv_row;
using specverify_test::wisv_table;

namespace {

const double not_a_number = std::bit_cast<double>(std::uint64_t{0x7FF8000000000000});

bool near(double value, double expected, double relative) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}
channel_state rate(double uplink, double downlink = unlimited_rate, double round_trip = 0) {
  return {uplink, downlink, 0, 0, round_trip, 0};
}
channel_state at_snr(double decibel) { return rate(shannon_rate(10e6, from_decibel(decibel))); }

//! The line through the greedy rows at 500 Mbit/s.
fitted_times fit_greedy() {
  std::vector<std::uint32_t> lengths;
  std::vector<double> seconds;
  for (const wisv_row& row : wisv_table) {
    if (row.method != wisv_method::greedy) continue;
    lengths.push_back(row.draft_length);
    seconds.push_back(row.fast.latency / row.fast.rounds);
  }
  return fit_round_times(lengths, seconds).value();
}

double predicted(const fitted_times& times, const wisv_row& row, const wisv_cell& cell, double bits_per_second) {
  const wisv_format format;
  const std::uint32_t length = row.draft_length;
  const std::uint64_t bits = row.method == wisv_method::greedy   ? wisv_token_upload_bits(format, length)
                             : row.method == wisv_method::reject ? reject_upload_bits(format, length)
                                                                 : wisv_full_upload_bits(format, length);
  return cell.rounds * fitted_round_time(times, length, static_cast<double>(bits), rate(bits_per_second));
}

}  // namespace

TEST_CASE("transfer: retransmissions, unlimited rates") {
  CHECK(near(transfer_time(2209, 350e3), 6.311e-3, 1e-4));
  CHECK(near(transfer_time(1000, 1000, 0.5), 2, 1e-15));
  CHECK(transfer_time(1e9, unlimited_rate) == 0);
  const channel_state link{1e3, 4e3, 0.5, 0.75, 0.05, 0};
  CHECK(near(uplink_time(100, link), 0.2, 1e-15));
  CHECK(near(downlink_time(100, link), 0.1, 1e-15));
  CHECK(near(exchange_time(100, 100, link), 0.35, 1e-15));
}

TEST_CASE("T14 QS: uplink times of the paper's setting") {
  const auto up = [](std::uint32_t length, std::uint32_t resolution, double bits_per_second) {
    return uplink_time(static_cast<double>(qs_uplink_bits(length, 50272, resolution)), rate(bits_per_second)) * 1e3;
  };
  CHECK(std::fabs(up(1, 240, 350e3) - 6.311) <= 5e-4);
  CHECK(std::fabs(up(1, 240, 4e6) - 0.552) <= 5e-4);
  CHECK(std::fabs(up(4, 240, 350e3) - 25.25) <= 5e-3);
  CHECK(std::fabs(up(4, 240, 4e6) - 2.21) <= 5e-3);
  CHECK(std::fabs(up(1, 720, 350e3) - 15.62) <= 5e-3);
  CHECK(std::fabs(up(1, 720, 4e6) - 1.37) <= 5e-3);
}

TEST_CASE("E3 QS: round time, its downlink tells L + 1 outcomes; SQS: the same with a free downlink") {
  // 1 draft: 30 ms, 2209 bits at 350 kbit/s, 120 ms, 1 + 16 bits at 1 kbit/s.
  const round_times times{30e-3, 120e-3};
  CHECK(near(qs_round_time(1, 240, 50272, times, rate(350e3, 1e3)), 0.030 + 2209 / 350e3 + 0.120 + 0.017, 1e-14));
  CHECK(near(qs_round_time(4, 240, 50272, times, rate(350e3, 1e3)), 0.120 + 4 * 2209 / 350e3 + 0.120 + 0.019, 1e-14));
  CHECK(near(qs_round_time(4, 240, 50272, times, rate(350e3)), 0.120 + 4 * 2209 / 350e3 + 0.120, 1e-14));
  const double sqs_bits = 10 * k_sqs_token_bits(50257, 32, 100);
  CHECK(near(round_time(10, times, sqs_bits, 0, rate(1e6)), 0.300 + 4818.7e-6 + 0.120, 1e-6));
  CHECK(near(round_time(0, times, 0, 16, rate(1e6, 1e3, 0.05)), 0.120 + 0.016 + 0.05, 1e-14));
}

TEST_CASE("E4 QS: every round of an episode pays the rate of its own state, and its downlink") {
  const std::array<channel_state, 3> states{rate(350e3, 1e6), rate(350e3, 1e6), rate(4e6, 1e6)};
  const recorded_channel link = recorded_channel::make(states).value();
  const round_times times{8e-3, 45e-3};
  throughput_meter meter;
  channel_state now{};
  for (std::uint32_t round = 0; round < 3; ++round) {
    now = link.state(philox{}, round, now);
    meter.add(round + 1, qs_round_time(4, 240, 50272, times, now));
  }
  const double computing = 3 * (4 * 8e-3 + 45e-3), down = 3 * (3 + 16) / 1e6;
  CHECK(near(meter.seconds, computing + 2 * 8836 / 350e3 + 8836 / 4e6 + down, 1e-12));
  CHECK(near(meter.value(), 6 / meter.seconds, 1e-14));
  CHECK(meter.seconds > 1.15 * (computing + 3 * 8836 / 4e6));  // all bits at the last state's rate, nothing down
}

TEST_CASE("T14 HLM: full payload at g = 1, rounds, baselines") {
  const round_times times;
  const double bits = static_cast<double>(hlm_full_bits({}));
  CHECK(std::fabs(uplink_time(bits, at_snr(-20)) - 5.1270) <= 5e-5);
  CHECK(std::fabs(uplink_time(bits, at_snr(10)) * 1e3 - 21.2752) <= 5e-5);
  CHECK(std::fabs(1 / hlm_upload_time(times, bits, at_snr(10)) - 6.6017) <= 5e-5);
  CHECK(std::fabs(1 / times.verify_time - 9.56) <= 5e-3);
  CHECK(std::fabs(1 / times.draft_time - 39.06) <= 5e-3);
  CHECK(near(hlm_mean_round_time(times, 1, uplink_time(bits, at_snr(10))), hlm_upload_time(times, bits, at_snr(10)),
             1e-14));
  CHECK(hlm_mean_round_time(times, 0, 1e9) == times.draft_time);
  CHECK(near(hlm_upload_time(times, 1000, rate(1e3, 1e3, 0.05), 15), 1.0 + 0.1302 + 0.015 + 0.05, 1e-14));
}

TEST_CASE("T14 HLM: gains under clipped Rayleigh fading, both estimators") {
  const round_times times;
  const hlm_format format;
  const auto channel_at = [](double decibel) {
    fading_options options;
    options.mean_snr = from_decibel(decibel);
    return rayleigh_channel::make(options).value();
  };
  const auto gain = [&](double decibel, std::uint32_t support_size) {
    const double per_bit = channel_at(decibel).mean_seconds_per_bit();
    const double full = hlm_mean_round_time(times, 1, static_cast<double>(hlm_full_bits(format)) * per_bit);
    return full /
           hlm_mean_round_time(times, 0.252, static_cast<double>(hlm_compressed_bits(format, support_size)) * per_bit);
  };
  const double hlm =
      hlm_mean_round_time(times, 1, static_cast<double>(hlm_full_bits(format)) * channel_at(10).mean_seconds_per_bit());
  CHECK(std::fabs(1 / hlm - 5.396) <= 5e-4);
  CHECK(std::fabs(gain(10, 832) - 3.542) <= 5e-4);
  CHECK(std::fabs(gain(-20, 30) - 617.7) <= 0.05);
  CHECK(std::fabs(gain(-20, 200) - 338.6) <= 0.05);
  CHECK(std::fabs(gain(-20, 832) - 126.4) <= 0.05);

  // Without fading no payload at all gives more than a factor 101; mean_of_rounds cannot give more than 168 at -20 dB.
  const double no_fading = hlm_upload_time(times, static_cast<double>(hlm_full_bits(format)), at_snr(-20)) /
                           hlm_mean_round_time(times, 0.252, 0);
  CHECK(std::fabs(no_fading - 101) <= 0.5);

  // The estimators on drawn rounds, against their expectations.
  const rayleigh_channel channel = channel_at(-20);
  const double bits = static_cast<double>(hlm_full_bits(format));
  throughput_meter meter;
  const philox source{{{3, 8}}};
  for (std::uint32_t step = 0; step < 50000; ++step)
    meter.add(1, hlm_upload_time(times, bits, channel.state(source, step, {})));
  const double floor = channel.options().minimum_gain;
  const auto reciprocal = [&](double g) { return 1 / (0.1302 + bits / channel.at_gain(g).uplink_rate); };
  const double mean = specverify_test::integrate([&](double g) { return std::exp(-g) * reciprocal(g); }, floor, 60) +
                      (1 - std::exp(-floor)) * reciprocal(floor);
  CHECK(std::fabs(mean - 0.185) <= 5e-4);
  CHECK(near(meter.value(throughput_estimator::mean_of_rounds), mean, 0.03));
  CHECK(near(meter.value(), 1 / (0.1302 + bits * channel.mean_seconds_per_bit()), 0.1));
  CHECK(meter.value(throughput_estimator::mean_of_rounds) > 5 * meter.value());
  throughput_meter ideal;  // no payload: a quarter of the rounds verifies
  for (int i = 0; i < 1000; ++i) ideal.add(1, i < 252 ? 0.1302 : 0.0256);
  CHECK(std::fabs(ideal.value(throughput_estimator::mean_of_rounds) / mean - 168) <= 0.6);
  CHECK(throughput_meter{}.value() == 0);
}

TEST_CASE("E22 HLM: what no payload can exceed under Rician fading") {
  // 10 dB factor, -20 dB: the full payload against none gives a factor of about 125, against 30 entries about 122.
  const double factor = 10, floor = 1e-3;
  fading_options options;
  options.mean_snr = from_decibel(-20);
  options.minimum_gain = floor;
  const rician_channel channel = rician_channel::make(options, factor).value();
  const auto weighted = [&](double g) {
    const double density = (factor + 1) * std::exp(-factor - (factor + 1) * g) *
                           std::cyl_bessel_i(0.0, 2 * std::sqrt(factor * (factor + 1) * g));
    return density / channel.at_gain(std::max(g, floor)).uplink_rate;
  };
  const double per_bit = specverify_test::integrate(weighted, 0, 8);
  const double full = hlm_mean_round_time({}, 1, 736000 * per_bit);
  CHECK(std::fabs(full / hlm_mean_round_time({}, 0.252, 0) - 125) <= 1);
  CHECK(std::fabs(full / hlm_mean_round_time({}, 0.252, 690 * per_bit) - 122) <= 1);
  double drawn = 0;
  const philox source{{{6, 2}}};
  for (std::uint32_t step = 0; step < 50000; ++step) drawn += 1 / channel.state(source, step, {}).uplink_rate / 50000;
  CHECK(near(drawn, per_bit, 0.02));
}

TEST_CASE("T16 E20 Table II of CU-HLM: throughput = 1 / (SLM + comm + LLM), no fading, k = 200") {
  struct line {
    double draft, transfer, verify, throughput, upload_share;  // ms, printed
    bool full;
  };
  const line table[] = {
      {25.6, 6.3, 31.1, 15.9, 0.297, true},      {25.6, 5.9, 29.0, 16.5, 0.277, true},
      {64, 2.8, 13.8, 12.4, 0.132, true},        {25.6, 38.1e-3, 30.0, 18.0, 0.287, false},
      {25.6, 35.5e-3, 27.9, 18.7, 0.267, false}, {64, 16.2e-3, 12.8, 13.0, 0.122, false},
  };
  const hlm_format format;
  for (const line& row : table) {
    CAPTURE(row.throughput);
    const double share = row.verify / 104.6;  // how many rounds upload
    CHECK(std::fabs(share - row.upload_share) <= 6e-4);
    const double bits = static_cast<double>(row.full ? hlm_full_bits(format) : hlm_compressed_bits(format, 200));
    const double transfer = uplink_time(bits, at_snr(10));
    // The printed mean transfer, to its last digit (and that of the share).
    CHECK(std::fabs(share * transfer * 1e3 - row.transfer) <= (row.full ? 0.05 : 0.05e-3) + 0.0025 * row.transfer);
    const round_times times{row.draft * 1e-3, 104.6e-3};
    const double modelled = 1 / hlm_mean_round_time(times, share, transfer);
    CHECK(std::fabs(modelled - row.throughput) <= 0.05 + 1e-9);
    CHECK(std::fabs(1e3 / (row.draft + row.transfer + row.verify) - row.throughput) <= 0.05 + 1e-9);
  }
  // Under fading the same rows would be slower: 55 ms a full payload instead of 21.
  fading_options options;
  options.mean_snr = 10;
  CHECK(rayleigh_channel::make(options).value().mean_seconds_per_bit() * 736000 >
        2.5 * uplink_time(736000, at_snr(10)));
  // Neither the share 1 - 0.748 nor the mean size 832 gives the printed transfer of 38.1 us.
  CHECK(std::fabs(0.252 * uplink_time(736000, at_snr(10)) * 1e3 - 6.3) > 0.5);
  CHECK(0.287 * uplink_time(static_cast<double>(hlm_compressed_bits(format, 832)), at_snr(10)) * 1e6 > 4 * 38.1);
}

TEST_CASE(
    "E21 U-HLM against CU-HLM, like for like: 165 times less transfer and 13.2 % more throughput, not 177.5 and 17.6") {
  const hlm_format format;
  const double full = uplink_time(static_cast<double>(hlm_full_bits(format)), at_snr(10));
  const double compressed = uplink_time(static_cast<double>(hlm_compressed_bits(format, 200)), at_snr(10));
  struct system {
    double share, transfer;  // share of uploads = mean verification time over 104.6 ms
    [[nodiscard]] double communication() const { return share * transfer; }
    [[nodiscard]] double throughput() const { return 1 / hlm_mean_round_time({}, share, transfer); }
  };
  const system u_hlm{31.1 / 104.6, full}, cu_hlm{30.0 / 104.6, compressed}, trained_u_hlm{29.0 / 104.6, full},
      trained_cu_hlm{27.9 / 104.6, compressed};
  const auto gain = [](const system& before, const system& after) { return after.throughput() / before.throughput(); };
  CHECK(std::fabs(u_hlm.communication() / cu_hlm.communication() - 165) <= 2);
  CHECK(std::fabs(trained_u_hlm.communication() / trained_cu_hlm.communication() - 165) <= 2);
  CHECK(std::fabs(gain(u_hlm, cu_hlm) - 1.132) <= 3e-3);
  CHECK(std::fabs(gain(trained_u_hlm, trained_cu_hlm) - 1.132) <= 3e-3);
  // The printed gains set a target without distillation against one with it.
  CHECK(std::fabs(u_hlm.communication() / trained_cu_hlm.communication() - 177.5) <= 2);
  CHECK(std::fabs(gain(u_hlm, trained_cu_hlm) - 1.176) <= 3e-3);
}

TEST_CASE("E24 uncertainty is free unless its M softmaxes are charged, then in skipped rounds too") {
  const round_times charged = with_uncertainty({}, 20, 0.2e-3);
  CHECK(near(hlm_mean_round_time(charged, 0.252, 1e-3), 25.6e-3 + 20 * 0.2e-3 + 0.252 * (1e-3 + 104.6e-3), 1e-14));
  CHECK(near(hlm_mean_round_time({}, 0.252, 1e-3), 25.6e-3 + 0.252 * (1e-3 + 104.6e-3), 1e-14));
  CHECK(near(hlm_upload_time(charged, 1000, rate(1e6)), 25.6e-3 + 4e-3 + 1e-3 + 104.6e-3, 1e-14));
}

TEST_CASE("T15 E28 Table I of WISV: the fit on five greedy rows and what it predicts") {
  const fitted_times times = fit_greedy();
  CHECK(std::fabs(times.per_token * 1e3 - 18.905) <= 5e-4);
  CHECK(std::fabs(times.fixed * 1e3 - 49.345) <= 5e-4);
  CHECK(std::fabs(fitted_times{}.per_token - times.per_token) <= 5e-7);
  CHECK(std::fabs(fitted_times{}.fixed - times.fixed) <= 5e-7);

  // Errors in percent, in the order of the windows 10, 16, 24, 32, 64.
  const double reject_fast[] = {-0.11, -0.04, 0.01, 0.02, -0.03}, reject_slow[] = {-0.07, -0.07, -0.06, -0.06, -0.06};
  const double wisv_fast[] = {-0.05, -0.02, -0.03, -0.04, -0.21}, wisv_slow[] = {1.47, -0.21, -1.88, -3.17, -5.16};
  int place = 0;
  for (const wisv_row& row : wisv_table) {
    CAPTURE(row.draft_length);
    const double fast = 100 * (predicted(times, row, row.fast, 500e6) / row.fast.latency - 1);
    const double slow = 100 * (predicted(times, row, row.slow, 20e6) / row.slow.latency - 1);
    CHECK(std::fabs(fast) <= 0.3);
    CHECK(std::fabs(slow) <= (row.method == wisv_method::wisv ? 6 : 0.3));
    if (row.method == wisv_method::greedy) {
      CHECK((fast >= -0.115 && fast <= 0.055));
      CHECK((slow >= -0.125 && slow <= 0.045));
    } else {
      const bool reject = row.method == wisv_method::reject;
      CHECK(std::fabs(fast - (reject ? reject_fast : wisv_fast)[place]) <= 0.0101);
      CHECK(std::fabs(slow - (reject ? reject_slow : wisv_slow)[place]) <= 0.0101);
      if (!reject) ++place;
    }
  }
  CHECK(place == 5);
}

TEST_CASE("T15 E28 Table I of WISV: 20.4 window uploads an answer explain both rates") {
  const fitted_times times = fit_greedy();
  const double window_uploads = 20.4;
  for (const wisv_row& row : wisv_table) {
    if (row.method != wisv_method::wisv) continue;
    const double bits = window_uploads * row.draft_length * static_cast<double>(wisv_hidden_bits({}));
    for (const auto& [cell, bits_per_second] : {std::pair{row.fast, 500e6}, std::pair{row.slow, 20e6}}) {
      const double modelled = cell.rounds * fitted_round_time(times, row.draft_length, 0, rate(bits_per_second)) +
                              uplink_time(bits, rate(bits_per_second));
      CHECK(std::fabs(modelled / cell.latency - 1) <= 0.003);
      CHECK(std::fabs(modelled / cell.latency - 1) <= 0.00195);
    }
  }
}

TEST_CASE("E27 Table I of WISV: its accepted length counts the server's token, and its headline gains") {
  double low[2] = {1e9, 1e9}, high[2] = {0, 0};
  for (const wisv_row& row : wisv_table) {
    if (row.method != wisv_method::greedy) continue;  // the same text at every window
    for (int extra = 0; extra < 2; ++extra) {
      const double tokens = (row.fast.tokens_per_round + extra) * row.fast.rounds;
      low[extra] = std::min(low[extra], tokens);
      high[extra] = std::max(high[extra], tokens);
    }
    CHECK(near(row.fast.tokens_per_round * row.fast.rounds / row.fast.latency, row.fast.tokens_per_second, 1e-3));
  }
  CHECK((high[0] / low[0] < 1.015 && high[1] / low[1] > 1.06));
  const wisv_row &greedy = wisv_table[12], &wisv = wisv_table[14];
  CHECK(std::fabs(wisv.fast.latency / greedy.fast.latency - (1 - 0.314)) <= 5e-4);
  CHECK(std::fabs(wisv.slow.tokens_per_round / greedy.slow.tokens_per_round - 1.607) <= 5e-4);
  CHECK(std::fabs(wisv.slow.rounds / greedy.slow.rounds - (1 - 0.373)) <= 5e-4);
}

TEST_CASE("the least squares line: exact points, errors") {
  const std::array<std::uint32_t, 3> lengths{1, 5, 9};
  const std::array<double, 3> seconds{3, 11, 19};
  CHECK(near(fit_round_times(lengths, seconds).value().per_token, 2, 1e-15));
  CHECK(near(fit_round_times(lengths, seconds).value().fixed, 1, 1e-14));
  CHECK(fit_round_times(lengths, std::span(seconds).first(2)).error().code == errc::size_mismatch);
  CHECK(fit_round_times(std::span(lengths).first(1), std::span(seconds).first(1)).error().code ==
        errc::invalid_argument);
  CHECK(fit_round_times({}, {}).error().code == errc::invalid_argument);
  CHECK(fit_round_times(std::array<std::uint32_t, 2>{4, 4}, std::array{1.0, 2.0}).error().code ==
        errc::invalid_argument);
  CHECK(fit_round_times(lengths, std::array{1.0, not_a_number, 2.0}).error() ==
        status{errc::invalid_duration, part::link, 1});
}

TEST_CASE("WISV (6), (10): the exchanges, term by term") {
  wisv_format format;
  format.uplink_overhead = 64;
  format.downlink_overhead = 32;
  const channel_state link{1e6, 2e6, 0.1, 0.2, 0.05, 0};
  const double up = 0.9e6, down = 1.6e6;
  CHECK(near(wisv_full_exchange_time(format, 10, link), (10 * 32785 + 64) / up + (21 + 32) / down + 0.05, 1e-14));
  const double first = (170 + 64) / up + (21 + 32) / down + 0.05;
  CHECK(near(wisv_selective_exchange_time(format, 10, 0, link), first, 1e-14));
  CHECK(near(wisv_selective_exchange_time(format, 10, 3, link), first + (12 + 32) / down + (3 * 32768 + 64) / up + 0.05,
             1e-14));
  CHECK(near(wisv_selective_exchange_time(format, 10, 3, link, bit_accounting::wire),
             first + (10 + 32) / down + (3 * 32768 + 64) / up + 0.05, 1e-14));
  CHECK(near(greedy_exchange_time(format, 10, link), first, 1e-14));
  CHECK(near(reject_exchange_time(format, 10, link), (10 * (17 + 16 * 128256) + 64) / up + (21 + 32) / down + 0.05,
             1e-14));
  CHECK(near(wisv_round_time(1, 2, 3, 4), 10, 1e-15));
}

TEST_CASE("T17 where the second exchange pays") {
  struct line {
    double bits_per_second, round_trip, saved, shown;
  };
  const line table[] = {
      {20e6, 0.05, 30.5, 0.05}, {20e6, 0.005, 3.1, 0.05}, {500e6, 0.05, 763, 0.5}, {500e6, 0.005, 76, 0.5}};
  const wisv_format format;
  for (const line& at : table) {
    CAPTURE(at.bits_per_second);
    CAPTURE(at.round_trip);
    const channel_state link = rate(at.bits_per_second, unlimited_rate, at.round_trip);
    const double saved = second_exchange_break_even(format, link);
    CHECK(std::fabs(saved - at.saved) <= at.shown);
    // The model itself changes sides there: M mismatches of L, 900 drafts at most.
    const std::uint32_t below = static_cast<std::uint32_t>(saved), length = below + 20;
    CHECK(wisv_selective_exchange_time(format, length, length - below, link) >
          wisv_full_exchange_time(format, length, link));
    CHECK(wisv_selective_exchange_time(format, length, length - below - 1, link) <
          wisv_full_exchange_time(format, length, link));
  }
  // Losses, framing, the request, and rounds without a mismatch.
  wisv_format framed = format;
  framed.uplink_overhead = 320;
  const channel_state link{1e6, 1e5, 0.5, 0.5, 0.01, 0};
  CHECK(near(second_exchange_break_even(framed, link, 0.7, 40), 0.7 * (0.01 + 320 / 0.5e6 + 40 / 0.5e5) * 0.5e6 / 32768,
             1e-14));
  CHECK(second_exchange_break_even(framed, link, 0, 40) == 0);
  CHECK(second_exchange_break_even(format, rate(unlimited_rate)) == unlimited_rate);
}

TEST_CASE("computing times out of range") {
  CHECK(check(round_times{}).ok());
  CHECK(check(round_times{-1, 0}) == status{errc::invalid_duration, part::link, 0});
  CHECK(check(round_times{0, not_a_number}) == status{errc::invalid_duration, part::link, 1});
}
