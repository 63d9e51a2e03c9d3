// SPDX-License-Identifier: Apache-2.0
//! Prints which method is fastest on each link: a system with a certain number of drafts per round, or streaming from
//! the cloud.
#ifndef SPECVERIFY_APPS_ROWS_SPLIT_CHART_HPP
#define SPECVERIFY_APPS_ROWS_SPLIT_CHART_HPP

#include <specverify/policy/split_plan.hpp>

#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>

namespace recorded {

namespace sv = specverify;

//! Measurements of a system that the chart uses.
struct uplink_cost {
  char letter;  // letter of the system in the chart
  double acceptance, bits_per_draft;
};

//! Prints the fastest lossless method for each uplink rate and round trip: a system with L drafts per round, or
//! streaming.
inline void print_chart(double draft_ms, double verify_ms, std::span<const uplink_cost> costs) {
  constexpr double kilobits[] = {1, 3, 10, 30, 100, 300, 1000, 10000}, round_trips[] = {5, 20, 50, 100, 200, 500};
  std::printf(
      "\nTokens per second if a draft takes %g ms and a pass of the target %g ms. S4: shared noise with a\n"
      "table, 4 drafts; K4: K-SQS, 4 drafts; stream: the cloud alone, without drafts.\n\n%-14s",
      draft_ms, verify_ms, "uplink, kbit/s");
  for (const double trip : round_trips) std::printf(" %9g ms", trip);
  std::printf("\n");
  for (const double rate : kilobits) {
    std::printf("%-14g", rate);
    for (const double trip : round_trips) {
      sv::split_plan best;
      char letter = ' ';
      for (const uplink_cost& cost : costs) {
        sv::split_model model;
        model.times = {draft_ms / 1000, verify_ms / 1000};
        model.link.uplink_rate = 1000 * rate;
        model.link.round_trip = trip / 1000;
        model.acceptance = cost.acceptance;
        model.bits_per_draft = cost.bits_per_draft;
        if (!sv::check(model).ok()) throw std::invalid_argument("no chart for these times");
        const sv::split_plan plan = sv::plan_split(model);
        if (plan.tokens_per_second <= best.tokens_per_second) continue;
        best = plan;
        letter = cost.letter;
      }
      std::string way = "stream";
      if (!best.streams()) way = letter + std::to_string(best.draft_length);
      std::printf(" %6s %5.1f", way.c_str(), best.tokens_per_second);
    }
    std::printf("\n");
  }
}

}  // namespace recorded

#endif
