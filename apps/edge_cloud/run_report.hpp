// SPDX-License-Identifier: Apache-2.0
//! Holds the results and cost of one run of one system. The edge writes them as JSON; the table and the plot read them.
#ifndef EDGE_CLOUD_RUN_REPORT_HPP
#define EDGE_CLOUD_RUN_REPORT_HPP

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace edge_cloud {

struct run_report {
  std::string system;                //!< system with its settings, as the user gave it (systems.hpp)
  std::vector<std::int32_t> tokens;  //!< tokens after the prompt
  std::string text;
  std::vector<double> arrival;  //!< seconds from the first message to each token's commit
  std::uint64_t rounds = 0;     //!< number of verdicts, or of tokens if the target streams
  std::uint64_t drafted = 0;
  //! drafts that the cloud tested: in each round, the accepted drafts and the first rejected draft
  std::uint64_t evaluated = 0;
  std::uint64_t accepted = 0;
  std::uint64_t resolution_sum = 0;  //!< sum of the resolutions of all drafts' distributions; 0 if no lattice is used
  //! sum over drafts of the support size; 0 without a support
  std::uint64_t support_sum = 0;
  std::uint64_t bytes_up = 0;  //!< all bytes that the edge sent, including length prefixes
  std::uint64_t bytes_down = 0;
  std::uint64_t edge_passes = 0;   //!< forward passes of the drafter, one token each
  std::uint64_t cloud_passes = 0;  //!< forward passes of the target, any number of positions each
  double edge_compute = 0;         //!< seconds that the drafter's passes took
  double cloud_compute = 0;
  std::uint64_t residual_tokens = 0;    //!< tokens that replaced a rejected draft
  std::uint64_t skipped = 0;            //!< tokens that the edge committed without the cloud
  std::uint64_t skipped_uncertain = 0;  //!< skipped tokens that were uncertain but unimportant
  //! tokens drafted while the link was lost, and verified later
  std::uint64_t written_ahead = 0;
  std::uint64_t mismatches = 0;           //!< drafts that the decision head scored
  std::uint64_t accepted_mismatches = 0;  //!< scored drafts that were accepted
  std::uint64_t draft_bytes = 0;          //!< bytes of draft messages, without framing
  std::uint64_t supply_bytes = 0;         //!< bytes of supply messages, which carry hidden states after their draft
  std::uint64_t texts = 0;                //!< texts in this report
  //! texts whose hidden states were sent with the drafts
  std::uint64_t texts_with_states = 0;
  std::uint64_t resumes = 0;  //!< restarts of either side during the run
  //! per round of a system with a decision head: drafts, mismatches, and mismatches up to the first rejected mismatch
  std::vector<std::array<std::uint32_t, 3>> scored_rounds;

  //! Adds the report of the next text that the same system generated.
  void add(const run_report& later) {
    const double offset = seconds();
    tokens.insert(tokens.end(), later.tokens.begin(), later.tokens.end());
    text += later.text;
    for (const double moment : later.arrival) arrival.push_back(offset + moment);
    rounds += later.rounds;
    drafted += later.drafted;
    evaluated += later.evaluated;
    accepted += later.accepted;
    resolution_sum += later.resolution_sum;
    support_sum += later.support_sum;
    bytes_up += later.bytes_up;
    bytes_down += later.bytes_down;
    edge_passes += later.edge_passes;
    cloud_passes += later.cloud_passes;
    edge_compute += later.edge_compute;
    cloud_compute += later.cloud_compute;
    residual_tokens += later.residual_tokens;
    skipped += later.skipped;
    skipped_uncertain += later.skipped_uncertain;
    written_ahead += later.written_ahead;
    mismatches += later.mismatches;
    accepted_mismatches += later.accepted_mismatches;
    draft_bytes += later.draft_bytes;
    supply_bytes += later.supply_bytes;
    texts += later.texts;
    texts_with_states += later.texts_with_states;
    resumes += later.resumes;
    scored_rounds.insert(scored_rounds.end(), later.scored_rounds.begin(), later.scored_rounds.end());
  }

  [[nodiscard]] double seconds() const { return arrival.empty() ? 0 : arrival.back(); }
  [[nodiscard]] double tokens_per_second() const {
    return seconds() > 0 ? static_cast<double>(tokens.size()) / seconds() : 0;
  }
  [[nodiscard]] double tokens_per_round() const { return ratio(tokens.size(), rounds); }
  [[nodiscard]] double drafts_per_round() const { return ratio(drafted, rounds); }
  [[nodiscard]] double mean_resolution() const { return ratio(resolution_sum, drafted); }
  [[nodiscard]] double mean_support() const { return ratio(support_sum, drafted); }
  [[nodiscard]] double acceptance() const { return ratio(accepted, evaluated); }
  [[nodiscard]] double skipped_share() const { return ratio(skipped, tokens.size()); }
  [[nodiscard]] double unimportant_share() const { return ratio(skipped_uncertain, tokens.size()); }
  [[nodiscard]] double share_with_states() const { return ratio(texts_with_states, texts); }
  [[nodiscard]] double accepted_mismatch_share() const { return ratio(accepted_mismatches, mismatches); }
  [[nodiscard]] double uplink_bits_per_token() const { return 8 * ratio(bytes_up, tokens.size()); }

  //! Returns the tokens per second with other models: replaces the measured times of forward passes by fixed times per
  //! pass.
  [[nodiscard]] double modelled_tokens_per_second(double edge_pass_seconds, double cloud_pass_seconds) const {
    const double modelled = seconds() - edge_compute - cloud_compute +
                            static_cast<double>(edge_passes) * edge_pass_seconds +
                            static_cast<double>(cloud_passes) * cloud_pass_seconds;
    return modelled > 0 ? static_cast<double>(tokens.size()) / modelled : 0;
  }

 private:
  template <class A, class B>
  static double ratio(A a, B b) {
    return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
  }
};

//! Writes the report as JSON.
void save(const run_report& report, const std::filesystem::path& file);
[[nodiscard]] run_report load_report(const std::filesystem::path& file);

}  // namespace edge_cloud

#endif
