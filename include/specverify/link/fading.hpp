// SPDX-License-Identifier: Apache-2.0
//! Models a link with block fading: each round has a new random gain, which is constant during the round.
//!
//! Paper:      CU-HLM (arXiv 2505.11788) II-B: Rayleigh and Rician fading.
//! Symbols:    uplink rate = W log2(1 + SNR g), with W = bandwidth, SNR = mean_snr and g = gain; K_R = factor.
//! Guarantees: no allocation and no internal state. A step's draw depends only on (source, stream, step), and is as
//!             precise as the platform's logarithm and cosine.
//! Deviates:   the gain has a floor, for the reason in link/channel.hpp.
//! Cost:       O(1) per step.
//! See:        docs/algorithms/channel.md, tests/unit/link/fading_test.cpp (T14)
#ifndef SPECVERIFY_LINK_FADING_HPP
#define SPECVERIFY_LINK_FADING_HPP

#include <specverify/core/concepts.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/link/channel_state.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Rule for a gain below the floor. Without a rule the mean transfer time of a Rayleigh link would be infinite.
enum class outage_rule : std::uint8_t {
  clip = 0,        //!< use the floor
  conditional = 1  //!< wait for a gain above the floor: the distribution of the gain given g >= floor
};

//! A fading uplink; the downlink has a constant rate.
struct fading_options {
  double bandwidth = 10e6;     //!< W, Hz, > 0
  double mean_snr = 1;         //!< linear, > 0; see from_decibel and mean_snr(radio_options)
  double minimum_gain = 1e-3;  //!< floor of g, in (0, 1]
  outage_rule outage = outage_rule::clip;
  double downlink_rate = unlimited_rate;  //!< bit/s
  double uplink_loss = 0;                 //!< packet error rate in addition to the fading, in [0, 1)
  double downlink_loss = 0;               //!< in [0, 1)
  double round_trip = 0;                  //!< s
  std::uint32_t stream = 0;               //!< distinguishes links that share a source, < 2^24
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks the options.
//! Errors (`where` = index of the field, from 0): invalid_rate (bandwidth, downlink; 2: the rate at the floor),
//! invalid_gain (SNR, floor), invalid_argument (rule, stream), invalid_loss, invalid_duration.
[[nodiscard]] inline status check(const fading_options& options) noexcept {
  if (!numeric::is_positive_within(options.bandwidth, unlimited_rate)) return detail::link_error(errc::invalid_rate, 0);
  if (!numeric::is_positive_within(options.mean_snr, detail::largest_gain))
    return detail::link_error(errc::invalid_gain, 1);
  if (!numeric::is_positive_within(options.minimum_gain, 1)) return detail::link_error(errc::invalid_gain, 2);
  if (options.outage > outage_rule::conditional) return detail::link_error(errc::invalid_argument, 3);
  if (!numeric::is_positive_within(options.downlink_rate, unlimited_rate))
    return detail::link_error(errc::invalid_rate, 4);
  if (!detail::is_loss(options.uplink_loss)) return detail::link_error(errc::invalid_loss, 5);
  if (!detail::is_loss(options.downlink_loss)) return detail::link_error(errc::invalid_loss, 6);
  if (!numeric::is_within(options.round_trip, detail::longest_time))
    return detail::link_error(errc::invalid_duration, 7);
  if (options.stream >= detail::stream_limit) return detail::link_error(errc::invalid_argument, 8);
  // The rate at the floor must also be valid, because it is the lowest rate.
  if (!numeric::is_positive_within(shannon_rate(options.bandwidth, options.mean_snr * options.minimum_gain),
                                   unlimited_rate))
    return detail::link_error(errc::invalid_rate, 2);
  return {};
}

namespace detail {

[[nodiscard]] inline channel_state faded_state(const fading_options& options, double gain) noexcept {
  return {shannon_rate(options.bandwidth, options.mean_snr * gain),
          options.downlink_rate,
          options.uplink_loss,
          options.downlink_loss,
          options.round_trip,
          0};
}

}  // namespace detail

//! g is exponentially distributed with mean 1: no line of sight. The draw inverts the distribution function and uses
//! one counter per round.
class rayleigh_channel {
 public:
  [[nodiscard]] static result<rayleigh_channel> make(const fading_options& options) noexcept {
    if (const status why = check(options); !why.ok()) return why;
    return rayleigh_channel(options);
  }
  [[nodiscard]] const fading_options& options() const noexcept { return options_; }

  //! Returns the u-quantile of the gain under the outage rule, for 0 <= u < 1.
  [[nodiscard]] double gain_quantile(double u) const noexcept {
    const double free = -std::log1p(-u);
    // the exponential distribution is memoryless
    if (options_.outage == outage_rule::conditional) return options_.minimum_gain + free;
    return free < options_.minimum_gain ? options_.minimum_gain : free;
  }
  template <uniform_source Source>
  [[nodiscard]] channel_state state(const Source& source, std::uint32_t step, const channel_state&) const noexcept {
    return at_gain(gain_quantile(decision_uniform(detail::channel_block(source, step, 0, options_.stream))));
  }
  [[nodiscard]] channel_state at_gain(double gain) const noexcept { return detail::faded_state(options_, gain); }

  //! Returns E[1 / uplink_rate] in s/bit over the gain, without losses: Simpson's rule on 4096 intervals of ln g,
  //! relative error below 1e-9.
  [[nodiscard]] double mean_seconds_per_bit() const noexcept {
    const double low = std::log(options_.minimum_gain), step = (std::log(64.0) - low) / 4096;
    double sum = 0;
    for (int i = 0; i <= 4096; ++i) {
      const double gain = std::exp(low + step * i);
      sum += (i == 0 || i == 4096 ? 1 : i % 2 == 1 ? 4 : 2) * gain * std::exp(-gain) / at_gain(gain).uplink_rate;
    }
    const double above = sum * step / 3;
    if (options_.outage == outage_rule::conditional) return above * std::exp(options_.minimum_gain);
    return above - std::expm1(-options_.minimum_gain) / at_gain(options_.minimum_gain).uplink_rate;
  }

 private:
  explicit rayleigh_channel(const fading_options& options) noexcept : options_(options) {}
  fading_options options_;
};

//! g = |sqrt(K_R / (K_R + 1)) + c|^2 with a complex normal c of variance 1 / (K_R + 1): the line of sight is K_R times
//! as strong as the scattered paths. K_R = 0 gives the Rayleigh distribution, but with other draws.
class rician_channel {
 public:
  //! `factor`: K_R, linear (for example, 10 for 10 dB), in [0, 2^200]. Errors: as for check(fading_options);
  //! invalid_gain with `where` = 9 for the factor.
  [[nodiscard]] static result<rician_channel> make(const fading_options& options, double factor = 10) noexcept {
    if (const status why = check(options); !why.ok()) return why;
    if (!numeric::is_within(factor, detail::largest_gain)) return detail::link_error(errc::invalid_gain, 9);
    return rician_channel(options, factor);
  }
  [[nodiscard]] const fading_options& options() const noexcept { return options_; }
  [[nodiscard]] double factor() const noexcept { return factor_; }

  //! Returns the gain of a step. Under the conditional rule, trial t uses lane t of the counter; after 64 trials the
  //! floor is used.
  template <uniform_source Source>
  [[nodiscard]] double gain(const Source& source, std::uint32_t step) const noexcept {
    for (std::uint32_t trial = 0; trial < 64; ++trial) {
      const random_block block = detail::channel_block(source, step, trial, options_.stream);
      const double radius = std::sqrt(-std::log1p(-decision_uniform(block, 0)) / (factor_ + 1));
      const double angle = 6.283185307179586 * decision_uniform(block, 1);
      const double real = std::sqrt(factor_ / (factor_ + 1)) + radius * std::cos(angle),
                   imaginary = radius * std::sin(angle);
      const double drawn = real * real + imaginary * imaginary;
      if (drawn >= options_.minimum_gain) return drawn;
      if (options_.outage == outage_rule::clip) break;
    }
    return options_.minimum_gain;
  }
  template <uniform_source Source>
  [[nodiscard]] channel_state state(const Source& source, std::uint32_t step, const channel_state&) const noexcept {
    return at_gain(gain(source, step));
  }
  [[nodiscard]] channel_state at_gain(double gain) const noexcept { return detail::faded_state(options_, gain); }

 private:
  rician_channel(const fading_options& options, double factor) noexcept : options_(options), factor_(factor) {}
  fading_options options_;
  double factor_;
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
