// SPDX-License-Identifier: Apache-2.0
//! Computes the times and bits of semantic rounds on a link.
#ifndef SPECVERIFY_APPS_LAB_WISV_COSTS_HPP
#define SPECVERIFY_APPS_LAB_WISV_COSTS_HPP

#include <specverify/link/latency.hpp>

#include "wisv_rounds.hpp"

namespace lab {

//! Parts of a round's latency that do not depend on the link. WISV's simulation, fitted to Table I of the paper, is
//! linear in the window.
struct semantic_costs {
  //! format of the paper's pair: 2048 numbers of 16 bits, 128256 tokens
  specverify::wisv_format format{};
  double token_time = specverify::fitted_times{}.per_token;  //!< seconds to draft and verify one token
  specverify::compute_engine server{149.7e12, 0.4};          //!< for the head: an A40 in half precision
  std::uint32_t head_input = 2048 + 4096 + 5, head_width = 256;

  [[nodiscard]] double head_seconds(std::uint32_t scored) const {
    return specverify::head_time(scored, head_input, head_width, server);
  }
  //! Seconds of the target alone for one token: operations and weights that are read once a token, on the server's
  //! 696 GB/s. Verification has no fixed time in the line of Table I, so this is not the paper's model.
  double alone_time =
      specverify::compute_time(specverify::token_flops(specverify::llama_3_1_8b, 150), {149.7e12, 0.4, 696e9, 0},
                               specverify::weight_bytes(specverify::llama_3_1_8b));
  double claim_bits = 0;  //!< bits that a device sends with each draft for a scorer, apart from the id

  //! Returns the time of a text of `tokens` that the server writes alone and sends down token by token.
  [[nodiscard]] double alone(double tokens, const specverify::channel_state& link) const {
    return tokens * alone_time + specverify::exchange_time(0, tokens * specverify::ceil_log2(format.vocab_size), link);
  }
  [[nodiscard]] double greedy(const semantic_round& r, const specverify::channel_state& link) const {
    return specverify::wisv_round_time(r.drafted * token_time,
                                       specverify::greedy_exchange_time(format, r.drafted, link) +
                                           specverify::uplink_time(r.drafted * claim_bits, link),
                                       0);
  }
  [[nodiscard]] double reject(const semantic_round& r, const specverify::channel_state& link) const {
    return specverify::wisv_round_time(r.drafted * token_time,
                                       specverify::reject_exchange_time(format, r.drafted, link), 0);
  }
  //! `r` must come from SH, because it must contain M.
  [[nodiscard]] double semantic(specverify::hidden_protocol protocol, const semantic_round& r,
                                const specverify::channel_state& link) const {
    double exchange = 0;
    if (protocol == specverify::hidden_protocol::full) {
      exchange = specverify::wisv_full_exchange_time(format, r.drafted, link);
    } else if (protocol == specverify::hidden_protocol::selective) {
      exchange = specverify::wisv_selective_exchange_time(format, r.drafted, r.mismatches, link);
    } else {
      exchange = specverify::greedy_exchange_time(format, r.drafted, link);
      const double one = specverify::wisv_selective_exchange_time(format, r.drafted, 1, link) - exchange;
      exchange += r.scored * one;
    }
    return specverify::wisv_round_time(r.drafted * token_time, exchange, 0, head_seconds(r.scored));
  }
  //! Return the seconds of a whole text.
  [[nodiscard]] double greedy(std::span<const semantic_round> rounds, const specverify::channel_state& link) const {
    double sum = 0;
    for (const semantic_round& r : rounds) sum += greedy(r, link);
    return sum;
  }
  [[nodiscard]] double semantic(specverify::hidden_protocol protocol, std::span<const semantic_round> rounds,
                                const specverify::channel_state& link) const {
    double sum = 0;
    for (const semantic_round& r : rounds) sum += semantic(protocol, r, link);
    return sum;
  }
};

//! Returns the number of tokens that rounds committed.
[[nodiscard]] inline double emitted_of(std::span<const semantic_round> rounds) {
  double sum = 0;
  for (const semantic_round& r : rounds) sum += r.emitted;
  return sum;
}

}  // namespace lab

#endif
