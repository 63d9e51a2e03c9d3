// SPDX-License-Identifier: Apache-2.0
//! Chooses how an edge sends hidden states: with the drafts, on one request per round, or on one request per mismatch.
//! The choice depends on the link and takes effect in the next session.
//!
//! Paper:      WISV (arXiv 2604.17701), protocols FH (full) and SH (selective), testbed rule "FH if the round trip is
//!             above 10 ms". The model-based rule and the lazy protocol are ours.
//! Symbols:    L = draft_length; M = mismatches of a round; B_h, B_req = bits of a hidden vector and of a request; R_u,
//!             R_d = rates after losses; tau = round_trip; O_u = overhead bits of an upload.
//! Guarantees: pure, O(1), no allocation. The choice never changes a verdict.
//! Deviates:   running means per L replace the expected values, because M is unknown before the round.
//! See:        docs/algorithms/protocol.md, tests/unit/policy/protocol_test.cpp (T17)
#ifndef SPECVERIFY_POLICY_PROTOCOL_HPP
#define SPECVERIFY_POLICY_PROTOCOL_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/link/latency.hpp>
#include <specverify/link/payload.hpp>

#include <array>
#include <cstdint>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! When to send the hidden vectors of a round.
enum class hidden_protocol : std::uint8_t {
  full = 0,       //!< FH: all L vectors, with the drafts
  selective = 1,  //!< SH: the vectors of all mismatches, on one request
  lazy = 2        //!< the vector of one mismatch per request, until a mismatch is rejected
};

//! Statistics of the rounds of one draft length.
struct mismatch_means {
  double mismatches = 1;  //!< E[M]
  double any = 0.7;       //!< P(M > 0)
  //! mean number of mismatches that `lazy` requests: up to and including the first rejected mismatch
  double evaluated = 0.9;
};

//! Means for each draft length up to 64; longer drafts share the last entry.
struct mismatch_history {
  static constexpr double weight = 0.05;  //!< weight of the newest round
  std::array<mismatch_means, 64> by_length{};

  [[nodiscard]] SPECVERIFY_INLINE constexpr const mismatch_means& of(std::uint32_t draft_length) const noexcept {
    return by_length[draft_length == 0 ? 0 : draft_length > by_length.size() ? by_length.size() - 1 : draft_length - 1];
  }
  //! Records a round with M = `mismatches`. `evaluated` <= M is the number of mismatches up to and including the first
  //! rejected mismatch.
  SPECVERIFY_INLINE constexpr void record(std::uint32_t draft_length, std::uint32_t mismatches,
                                          std::uint32_t evaluated) noexcept {
    mismatch_means& means = by_length[draft_length == 0                 ? 0
                                      : draft_length > by_length.size() ? by_length.size() - 1
                                                                        : draft_length - 1];
    means.mismatches += numeric::product(weight, mismatches - means.mismatches);
    means.any += numeric::product(weight, (mismatches > 0 ? 1.0 : 0.0) - means.any);
    means.evaluated += numeric::product(weight, evaluated - means.evaluated);
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! The rule of the paper's testbed: chooses by the round trip only, which is measured before a session is opened.
struct round_trip_rule {
  double threshold = 10e-3;  //!< s

  [[nodiscard]] constexpr hidden_protocol choose(double round_trip) const noexcept {
    return round_trip > threshold ? hidden_protocol::full : hidden_protocol::selective;
  }
};

//! Models the expected time that a round spends on hidden vectors.
struct protocol_model {
  wisv_format format{};
  bit_accounting accounting = bit_accounting::wire;
  bool allow_lazy = false;

  //! Returns E[B_req | M > 0], in bits, for a request of E[M] / P(M > 0) mismatches.
  [[nodiscard]] constexpr double request_bits(std::uint32_t draft_length, const mismatch_means& means) const noexcept {
    const double place = ceil_log2(std::uint64_t{draft_length} + 1);
    const double list = numeric::product(means.any > 0 ? means.mismatches / means.any : 0, place);
    const double shortest = list + place < draft_length ? list + place : draft_length;
    return (accounting == bit_accounting::paper ? list : shortest) + format.downlink_overhead;
  }
  //! Returns the expected seconds that a round needs in addition to sending ids. FH: L B_h / R_u. SH: E[M] B_h / R_u +
  //! P(M>0) (tau + O_u / R_u + E[B_req] / R_d). Lazy: a request, a response and a round trip per evaluated mismatch.
  [[nodiscard]] constexpr double extra_time(hidden_protocol protocol, std::uint32_t draft_length,
                                            const channel_state& link, const mismatch_means& means) const noexcept {
    const double vector = uplink_time(static_cast<double>(wisv_hidden_bits(format)), link);
    switch (protocol) {
      case hidden_protocol::full:
        return draft_length * vector;
      case hidden_protocol::selective: {
        const double exchange = exchange_time(format.uplink_overhead, request_bits(draft_length, means), link);
        return numeric::product(means.mismatches, vector) + numeric::product(means.any, exchange);
      }
      case hidden_protocol::lazy:
        break;
    }
    const double one = request_bits(draft_length, {1, 1, 1});
    return means.evaluated * (vector + exchange_time(format.uplink_overhead, one, link));
  }
  //! Returns the protocol with the least `extra_time`, and FH if FH and SH tie. Returns `lazy` only if `allow_lazy` is
  //! set.
  [[nodiscard]] constexpr hidden_protocol choose(std::uint32_t draft_length, const channel_state& link,
                                                 const mismatch_means& means) const noexcept {
    const double full = extra_time(hidden_protocol::full, draft_length, link, means);
    const double selective = extra_time(hidden_protocol::selective, draft_length, link, means);
    const double lazy = extra_time(hidden_protocol::lazy, draft_length, link, means);
    if (allow_lazy && lazy < full && lazy < selective) return hidden_protocol::lazy;
    return full <= selective ? hidden_protocol::full : hidden_protocol::selective;
  }
};

//! Checks a model. Errors (`where` = index of the field; the fields of the format come first, so the accounting is 6):
//! as for check(wisv_format), invalid_argument.
[[nodiscard]] constexpr status check(const protocol_model& model) noexcept {
  if (const status why = check(model.format); !why.ok()) return {why.code, part::policy, why.where};
  return model.accounting <= bit_accounting::wire ? status{} : status{errc::invalid_argument, part::policy, 6};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
