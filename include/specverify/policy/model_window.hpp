// SPDX-License-Identifier: Apache-2.0
//! Plans each round for the highest modelled throughput: expected tokens divided by the round's time.
//!
//! Paper:      the heuristic baseline of Quantize-Sample-and-Verify (arXiv 2507.00605). The paper does not define the
//!             baseline, so this rule is ours.
//! Method:     the expected number of tokens of L drafts at resolution l is 1 + alpha + ... + alpha^L, where alpha =
//!             acceptance_of(observation, l). link/latency.hpp models the round's time.
//! Guarantees: pure, O(actions) with at most 32 actions, no allocation.
//! Deviates:   the window maximizes only the next round's throughput, and assumes that the measured rates continue.
//! See:        docs/algorithms/model_window.md, tests/unit/policy/model_window_test.cpp
#ifndef SPECVERIFY_POLICY_MODEL_WINDOW_HPP
#define SPECVERIFY_POLICY_MODEL_WINDOW_HPP

#include <specverify/link/latency.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/policy/resolution.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/verify/expected_length.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! Cost model of a round. If the observation has a rate, a round trip or a draft time, that value is used instead.
struct throughput_model {
  std::uint32_t vocab_size = 0;    //!< V >= 1; a session sets it
  std::uint32_t support_size = 1;  //!< K, if `accounting` depends on it; a session sets it
  position_accounting accounting = position_accounting::dense;
  round_times times{};   //!< t_d per draft and t_v per round, in seconds
  channel_state link{};  //!< rates in bit/s, round trip in seconds
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks a model. Errors (`where` = index of the field, from 0; the fields of the times begin at 3, of the link at 5):
//! empty_vocabulary, vocabulary_too_large, invalid_argument (K outside [1, V]), the errors of check(round_times) and
//! check(channel_state).
[[nodiscard]] constexpr status check(const throughput_model& model) noexcept {
  if (model.vocab_size == 0) return {errc::empty_vocabulary, part::policy, 0};
  if (model.vocab_size > max_vocab_size) return {errc::vocabulary_too_large, part::policy, 0};
  if (model.support_size == 0 || model.support_size > model.vocab_size)
    return {errc::invalid_argument, part::policy, 1};
  if (model.accounting > position_accounting::drop_zero) return {errc::invalid_argument, part::policy, 2};
  if (const status why = check(model.times); !why.ok()) return {why.code, part::policy, 3 + why.where};
  const status why = check(model.link);
  return why.ok() ? why : status{why.code, part::policy, 5 + why.where};
}

//! Returns the modelled time of a round with this action, in seconds. The size of a draft follows from the model's
//! accounting. However, if the last round used no lattice, it is the mean size of all drafts sent so far.
[[nodiscard]] inline double modelled_round_time(const throughput_model& model, const observation& seen,
                                                const window_action& action) noexcept {
  channel_state link = model.link;
  if (seen.uplink_rate > 0) link.uplink_rate = static_cast<double>(seen.uplink_rate);
  if (seen.downlink_rate > 0) link.downlink_rate = static_cast<double>(seen.downlink_rate);
  if (seen.round_trip > 0) link.round_trip = static_cast<double>(seen.round_trip);
  round_times times = model.times;
  if (seen.draft_time > 0) times.draft_time = static_cast<double>(seen.draft_time);
  const bool is_measured = seen.last_resolution == 0 && seen.drafted > 0 && seen.draft_bytes > 0;
  const double bits = is_measured
                          ? 8 * static_cast<double>(seen.draft_bytes) / static_cast<double>(seen.drafted)
                          : position_bits(model.accounting, model.vocab_size, model.support_size, action.resolution);
  return round_time(action.draft_length, times, action.draft_length * bits,
                    downlink_bits(action.draft_length, model.vocab_size), link);
}

//! Returns the modelled tokens per second of a round with this action.
[[nodiscard]] inline double modelled_throughput(const throughput_model& model, const observation& seen,
                                                const window_action& action) noexcept {
  const double acceptance = static_cast<double>(acceptance_of(seen, action.resolution));
  return expected_tokens(acceptance, action.draft_length) / modelled_round_time(model, seen, action);
}

//! A window that chooses the action of its grid with the highest modelled throughput; the first action wins ties.
struct model_window {
  static constexpr bool unconditional = true;
  action_grid grid = paper_action_grid();  //!< 1..32 actions
  throughput_model model{};

  //! Returns the index of the action for the next round.
  [[nodiscard]] std::uint32_t choose(const observation& seen) const noexcept {
    std::uint32_t best = 0;
    double most = 0;
    for (std::uint32_t i = 0; i < grid.size; ++i) {
      const double throughput = modelled_throughput(model, seen, grid[i]);
      if (throughput > most) {
        most = throughput;
        best = i;
      }
    }
    return best;
  }
  [[nodiscard]] draft_plan begin(const observation& seen) const noexcept {
    const window_action& chosen = grid[choose(seen)];
    return {chosen.draft_length, chosen.resolution};
  }
  [[nodiscard]] constexpr plan_range range() const noexcept {
    const action_range all = range_of(grid);
    return {all.most.draft_length, all.least.resolution, all.most.resolution};
  }
  constexpr void count_with(std::uint32_t all, std::uint32_t kept) noexcept {
    model.vocab_size = all;
    model.support_size = kept;
  }
  [[nodiscard]] constexpr bool proceed(std::uint32_t, const law&, std::uint64_t) const noexcept { return true; }
};
using model_based_window = model_window;

//! Checks a window. Errors: as for check(action_grid); the errors of check(throughput_model) with `where` =
//! max_window_actions + field.
[[nodiscard]] constexpr status check(const model_window& window) noexcept {
  if (const status why = check(window.grid); !why.ok()) return why;
  const status why = check(window.model);
  return why.ok() ? why : status{why.code, part::policy, max_window_actions + why.where};
}

static_assert(ranged_window<model_window> && counting_window<model_window>);

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
