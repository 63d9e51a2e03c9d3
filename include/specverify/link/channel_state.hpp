// SPDX-License-Identifier: Apache-2.0
//! Describes a link in one round: rates, loss and round-trip time. Also checks these values, and computes a rate from
//! power and distance.
//!
//! Paper:      CU-HLM (arXiv 2505.11788) II-B: rate from power, distance and path loss.
//! Symbols:    W = bandwidth in Hz; SNR = signal-to-noise ratio, linear.
//! Guarantees: O(1), no allocation, noexcept. Rates are as precise as the platform's logarithm and power.
//! See:        docs/algorithms/channel.md, tests/unit/link/channel_state_test.cpp
#ifndef SPECVERIFY_LINK_CHANNEL_STATE_HPP
#define SPECVERIFY_LINK_CHANNEL_STATE_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/random.hpp>
#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! A rate that makes every transfer take no time (the paper's infinite capacity). Infinity itself is rejected, because
//! fast-math does not preserve it.
inline constexpr double unlimited_rate = 0x1p1000;

//! The link during one round.
struct channel_state {
  double uplink_rate = 1e6;               //!< bit/s, in (0, unlimited_rate]
  double downlink_rate = unlimited_rate;  //!< bit/s, in (0, unlimited_rate]
  double uplink_loss = 0;                 //!< packet error rate, in [0, 1)
  double downlink_loss = 0;               //!< packet error rate, in [0, 1)
  double round_trip = 0;                  //!< s, in [0, 2^64]
  std::uint32_t index = 0;                //!< index in models with few states; two-state links: 0 low, 1 high

  friend SPECVERIFY_INLINE constexpr bool operator==(const channel_state& a, const channel_state& b) noexcept {
    return a.uplink_rate == b.uplink_rate && a.downlink_rate == b.downlink_rate && a.uplink_loss == b.uplink_loss &&
           a.downlink_loss == b.downlink_loss && a.round_trip == b.round_trip && a.index == b.index;
  }
};

//! Parameters of the mean signal-to-noise ratio: the transmitter's power and the distance.
struct radio_options {
  double transmit_power = 0.2;    //!< P, W, > 0
  double distance = 100;          //!< rho, m, > 0
  double path_loss_exponent = 3;  //!< a, in [0, 16]
  double noise_power = 1e-9;      //!< N0 over the whole band, W, > 0
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Returns whether 0 <= x < 1.
[[nodiscard]] constexpr bool is_loss(double x) noexcept {
  return std::bit_cast<std::uint64_t>(x) < std::bit_cast<std::uint64_t>(1.0);
}

[[nodiscard]] constexpr status link_error(errc code, std::uint32_t where) noexcept { return {code, part::link, where}; }

inline constexpr double longest_time = 0x1p64;
inline constexpr double largest_gain = 0x1p200;

//! Returns the random bits of a channel at one step.
template <class Source>
[[nodiscard]] constexpr random_block channel_block(const Source& source, std::uint32_t step, std::uint32_t trial,
                                                   std::uint32_t stream) noexcept {
  return source(random_counter{0, step, trial, purpose::channel, stream});
}

inline constexpr std::uint32_t stream_limit = std::uint32_t{1} << 24;

}  // namespace detail

//! Checks that the numbers of a state are in range.
//! Errors (`where` = index of the field, from 0): invalid_rate, invalid_loss, invalid_duration.
[[nodiscard]] constexpr status check(const channel_state& state) noexcept {
  if (!numeric::is_positive_within(state.uplink_rate, unlimited_rate)) return detail::link_error(errc::invalid_rate, 0);
  if (!numeric::is_positive_within(state.downlink_rate, unlimited_rate))
    return detail::link_error(errc::invalid_rate, 1);
  if (!detail::is_loss(state.uplink_loss)) return detail::link_error(errc::invalid_loss, 2);
  if (!detail::is_loss(state.downlink_loss)) return detail::link_error(errc::invalid_loss, 3);
  if (!numeric::is_within(state.round_trip, detail::longest_time)) return detail::link_error(errc::invalid_duration, 4);
  return {};
}

//! Returns 10^(dB / 10).
[[nodiscard]] inline double from_decibel(double decibel) noexcept { return std::pow(10.0, decibel / 10); }
//! Returns 10 log10(ratio), ratio > 0.
[[nodiscard]] inline double to_decibel(double ratio) noexcept { return 10 * std::log10(ratio); }

//! Returns W log2(1 + SNR) in bit/s; precise for small SNR too.
[[nodiscard]] inline double shannon_rate(double bandwidth, double snr) noexcept {
  constexpr double log2_e = 1.4426950408889634;
  return bandwidth * log2_e * std::log1p(snr);
}

//! Returns P rho^-a / N0. Errors: invalid_gain (`where` = index of the field; 4: the result is out of range).
[[nodiscard]] inline result<double> mean_snr(const radio_options& radio) noexcept {
  const double positive[] = {radio.transmit_power, radio.distance, radio.noise_power};
  constexpr std::uint32_t place[] = {0, 1, 3};
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (!numeric::is_positive_within(positive[i], detail::largest_gain))
      return detail::link_error(errc::invalid_gain, place[i]);
  }
  if (!numeric::is_within(radio.path_loss_exponent, 16)) return detail::link_error(errc::invalid_gain, 2);
  const double snr = radio.transmit_power * std::pow(radio.distance, -radio.path_loss_exponent) / radio.noise_power;
  if (!numeric::is_positive_within(snr, detail::largest_gain)) return detail::link_error(errc::invalid_gain, 4);
  return snr;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
