// SPDX-License-Identifier: Apache-2.0
//! Draws one token from the exact distribution of a row. This algorithm is the canonical draw of all backends.
//!
//! Each trial uses two random numbers. The coarse sums propose an id, which is accepted in proportion to its exact
//! weight. After `trial_cap` rejected proposals, the exact rule reads the row: it draws the least id at which the
//! serial sum of the weights in double exceeds a uniform share of their total.
//! Symbols:    e_v = weight of id v, and Z = sum of e_v, as in row/digest.hpp.
//! Guarantees: the distribution is e_v / Z for every trial_cap, up to the rounding of e_v (1e-15) and of the 53-bit
//!             uniforms. An id with e_v = 0 is never returned. 1.04 trials on average. No allocation; noexcept; tokens
//!             can differ between backends only at near ties.
//! Deviates:   a truncated row uses only the exact rule (trials = 0). A one-hot row uses no random number, because only
//!             one token is possible.
//! See:        docs/algorithms/sample.md, row/detail/proposal.hpp, tests/unit/row/sample_test.cpp,
//!             benchmarks/bench_sample.cpp
#ifndef SPECVERIFY_ROW_SAMPLE_HPP
#define SPECVERIFY_ROW_SAMPLE_HPP

#include <specverify/row/detail/exact_draw.hpp>

SPECVERIFY_TYPES_BEGIN

struct draw_options {
  std::uint32_t trial_cap = 32;  //!< envelope trials before the exact rule; 0: only the exact rule
};

struct sampled_token {
  token_id token = no_token;
  std::uint32_t trials = 0;  //!< envelope trials made
  bool exact = false;        //!< the exact rule drew the token
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! Implements `row_reading::sample`. Errors: row_is_empty.
template <class Policy, class Scalar, class Source>
[[nodiscard]] inline result<sampled_token> draw(const opened_row<Policy, Scalar>& row,
                                                const uniform_stream<Source>& stream, draw_options options) noexcept {
  const row_digest& digest = row.digest;
  if (digest.one_hot) [[unlikely]]
    return sampled_token{digest.argmax, 0, false};
  std::uint32_t trial = 0;
  if (!digest.truncated) [[likely]] {
    const kernel::exact_weight exact = exact_of(digest);
    for (; trial < options.trial_cap; ++trial) {
      const random_block block = stream.block(trial);
      const proposal tried = propose(row.policy, row.source, digest, row.base, decision_uniform(block, 0));
      if (!tried.why.ok()) return tried.why;
      if (tried.token == no_token) continue;
      if (decision_uniform(block, 1) * tried.envelope <
          envelope_slack * tried.correction * exact(row.value(tried.token))) [[likely]]
        return sampled_token{tried.token, trial + 1, false};
    }
  }
  const token_id token = exact_token(row, stream.uniform(trial));
  if (token == no_token) return row_error(errc::row_is_empty);
  return sampled_token{token, trial, true};
}

}  // namespace detail

SPECVERIFY_NAMESPACE_END

#endif
