// SPDX-License-Identifier: Apache-2.0
// The parts of the lab that need no model: the published tables recomputed, and speed over a link.
#include "lab/tables.hpp"

#include <doctest/doctest.h>

using namespace lab;

namespace {
bool near(double value, double expected, double relative) {
  return std::fabs(value - expected) <= relative * std::fabs(expected);
}
}  // namespace

TEST_CASE("lab: Table I and Table II hold their checks and are complete") {
  figure wisv, hlm;
  show_wisv_table(wisv);
  show_hlm_table(hlm);
  CHECK(wisv.holds());
  CHECK(wisv.checks.size() == 3);
  REQUIRE(wisv.tables.size() == 1);
  CHECK(wisv.tables[0].rows.size() == 30);
  for (const auto& row : wisv.tables[0].rows) CHECK(row.size() == wisv.tables[0].columns.size());
  CHECK(wisv.tables[0].rows[0] == std::vector<std::string>{"10", "greedy", "500", "7.616", "7.608", "-0.11 %", "", ""});
  CHECK(wisv.tables[0].rows[29][5] == "-5.16 %");
  CHECK(hlm.holds());
  REQUIRE(hlm.tables.size() == 1);
  CHECK(hlm.tables[0].rows.size() == 6);
  for (const auto& row : hlm.tables[0].rows) CHECK(row.size() == hlm.tables[0].columns.size());
}

TEST_CASE("lab: speed over SNR without fading is the formula") {
  speed_options options;
  options.fading = fading_kind::none;
  options.answers = 3;
  const std::vector<speed_point> points = speed_over_snr({"HLM", 1, {736000}}, options);
  REQUIRE(points.size() == options.decibels.size());
  CHECK(points.back().decibel == 10);
  for (const double value : {points.back().ratio_of_sums, points.back().mean_of_rounds, points.back().low,
                             points.back().median, points.back().high}) {
    CHECK(near(value, 6.6017, 1e-5));
  }
  const std::vector<speed_point> alone = speed_over_snr({"SLM", 0, {736000}}, options);
  CHECK(near(alone.front().median, 1 / 25.6e-3, 1e-9));
  // Payloads are taken in turn.
  const std::vector<speed_point> two = speed_over_snr({"two sizes", 1, {0, 736000}}, options);
  CHECK(near(two.back().ratio_of_sums, 1 / (0.1302 + 21.2752e-3 / 2), 1e-5));
  // So are measured decisions: one round of four uploads.
  const std::vector<speed_point> measured = speed_over_snr({"one of four", 0, {736000}, {0, 1, 0, 0}}, options);
  CHECK(near(measured.back().ratio_of_sums, 1 / (25.6e-3 + (104.6e-3 + 21.2752e-3) / 4), 1e-5));
  CHECK(speed_over_snr({"nothing to send", 1, {}}, options).empty());
  options.link.bandwidth = -1;
  CHECK(speed_over_snr({"HLM", 1, {736000}}, options).empty());
}

TEST_CASE("lab: speed over SNR under fading: the same draws for all, quantiles in order") {
  speed_options options;
  options.answers = 40;
  for (const fading_kind kind : {fading_kind::rayleigh, fading_kind::rician}) {
    options.fading = kind;
    const std::vector<speed_point> full = speed_over_snr({"HLM", 1, {736000}}, options);
    const std::vector<speed_point> gated = speed_over_snr({"U-HLM", 0.252, {736000}}, options);
    const std::vector<speed_point> compressed = speed_over_snr({"CU-HLM", 0.252, {690}}, options);
    for (std::size_t i = 0; i < full.size(); ++i) {
      CHECK((full[i].low <= full[i].median && full[i].median <= full[i].high));
      CHECK(full[i].ratio_of_sums <= full[i].mean_of_rounds);
      CHECK(full[i].ratio_of_sums < gated[i].ratio_of_sums);
      CHECK(gated[i].ratio_of_sums < compressed[i].ratio_of_sums);
      if (i > 0) CHECK(full[i - 1].ratio_of_sums < full[i].ratio_of_sums);
    }
    CHECK(full == speed_over_snr({"HLM", 1, {736000}}, options));
  }
}

TEST_CASE("lab: the link figure holds its checks, with a line for each system on both links") {
  figure f;
  show_hlm_links(f);
  CHECK(f.holds());
  REQUIRE(f.panels.size() == 2);
  for (const panel& p : f.panels) {
    CHECK(p.curves.size() == 7);
    for (const curve& c : p.curves) CHECK(c.x.size() == 7);
  }
  CHECK(f.tables.size() == 2);
}
