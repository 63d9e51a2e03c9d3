// SPDX-License-Identifier: Apache-2.0
//! Predicts whether drafting on the device is faster than streaming from the cloud, and the best number of drafts.
//!
//! Paper:      none for the model; arXiv 2606.25091 also studies when split decoding is faster.
//! Method:     the expected number of tokens of L drafts with acceptance alpha is 1 + alpha + ... + alpha^L, in the
//!             round time of link/latency.hpp. A streamed token takes the target's pass or the downlink transfer,
//!             whichever is longer, because round trips overlap.
//! Guarantees: pure, O(L) with L <= `most_drafts`; no allocation, noexcept.
//! Deviates:   every draft has the same acceptance, and the cloud has no queue. If requests wait, add the wait to
//!             `verify_time`.
//! See:        docs/choosing.md, docs/algorithms/split_plan.md, tests/unit/policy/split_plan_test.cpp
#ifndef SPECVERIFY_POLICY_SPLIT_PLAN_HPP
#define SPECVERIFY_POLICY_SPLIT_PLAN_HPP

#include <specverify/link/latency.hpp>
#include <specverify/verify/expected_length.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! A device, a cloud, the link between them, and a method.
struct split_model {
  round_times times{};         //!< t_d per draft and t_v per pass of the target, in seconds
  channel_state link{};        //!< rates in bit/s, round trip in seconds
  double acceptance = 0.7;     //!< alpha, in [0, 1]
  double bits_per_draft = 12;  //!< uplink bits of one draft, >= 0
  double bits_per_round = 16;  //!< uplink bits of a message without drafts, >= 0
  double bits_down = 40;       //!< downlink bits of a message with one token, >= 0
  std::uint32_t most_drafts = 8;
};

struct split_plan {
  std::uint32_t draft_length = 0;  //!< the best L from 1 to most_drafts, or 0 if streaming is at least as fast
  double tokens_per_second = 0;    //!< throughput of the faster way, drafting or streaming
  double split = 0;                //!< tokens per second with the best L >= 1
  double streamed = 0;             //!< tokens per second if the cloud streams the text (session_mode::stream)

  [[nodiscard]] SPECVERIFY_INLINE constexpr bool streams() const noexcept { return draft_length == 0; }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks a model. Errors (`where` = index of the field, from 0; the fields of the times begin at 0, of the link at 2):
//! the errors of check(round_times) and check(channel_state); invalid_argument (acceptance, 7; bits, 8 to 10;
//! most_drafts 0 or above 4096, 11).
[[nodiscard]] constexpr status check(const split_model& model) noexcept {
  if (const status why = check(model.times); !why.ok()) return {why.code, part::policy, why.where};
  if (const status why = check(model.link); !why.ok()) return {why.code, part::policy, 2 + why.where};
  if (!numeric::is_within(model.acceptance, 1)) return {errc::invalid_argument, part::policy, 7};
  const double bits[] = {model.bits_per_draft, model.bits_per_round, model.bits_down};
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (!numeric::is_within(bits[i], 1e15)) return {errc::invalid_argument, part::policy, 8 + i};
  }
  if (model.most_drafts == 0 || model.most_drafts > 4096) return {errc::invalid_argument, part::policy, 11};
  return {};
}

//! Returns the faster way, drafting or streaming, and both throughputs. `model` must pass `check`, and some time in it
//! must be positive.
[[nodiscard]] constexpr split_plan plan_split(const split_model& model) noexcept {
  split_plan made;
  const double down = downlink_time(model.bits_down, model.link);
  made.streamed = 1 / (down > model.times.verify_time ? down : model.times.verify_time);
  std::uint32_t best = 1;
  for (std::uint32_t drafts = 1; drafts <= model.most_drafts; ++drafts) {
    const double up = model.bits_per_round + numeric::product(drafts, model.bits_per_draft);
    const double seconds = round_time(drafts, model.times, up, model.bits_down, model.link);
    const double speed = expected_tokens(model.acceptance, drafts) / seconds;
    if (speed > made.split) {
      made.split = speed;
      best = drafts;
    }
  }
  made.draft_length = made.split > made.streamed ? best : 0;
  made.tokens_per_second = made.streams() ? made.streamed : made.split;
  return made;
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
