// SPDX-License-Identifier: Apache-2.0
//! Models a link. The rate, loss and round-trip time of a round depend only on the random source, the round number and
//! the previous state.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605): two-state Markov link; CU-HLM (arXiv 2505.11788) II-B:
//!             rate from power, distance and fading, Rayleigh and Rician; WISV (arXiv 2604.17701): packet error rate
//!             and round trip.
//! Guarantees: no allocation and no internal state, so you can replay a link, or compare two methods on the same link.
//!             The Markov link is bit-exact. A fading link is as precise as the platform's logarithm and cosine.
//! Deviates:   the gain of a fading link has a floor, because the mean transfer time of a Rayleigh link is otherwise
//!             infinite.
//! Cost:       O(1) per step.
//! See:        docs/algorithms/channel.md, tests/unit/link/channel_test.cpp (T14)
#ifndef SPECVERIFY_LINK_CHANNEL_HPP
#define SPECVERIFY_LINK_CHANNEL_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/link/fading.hpp>

#include <concepts>
#include <cstddef>
#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

enum class markov_start : std::uint8_t { low = 0, high = 1, stationary = 2 };

//! A link with two states and one transition per round. If the states differ in loss, this model is a Gilbert link.
struct markov_options {
  channel_state low{};       //!< `index` is set to 0
  channel_state high{};      //!< `index` is set to 1
  double low_to_high = 0.5;  //!< per round, in [0, 1]
  double high_to_low = 0.5;  //!< per round, in [0, 1]
  markov_start start = markov_start::low;
  std::uint32_t stream = 0;  //!< distinguishes links that share a source, < 2^24
};

//! Behaviour of a replay after the last recorded state.
enum class record_end : std::uint8_t { repeat = 0, hold = 1 };

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! A link. `state(source, step, previous)` must return the link's state in round `step`, from 0. `previous` is the
//! state of the round before, and must not be read at step 0. Satisfied by: `fixed_channel`, `markov_channel`,
//! `rayleigh_channel`, `rician_channel`, `recorded_channel`.
template <class Model>
concept channel_model = std::copyable<Model> &&
    requires(const Model& model, const philox& source, std::uint32_t step, const channel_state& previous) {
  { model.state(source, step, previous) } noexcept -> std::same_as<channel_state>;
};

//! The same link in every round.
class fixed_channel {
 public:
  [[nodiscard]] static constexpr result<fixed_channel> make(const channel_state& state) noexcept {
    if (const status why = check(state); !why.ok()) return why;
    return fixed_channel(state);
  }
  template <uniform_source Source>
  [[nodiscard]] constexpr channel_state state(const Source&, std::uint32_t, const channel_state&) const noexcept {
    return state_;
  }

 private:
  explicit constexpr fixed_channel(const channel_state& state) noexcept : state_(state) {}
  channel_state state_;
};

//! A link with two states. The next state depends on the previous state and on one uniform random number. Two links
//! that share a source and a stream use the same random numbers.
class markov_channel {
 public:
  //! Errors: as for check(channel_state) (`where` + 8 for the high state); invalid_probability (16, 17);
  //!         invalid_argument (18: start, also for a stationary start if no state is ever left; 19: stream).
  [[nodiscard]] static constexpr result<markov_channel> make(const markov_options& options) noexcept {
    if (const status why = check(options.low); !why.ok()) return why;
    if (const status why = check(options.high); !why.ok()) return detail::link_error(why.code, why.where + 8);
    if (!numeric::is_within(options.low_to_high, 1)) return detail::link_error(errc::invalid_probability, 16);
    if (!numeric::is_within(options.high_to_low, 1)) return detail::link_error(errc::invalid_probability, 17);
    const bool frozen = options.low_to_high == 0 && options.high_to_low == 0;
    if (options.start > markov_start::stationary || (frozen && options.start == markov_start::stationary))
      return detail::link_error(errc::invalid_argument, 18);
    if (options.stream >= detail::stream_limit) return detail::link_error(errc::invalid_argument, 19);
    return markov_channel(options);
  }
  [[nodiscard]] constexpr const markov_options& options() const noexcept { return options_; }

  //! Returns the long-run share of rounds in the low state, P_hl / (P_lh + P_hl). If no state is ever left, the start
  //! state has a share of 1.
  [[nodiscard]] constexpr double stationary_low() const noexcept {
    const double both = options_.low_to_high + options_.high_to_low;
    if (both == 0) return options_.start == markov_start::low ? 1 : 0;
    return options_.high_to_low / both;
  }
  template <uniform_source Source>
  [[nodiscard]] constexpr channel_state state(const Source& source, std::uint32_t step,
                                              const channel_state& previous) const noexcept {
    if (step == 0 && options_.start != markov_start::stationary)
      return options_.start == markov_start::high ? options_.high : options_.low;
    const double u = decision_uniform(detail::channel_block(source, step, 0, options_.stream));
    const double high = step == 0             ? 1 - stationary_low()
                        : previous.index != 0 ? 1 - options_.high_to_low
                                              : options_.low_to_high;
    return u < high ? options_.high : options_.low;
  }

 private:
  explicit constexpr markov_channel(const markov_options& options) noexcept : options_(options) {
    options_.low.index = 0;
    options_.high.index = 1;
  }
  markov_options options_;
};

//! Returns the link of Quantize-Sample-and-Verify: 350 kbit/s and 4 Mbit/s. The paper gives no transition
//! probabilities, so they are 1/2, as in the authors' code.
[[nodiscard]] constexpr markov_options qs_paper_link() noexcept {
  markov_options options;
  options.low.uplink_rate = 350e3;
  options.high.uplink_rate = 4e6;
  options.high.index = 1;
  return options;
}
//! Returns the link of the authors' code: 2 and 6 Mbit/s. Every transition has probability 1/2, and the link starts in
//! the low state.
[[nodiscard]] constexpr markov_options qs_code_link() noexcept {
  markov_options options = qs_paper_link();
  options.low.uplink_rate = 2e6;
  options.high.uplink_rate = 6e6;
  return options;
}

//! One point of the sweep in the authors' code, from mostly low to mostly high: the probabilities that low stays low
//! and that high becomes low.
struct markov_sweep_point {
  double stay_low = 0.5, high_to_low = 0.5;
};
inline constexpr markov_sweep_point qs_sweep[] = {{.9, .3}, {.8, .3},  {.75, .3}, {.7, .3},
                                                  {.6, .3}, {.5, .25}, {.4, .2},  {.2, .1}};
inline constexpr std::size_t qs_sweep_size = sizeof(qs_sweep) / sizeof(qs_sweep[0]);
//! Returns `link` with the transitions of `qs_sweep[point]`, or of the last point if `point` is too large.
[[nodiscard]] constexpr markov_options qs_sweep_link(std::size_t point, markov_options link = qs_code_link()) noexcept {
  const markov_sweep_point at = qs_sweep[point < qs_sweep_size ? point : qs_sweep_size - 1];
  link.low_to_high = 1 - at.stay_low;
  link.high_to_low = at.high_to_low;
  return link;
}

//! Replays recorded states from the caller's span, and uses no random numbers.
class recorded_channel {
 public:
  //! Errors: empty_record; null_span; as for check(channel_state), `where` = 8 * entry + field (for entries from 2^28
  //! on, `where` wraps around).
  [[nodiscard]] static constexpr result<recorded_channel> make(std::span<const channel_state> states,
                                                               record_end end = record_end::repeat) noexcept {
    if (states.empty()) return detail::link_error(errc::empty_record, 0);
    if (states.data() == nullptr) return detail::link_error(errc::null_span, 0);
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (const status why = check(states[i]); !why.ok())
        return detail::link_error(why.code, static_cast<std::uint32_t>((i & 0xFFFFFFFu) * 8) + why.where);
    }
    return recorded_channel(states, end);
  }
  template <uniform_source Source>
  [[nodiscard]] constexpr channel_state state(const Source&, std::uint32_t step, const channel_state&) const noexcept {
    if (end_ == record_end::repeat) return states_[step % states_.size()];
    return states_[step < states_.size() ? step : states_.size() - 1];
  }

 private:
  constexpr recorded_channel(std::span<const channel_state> states, record_end end) noexcept
      : states_(states), end_(end) {}
  std::span<const channel_state> states_;
  record_end end_;
};

//! Writes the states of the first `out.size()` rounds of a model. `recorded_channel` can replay this record.
template <channel_model Model, uniform_source Source>
constexpr void record(const Model& model, const Source& source, std::span<channel_state> out) noexcept {
  channel_state now{};
  for (std::size_t step = 0; step < out.size(); ++step)
    out[step] = now = model.state(source, static_cast<std::uint32_t>(step), now);
}

static_assert(channel_model<fixed_channel> && channel_model<markov_channel> && channel_model<recorded_channel>);
static_assert(channel_model<rayleigh_channel> && channel_model<rician_channel>);

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
