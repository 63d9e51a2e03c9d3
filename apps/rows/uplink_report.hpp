// SPDX-License-Identifier: Apache-2.0
//! Prints where the bits of an uplink go, how many drafts are accepted, and which method is fastest on which link.
#ifndef SPECVERIFY_APPS_ROWS_UPLINK_REPORT_HPP
#define SPECVERIFY_APPS_ROWS_UPLINK_REPORT_HPP

#include "split_chart.hpp"
#include "uplink.hpp"

#include <cmath>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace recorded {

[[nodiscard]] inline bool shares_noise(const uplink_method& one) {
  return std::string_view(one.system) == "shared-noise";
}
[[nodiscard]] inline bool sends_distributions(const uplink_method& one) {
  return std::string_view(one.system) == "k-sqs";
}
[[nodiscard]] inline bool has_plain_ids(const uplink_method& one) { return !one.coded() && !sends_distributions(one); }

//! A goal of shared noise.
struct uplink_goal {
  sv::id_code ids;
  std::uint32_t draft_length;
  double bits_per_draft, bits_per_token;  // 0: no goal
};

//! Prints the bits of a method, and returns whether they meet the goals. The header of a draft message has 4 bits for
//! the kind, 8 for the check, and the number of drafts. Over datagrams (delivery/) it has 5 bytes more.
inline bool print_bits(const uplink_method& one, std::uint32_t draft_length, const measured& made,
                       std::span<const uplink_goal> goals) {
  const sv::session_statistics& edge = made.edge;
  const auto drafted = static_cast<double>(edge.drafted), emitted = static_cast<double>(edge.emitted),
             rounds = static_cast<double>(edge.rounds);
  const double bits = 8 * static_cast<double>(edge.draft_bytes),
               again = 8 * static_cast<double>(made.sent_bytes) - bits;
  const double lengths = draft_length + 1;  // a range code takes no whole number of bits for the number of drafts
  const double header = rounds * (12 + (has_plain_ids(one) ? std::ceil(std::log2(lengths)) : std::log2(lengths)));
  const double ids =
      sends_distributions(one) ? bits - header : 8 * static_cast<double>(sv::range_encoder(made.ids).finish());
  std::printf("%-12s %2u %8.2f %8.2f %8.2f", one.label, draft_length, bits / drafted, ids / drafted, header / drafted);
  if (sends_distributions(one)) {
    std::printf(" %8s", "-");
  } else {
    std::printf(" %8.2f", (bits - header - ids) / drafted);
  }
  std::printf(" %8.2f %10.2f %8.2f %8.2f", again / drafted, (header + 40 * rounds) / drafted, bits / emitted,
              8 * static_cast<double>(edge.bytes_down) / emitted);
  bool good = true;
  for (const uplink_goal& its : goals) {
    if (!shares_noise(one) || one.ids != its.ids || draft_length != its.draft_length) continue;
    std::printf("  %.1f", its.bits_per_draft);
    good = good && bits / drafted <= its.bits_per_draft;
    if (its.bits_per_token == 0) continue;
    std::printf(", %.1f", its.bits_per_token);
    good = good && bits / emitted <= its.bits_per_token;
  }
  std::printf("%s\n", good ? "" : "  MISSED");
  return good;
}

//! Prints the acceptance of a method, and returns whether shared noise accepts as many drafts as its formula predicts.
inline bool print_acceptance(const uplink_method& one, std::uint32_t draft_length, const measured& made) {
  const auto evaluated = static_cast<double>(made.edge.evaluated), accepted = static_cast<double>(made.edge.accepted);
  const double share = accepted / made.sum.best;
  std::printf("%-12s %2u %8.2f %8.3f %8.3f", one.label, draft_length,
              static_cast<double>(made.edge.emitted) / static_cast<double>(made.edge.rounds), accepted / evaluated,
              share);
  bool good = true;
  if (shares_noise(one)) {
    const double apart = (accepted - made.sum.shared_noise) / std::sqrt(made.variance);
    std::printf(" %8.3f %+8.1f", made.sum.shared_noise / evaluated, apart);
    good = std::abs(apart) <= 3 && share >= 0.91;
  }
  std::printf("%s\n", good ? "" : "  MISSED");
  return good;
}

struct uplink_report {
  bool good = true;                  //!< all goals are met
  std::vector<round_time> rounds{};  //!< rounds of shared noise with a table and 4 drafts
};

//! The texts of a method with one draft length.
struct uplink_result {
  const uplink_method* method;
  std::uint32_t draft_length;
  measured made;
};

[[nodiscard]] inline uplink_cost cost_of(const uplink_method& one, const sv::session_statistics& edge) {
  const double drafted = static_cast<double>(edge.drafted), head = 16 * static_cast<double>(edge.rounds);
  return {one.coded() ? 'S' : 'K', static_cast<double>(edge.accepted) / static_cast<double>(edge.evaluated),
          (8 * static_cast<double>(edge.draft_bytes) - head) / drafted};
}

//! Writes the texts of all methods, and prints the tables and the chart.
template <class Engine>
[[nodiscard]] uplink_report print_report(const uplink_arguments& given, const experiment<Engine>& pair,
                                         std::span<const uplink_goal> goals) {
  std::printf("%-12s %2s %8s %-35s %10s  %s\n", "", "", "bits per", "draft:", "header of", "bits per token:");
  std::printf("%-12s %2s %8s %8s %8s %8s %8s %10s %8s %8s  %s\n", "system", "L", "all", "id", "header", "rounding",
              "retries", "datagrams", "up", "down", "goals");
  uplink_report report;
  std::vector<uplink_result> results;
  for (const uplink_method& one : uplink_methods) {
    for (const std::uint32_t draft_length : {4u, 8u}) {
      results.push_back({&one, draft_length, pair.run(one, draft_length)});
      report.good = print_bits(one, draft_length, results.back().made, goals) && report.good;
      std::fflush(stdout);
    }
  }
  std::printf("\n%-12s %2s %8s %8s %8s\n", "", "", "tokens/", "accept-", "of");
  std::printf("%-12s %2s %8s %8s %8s %8s %8s\n", "system", "L", "round", "ance", "1 - TV", "formula", "s.e.");
  std::vector<uplink_cost> costs;
  for (uplink_result& of : results) {
    const uplink_method& one = *of.method;
    report.good = print_acceptance(one, of.draft_length, of.made) && report.good;
    const bool is_best = shares_noise(one) && one.ids == sv::id_code::prior;
    // the chart omits greedy, because its text differs
    if (of.draft_length == 8 && (sends_distributions(one) || is_best)) costs.push_back(cost_of(one, of.made.edge));
    if (of.draft_length == 4 && is_best) report.rounds = std::move(of.made.rounds);
  }
  print_chart(given.draft_ms, given.verify_ms, costs);
  return report;
}

}  // namespace recorded

#endif
