// SPDX-License-Identifier: Apache-2.0
//! Estimates the duration of a round under each method's model, and the resulting throughput. Times are in s, sizes in
//! bits and rates in bit/s.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605): round time; Conformal Sparsification (arXiv 2510.09942):
//!             the same without downlink; CU-HLM (arXiv 2505.11788): upload and skip rounds; WISV (arXiv 2604.17701)
//!             eqs. (6), (10), (18), (19), which we reconstructed (docs/errata.md), and Table I.
//! Symbols:    L = draft_length; t_d, t_v = draft_time, verify_time; R_u, R_d, eps_u, eps_d, t_rtt = rates, losses and
//!             round trip of the channel_state; B, U = uplink bits, D = downlink bits; other symbols as in
//!             link/payload.hpp.
//! Guarantees: O(1), no allocation, noexcept. Call `check` first, because the formulas need valid values.
//! Deviates:   a loss eps multiplies a rate by 1 - eps, because lost packets are sent again. An unlimited rate costs no
//!             time.
//! See:        docs/algorithms/latency.md, tests/unit/link/latency_test.cpp (T14-T17), link/compute.hpp
#ifndef SPECVERIFY_LINK_LATENCY_HPP
#define SPECVERIFY_LINK_LATENCY_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/link/channel.hpp>
#include <specverify/link/compute.hpp>
#include <specverify/link/payload.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Computing times of a round.
struct round_times {
  double draft_time = 25.6e-3;    //!< s per draft token, >= 0
  double verify_time = 104.6e-3;  //!< s per target pass over a round, >= 0; the defaults are CU-HLM's
};

//! Round time as a linear function of the length: fixed + length * per_token. The defaults fit the greedy rows of
//! WISV's Table I at 500 Mbit/s and 50 ms.
struct fitted_times {
  double per_token = 18.905e-3;  //!< t_tok, s
  double fixed = 49.345e-3;      //!< t_fix, s; includes the round trip
};

enum class throughput_estimator : std::uint8_t {
  ratio_of_sums = 0,  //!< all tokens divided by the total time
  mean_of_rounds = 1  //!< mean of each round's tokens per second; much larger if the rounds vary widely
};

//! Sums over the rounds that were added, and two estimates of throughput from these sums.
struct throughput_meter {
  std::uint64_t rounds = 0, tokens = 0;
  double seconds = 0, sum_of_ratios = 0;

  //! Adds a round; `round_seconds` must be > 0.
  SPECVERIFY_INLINE constexpr void add(std::uint32_t round_tokens, double round_seconds) noexcept {
    rounds += 1;
    tokens += round_tokens;
    seconds += round_seconds;
    sum_of_ratios += round_tokens / round_seconds;
  }
  //! Returns tokens per second; 0 before the first round.
  [[nodiscard]] SPECVERIFY_INLINE constexpr double value(
      throughput_estimator estimator = throughput_estimator::ratio_of_sums) const noexcept {
    if (rounds == 0) return 0;
    return estimator == throughput_estimator::mean_of_rounds ? sum_of_ratios / static_cast<double>(rounds)
                                                             : static_cast<double>(tokens) / seconds;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks the times. Errors (`where` = index of the field, from 0): invalid_duration.
[[nodiscard]] constexpr status check(const round_times& times) noexcept {
  if (!numeric::is_within(times.draft_time, detail::longest_time)) return detail::link_error(errc::invalid_duration, 0);
  return numeric::is_within(times.verify_time, detail::longest_time) ? status{}
                                                                     : detail::link_error(errc::invalid_duration, 1);
}

//! Returns the times with the measurement of uncertainty: `samples` softmaxes of `softmax_time` s each for every
//! drafted token, sent or not. The paper counts this measurement as free (E24). Energies computed from these times
//! include it.
[[nodiscard]] constexpr round_times with_uncertainty(const round_times& times, std::uint32_t samples,
                                                     double softmax_time) noexcept {
  return {times.draft_time + numeric::product(samples, softmax_time), times.verify_time};
}

//! Returns bits / (rate (1 - loss)), because every lost packet is sent again.
[[nodiscard]] constexpr double transfer_time(double bits, double rate, double loss = 0) noexcept {
  return rate >= unlimited_rate ? 0 : bits / (rate * (1 - loss));
}
[[nodiscard]] constexpr double uplink_time(double bits, const channel_state& link) noexcept {
  return transfer_time(bits, link.uplink_rate, link.uplink_loss);
}
[[nodiscard]] constexpr double downlink_time(double bits, const channel_state& link) noexcept {
  return transfer_time(bits, link.downlink_rate, link.downlink_loss);
}
//! Returns the time of one exchange: uplink, downlink and round trip. This is WISV (6) for the sizes of FH.
[[nodiscard]] constexpr double exchange_time(double uplink_bits, double downlink_bits,
                                             const channel_state& link) noexcept {
  return uplink_time(uplink_bits, link) + downlink_time(downlink_bits, link) + link.round_trip;
}

//! QS: returns L t_d + U/R_u + t_v + D/R_d (+ t_rtt, 0 in the paper). SQS: the same with an unlimited downlink.
[[nodiscard]] constexpr double round_time(std::uint32_t draft_length, const round_times& times, double uplink_bits,
                                          double downlink_bits, const channel_state& link) noexcept {
  return numeric::product(draft_length, times.draft_time) + exchange_time(uplink_bits, downlink_bits, link) +
         times.verify_time;
}

//! QS: returns the time of a round with L drafts and resolution l.
[[nodiscard]] inline double qs_round_time(std::uint32_t draft_length, std::uint32_t resolution,
                                          std::uint32_t vocab_size, const round_times& times,
                                          const channel_state& link) noexcept {
  return round_time(draft_length, times, static_cast<double>(qs_uplink_bits(draft_length, vocab_size, resolution)),
                    downlink_bits(draft_length, vocab_size), link);
}

//! HLM family: returns the time of a round that uploads, t_d + B/R_u + t_v (+ D/R_d + t_rtt, 0 in the paper). A round
//! that skips takes `times.draft_time`.
[[nodiscard]] constexpr double hlm_upload_time(const round_times& times, double uplink_bits, const channel_state& link,
                                               double downlink_bits = 0) noexcept {
  return round_time(1, times, uplink_bits, downlink_bits, link);
}
//! HLM family: returns the mean round time if a share `upload_share` (TR, in [0, 1]) of the rounds uploads and a
//! transfer takes `transfer` s on average.
[[nodiscard]] constexpr double hlm_mean_round_time(const round_times& times, double upload_share,
                                                   double transfer) noexcept {
  return times.draft_time + numeric::product(upload_share, transfer + times.verify_time);
}

//! WISV (6): returns the time of FH, which sends ids and all hidden vectors at once.
[[nodiscard]] constexpr double wisv_full_exchange_time(const wisv_format& format, std::uint32_t draft_length,
                                                       const channel_state& link) noexcept {
  return exchange_time(static_cast<double>(wisv_full_upload_bits(format, draft_length)),
                       static_cast<double>(wisv_feedback_bits(format, draft_length)), link);
}
//! WISV (10): returns the time of SH, which sends ids first, then the hidden vectors of the M mismatches on request.
//! Without a mismatch there is no second exchange.
[[nodiscard]] constexpr double wisv_selective_exchange_time(
    const wisv_format& format, std::uint32_t draft_length, std::uint32_t mismatches, const channel_state& link,
    bit_accounting accounting = bit_accounting::paper) noexcept {
  const double first = exchange_time(static_cast<double>(wisv_token_upload_bits(format, draft_length)),
                                     static_cast<double>(wisv_feedback_bits(format, draft_length)), link);
  if (mismatches == 0) return first;
  return first + exchange_time(static_cast<double>(wisv_selected_upload_bits(format, mismatches)),
                               static_cast<double>(wisv_request_bits(format, draft_length, mismatches, accounting)),
                               link);
}
//! Greedy speculative decoding: returns the time for ids up and feedback down.
[[nodiscard]] constexpr double greedy_exchange_time(const wisv_format& format, std::uint32_t draft_length,
                                                    const channel_state& link) noexcept {
  return wisv_selective_exchange_time(format, draft_length, 0, link);
}
//! Rejection sampling with full distributions: returns the time of the exchange.
[[nodiscard]] constexpr double reject_exchange_time(const wisv_format& format, std::uint32_t draft_length,
                                                    const channel_state& link) noexcept {
  return exchange_time(static_cast<double>(reject_upload_bits(format, draft_length)),
                       static_cast<double>(wisv_feedback_bits(format, draft_length)), link);
}

//! WISV (18), (19): returns the sum of the times, T_D + T_comm + T_T + T_head in the paper.
[[nodiscard]] constexpr double wisv_round_time(double drafting, double exchange, double verifying,
                                               double head = 0) noexcept {
  return drafting + exchange + verifying + head;
}
//! Returns t_fix + L t_tok plus the time of the uplink payload. t_fix includes the round trip.
[[nodiscard]] constexpr double fitted_round_time(const fitted_times& times, std::uint32_t draft_length,
                                                 double uplink_bits, const channel_state& link) noexcept {
  return times.fixed + numeric::product(draft_length, times.per_token) + uplink_time(uplink_bits, link);
}

//! Fits round times to draft lengths by least squares.
//! Errors: size_mismatch; invalid_argument (fewer than two different lengths); invalid_duration (`where` = entry).
[[nodiscard]] constexpr result<fitted_times> fit_round_times(std::span<const std::uint32_t> draft_lengths,
                                                             std::span<const double> seconds) noexcept {
  if (draft_lengths.size() != seconds.size()) return detail::link_error(errc::size_mismatch, 0);
  double count = 0, mean_length = 0, mean_seconds = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!numeric::is_within(seconds[i], detail::longest_time))
      return detail::link_error(errc::invalid_duration, static_cast<std::uint32_t>(i));
    count += 1;
    mean_length += draft_lengths[i];
    mean_seconds += seconds[i];
  }
  if (count < 2) return detail::link_error(errc::invalid_argument, 0);
  mean_length /= count;
  mean_seconds /= count;
  double product = 0, square = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const double off = draft_lengths[i] - mean_length;
    product += numeric::product(off, seconds[i] - mean_seconds);
    square += numeric::product(off, off);
  }
  if (square == 0) return detail::link_error(errc::invalid_argument, 0);
  return fitted_times{product / square, mean_seconds - numeric::product(product / square, mean_length)};
}

//! Returns how many hidden vectors per round SH must save to be as fast as FH. If it saves fewer, FH is faster, because
//! SH needs a second exchange: P(M>0) (t_rtt + O_u/(R_u(1-eps_u)) + B_req/(R_d(1-eps_d))) (R_u(1-eps_u)) / B_h vectors.
//! B_h = wisv_hidden_bits; `request_bits` = E[B_req | M > 0]. If vectors take no time, the result is `unlimited_rate`.
[[nodiscard]] constexpr double second_exchange_break_even(const wisv_format& format, const channel_state& link,
                                                          double mismatch_probability = 1,
                                                          double request_bits = 0) noexcept {
  const double wait = exchange_time(format.uplink_overhead, request_bits, link);
  const double vector = uplink_time(static_cast<double>(wisv_hidden_bits(format)), link);
  return vector > 0 ? mismatch_probability * wait / vector : unlimited_rate;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
