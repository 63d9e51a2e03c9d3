// SPDX-License-Identifier: Apache-2.0
//! Scores the mismatches of a round for WISV with a trained decision head.
#ifndef EDGE_CLOUD_MISMATCH_SCORER_HPP
#define EDGE_CLOUD_MISMATCH_SCORER_HPP

#include <specverify/decision_head/mlp.hpp>
#include <specverify/decision_head/weights.hpp>
#include <specverify/session/cloud.hpp>

#include "engine.hpp"
#include "trained_files.hpp"

#include <vector>

namespace edge_cloud {

//! Scores mismatches from the hidden states that the edge sent and the hidden states of the target's last pass.
class mismatch_scorer {
 public:
  //! Only the edge can check the size of the drafter's states, because it has the drafter.
  mismatch_scorer(specverify::decision_head head, std::uint32_t target_size) : head_(std::move(head)) {
    require_state_size("target", head_.view().shape.target_size, target_size);
  }

  [[nodiscard]] std::uint32_t hidden_size() const { return head_.view().shape.drafter_size; }

  //! Scores the mismatches of a `score` output in ascending order of position. Errors: the errors of the decision head,
  //! of the hidden states and of the channel report.
  [[nodiscard]] specverify::status score(const specverify::session_output& asked,
                                         const specverify::channel_report& channel, const engine& target,
                                         std::vector<double>& scores) const {
    const specverify::head_weights head = head_.view();
    const auto features = specverify::channel_features(channel);
    if (!features) return features.error();
    const specverify::channel_vector c = specverify::standardise(*features, head.channel);
    scores.assign(asked.rows, 0.0);
    std::vector<float> state(head.shape.drafter_size);
    const std::size_t each = asked.rows > 0 ? asked.bytes.size() / asked.rows : 0;
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; found < asked.rows; ++i) {
      if ((asked.positions[i / 64] >> (i % 64) & 1u) == 0) continue;
      const auto vector = asked.bytes.subspan(found * each, each);
      if (const auto read = specverify::decode_hidden(vector, specverify::hidden_format::float16, state); !read)
        return read.error();
      const auto given = specverify::drafter_input::hidden_state;
      const auto rho = specverify::head_score(head, given, state, target.hidden(i), c);
      if (!rho) return rho.error();
      scores[found++] = *rho;
    }
    return {};
  }

 private:
  specverify::decision_head head_;
};

}  // namespace edge_cloud

#endif
