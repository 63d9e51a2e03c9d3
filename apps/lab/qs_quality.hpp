// SPDX-License-Identifier: Apache-2.0
//! Generates the texts of QS's quality figure with every method, and counts solved problems, entropy, the distance to
//! the target's distribution, and the rank of each token.
#ifndef SPECVERIFY_APPS_LAB_QS_QUALITY_HPP
#define SPECVERIFY_APPS_LAB_QS_QUALITY_HPP

#include <specverify/link/channel.hpp>
#include <specverify/policy/dqn.hpp>

#include "lab_context.hpp"
#include "ranks.hpp"

#include <array>

namespace lab {

//! One of the methods that generate a text in the quality figure.
struct qs_writer {
  const char* label;
  enum class kind : std::uint8_t { target, drafter, sample_quantize, fixed, heuristic, network } how;
  std::uint32_t resolution = 240;

  //! Q-S, written by the two sessions.
  [[nodiscard]] bool in_session() const { return how >= kind::fixed; }
  [[nodiscard]] bool dynamic() const { return how > kind::fixed; }
  [[nodiscard]] bool samples_first() const { return how == kind::sample_quantize; }
};
using qs_kind = qs_writer::kind;
inline constexpr std::array<qs_writer, 8> qs_writers{{{"target alone", qs_kind::target},
                                                      {"drafter", qs_kind::drafter},
                                                      {"S-Q, l = 12", qs_kind::sample_quantize, 12},
                                                      {"S-Q, l = 240", qs_kind::sample_quantize, 240},
                                                      {"Q-S, l = 12", qs_kind::fixed, 12},
                                                      {"Q-S, l = 240", qs_kind::fixed, 240},
                                                      {"Q-S, heuristic", qs_kind::heuristic},
                                                      {"Q-S, DQN", qs_kind::network}}};

//! Results of one writer at one temperature.
struct qs_quality_cell {
  std::vector<double> right;  //!< by problem
  double distance = 0, entropy = 0, tokens = 0;
  place_counts own, in_target;
};
using qs_quality_cells = std::vector<std::vector<qs_quality_cell>>;  //!< by temperature and writer

//! What all texts of a measurement share.
struct qs_quality_run {
  lab_context& context;
  std::string purpose;                     //!< of the seed of all draws
  const specverify::dqn_weights& network;  //!< plans of the writer "DQN"
  specverify::markov_channel link;         //!< link of the dynamic writers
};

//! Writes every problem with all writers of `chosen` (places in `qs_writers`) at all temperatures. Cells of other
//! writers stay empty.
[[nodiscard]] qs_quality_cells measure_quality(const qs_quality_run& run, const std::vector<lab_problem>& problems,
                                               std::span<const double> temperatures,
                                               std::span<const std::size_t> chosen);

}  // namespace lab

#endif
