// SPDX-License-Identifier: Apache-2.0
//! The canonical draw: one token from the law of a row, exactly, at the cost of the digest and two random numbers.
//!
//! Symbols:    e_v, Z, w(v), lane and block sums as in row/digest.hpp; U1, U2 = the two decision uniforms of counter
//!             lane + t.
//! Trial t:    U1 * coarse_total picks a block, then a lane, by serial prefix sums in double; inside the lane the ids
//!             are scanned by w in double, the position scaled by S_exact / S (the lane's sum in double over its float
//!             sum). The id is accepted iff U2 * w * S < (1 - 2^-15) * S_exact * e_v. After `trial_cap` trials: y =
//!             least v with e_v > 0 and sum_{u <= v} e_u > U1 * Z, U1 of lane + trial_cap, sums serial in double.
//! Guarantees: the law is e_v / Z, up to the rounding of e_v (1e-15) and of the 53-bit uniforms, for every trial_cap;
//!             an id with e_v = 0 is never returned; expected trials 1.04; no allocation; noexcept. Tokens are
//!             near-tie: every backend runs this algorithm.
//! Deviates:   a truncated row is drawn by the exact rule alone (trials = 0), a one-hot digest without a random number.
//! See:        docs/algorithms/sample.md, row/detail/proposal.hpp, tests/unit/row/sample_test.cpp,
//!             benchmarks/bench_sample.cpp
#ifndef SPECVERIFY_ROW_SAMPLE_HPP
#define SPECVERIFY_ROW_SAMPLE_HPP

#include <specverify/row/detail/proposal.hpp>

SPECVERIFY_TYPES_BEGIN

struct sample_options {
  std::uint32_t trial_cap = 32;  //!< envelope trials before the exact rule; 0: the exact rule at once
};

struct sampled_token {
  token_id token = no_token;
  std::uint32_t trials = 0;  //!< envelope trials made
  bool exact = false;        //!< the exact rule gave the token
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Draws a token. `row` and `transform` are those of the digest `from`, whose arrays live in `space`.
//! Reads the counters counter.lane .. counter.lane + trials (and none for a one-hot digest).
//! Errors: invalid_argument (an empty digest), null_span, size_mismatch (another row), row_is_empty. On error `out`
//!         stays as it was.
template <execution_policy Policy, class Scalar, uniform_source Source>
[[nodiscard]] status sample(Policy policy, row_view<Scalar> row, const row_transform& transform, const row_digest& from,
                            const workspace& space, const Source& source, random_counter counter,
                            sample_options options, sampled_token& out) noexcept {
  const status checked = detail::check_row(row, from);
  if (!checked.ok()) return checked;
  if (from.one_hot) {
    out = {from.argmax, 0, false};
    return {};
  }
  const kernel::row_source<Scalar> opened = detail::open(row, transform);
  const std::uint32_t first_lane = counter.lane;
  std::uint32_t trial = 0;
  if (!from.truncated) {
    const kernel::exact_weight exact = detail::exact_of(from);
    for (; trial < options.trial_cap; ++trial) {
      counter.lane = first_lane + trial;
      const random_block block = source(counter);
      const detail::proposal tried = detail::propose(opened, from, space, decision_uniform(block, 0));
      if (tried.token == no_token) continue;
      const double weight = exact(static_cast<double>(opened.value(static_cast<std::uint32_t>(tried.token))));
      if (decision_uniform(block, 1) * tried.envelope < detail::envelope_slack * tried.correction * weight) {
        out = {tried.token, trial + 1, false};
        return {};
      }
    }
  }
  counter.lane = first_lane + trial;
  const auto itself = [](token_id, double weight) noexcept { return weight; };
  const double total = from.truncated ? from.normaliser : detail::inverse_total(policy, opened, from, space, itself);
  const token_id token =
      detail::inverse(policy, opened, from, space, decision_uniform(source(counter), 0) * total, itself);
  if (token == no_token) return detail::row_error(errc::row_is_empty);
  out = {token, trial, true};
  return {};
}

SPECVERIFY_NAMESPACE_END

#endif
