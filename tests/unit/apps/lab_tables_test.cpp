// SPDX-License-Identifier: Apache-2.0
// The parts of the lab that need no model: the published tables recomputed, and speed over a link.
#include "lab/tables.hpp"

#include "lab/page.hpp"

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

namespace {

//! A figure of QS with one answer and one comparison, as a run would leave it.
std::vector<reported_paper> one_figure(const std::string& ours) {
  std::vector<reported_paper> papers;
  papers.push_back({{"qs", "Quantize-Sample-and-Verify", "2507.00605", {{"qs_speed", "Speed", nullptr, 1, 1}}}, {}});
  figure& f = papers[0].figures.emplace_back();
  f.name = "qs_speed";
  f.answer("qs.speed_target", estimate{0.3, 0.2, 0.45}, ours, "another pair");
  f.compare("static", "-", "level | here", "no reason");
  papers[0].about.not_run = {{"qs.semantic_state", "prose only"}};
  return papers;
}

std::filesystem::path empty_page() {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "specverify_lab_page.md";
  std::ofstream out(file);
  for (const char* part : {"coverage", "comparisons", "figures"})
    out << "text\n<!-- printed: " << part << " -->\n<!-- end -->\n";
  return file;
}

double contrast(const char* colour, const char* ground) {
  const auto luminance = [](const char* hex) {
    const unsigned long bits = std::strtoul(hex + 1, nullptr, 16);
    const auto part = [&](unsigned shift) {
      const double c = static_cast<double>(bits >> shift & 255) / 255;
      return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0) + 0.05;
  };
  const double a = luminance(colour), b = luminance(ground);
  return std::max(a, b) / std::min(a, b);
}

}  // namespace

TEST_CASE("lab: every claim has a place of its own, a header that exists, and a number only as an interval") {
  CHECK(std::size(claims) == 99);
  for (const claim& c : claims) {
    CAPTURE(c.id);
    CHECK(std::count_if(std::begin(claims), std::end(claims), [&](const claim& o) { return o.id == c.id; }) == 1);
    CHECK(std::filesystem::exists("include/specverify/" + std::string(c.header) + ".hpp"));
    CHECK(std::isnan(c.low) == std::isnan(c.high));
    CHECK_FALSE(c.low > c.high);
  }
}

TEST_CASE("lab: a verdict by the interval and the printed values") {
  CHECK(compared({0.45, 0.39, 0.5}, 0.4, 0.5) == finding::met);
  CHECK(compared({0.3, 0.2, 0.39}, 0.4, 0.5) == finding::in_sign);
  CHECK(compared({0.3, 0.0, 0.39}, 0.4, 0.5) == finding::not_met);
  CHECK(compared({-0.3, -0.4, -0.2}, 0.4, 0.5) == finding::not_met);
  CHECK(compared({-0.3, -0.4, -0.2}, -0.6, -0.5) == finding::in_sign);
  CHECK(compared({0.3, 0.2, 0.4}, 0, 0) == finding::not_met);
}

TEST_CASE("lab: the page has what a run printed, and tells a run that prints something else") {
  const std::filesystem::path file = empty_page();
  const page_facts facts{"abc", "AVX2", "0123", 7};
  auto papers = one_figure("+30 % [20, 45]");
  CHECK(page_differences(papers, facts, file).size() == 4);  // the run, the answer, the comparison, what is not run
  write_page(papers, facts, file, file.parent_path());
  const std::string page = detail::read_text(file);
  CHECK(page.find("99 claims: 1 met, 0 in sign, 0 not met, 0 shown false, 98 not run.") != std::string::npos);
  CHECK(page.find(
            "| dynamic Q-S over the target alone (350 kbit/s) | +40 to 50 % | +30 % [20, 45] | met | another pair | "
            "`qs_speed` | [policy/dqn](../include/specverify/policy/dqn.hpp) |") != std::string::npos);
  CHECK(page.find("| `qs_speed` | static | - | level \\| here | no reason |") != std::string::npos);
  CHECK(page_differences(papers, facts, file).empty());
  write_page(papers, facts, file, file.parent_path());
  CHECK(detail::read_text(file) == page);

  auto moved = one_figure("+31 % [21, 46]");
  CHECK(page_differences(moved, facts, file).size() == 1);
  const page_facts elsewhere{"abc", "AArch64", "4567", 7};
  CHECK(page_differences(moved, elsewhere, file).empty());
  CHECK(page_differences(one_figure("+46 % [21, 50]"), elsewhere, file).size() == 1);

  papers[0].figures[0].answers.clear();  // a run of another figure keeps the row
  papers[0].figures.clear();
  write_page(papers, facts, file, file.parent_path());
  CHECK(detail::read_text(file) == page);
  CHECK(unanswered(papers).size() == 98);
  moved[0].figures[0].answer("qs.speed_target", finding::met, "twice", "twice");
  CHECK_THROWS_AS(write_page(moved, facts, file, file.parent_path()), std::logic_error);
  std::ofstream(file) << "a page without parts\n";
  CHECK_THROWS_AS(write_page(papers, facts, file, file.parent_path()), std::runtime_error);
  std::filesystem::remove(file);
}

TEST_CASE("lab: one system has one colour, which is seen on white and on black") {
  for (const char* colour : detail::palette) {
    CAPTURE(colour);
    CHECK(contrast(colour, "#ffffff") >= 3);
    CHECK(contrast(colour, "#0d1117") >= 3);
  }
  CHECK(contrast(detail::grey, "#ffffff") >= 3);
  CHECK(contrast(detail::grey, "#0d1117") >= 3);
  figure a, b;
  for (const char* label : {"HLM", "U-HLM", "CU-HLM online", "LLM alone", "ours", "theirs"})
    a.add_panel("", "", "").add(label);
  b.add_panel("", "", "").add("something else");
  b.add_panel("", "", "").add("U-HLM");
  const detail::figure_colours of_a(a), of_b(b);
  CHECK(of_a.of("U-HLM") == of_b.of("U-HLM"));
  CHECK(of_b.of("something else") != of_b.of("U-HLM"));
  CHECK(of_a.is_grey("LLM alone"));
  CHECK(of_a.of("ours") != of_a.of("theirs"));
  CHECK(detail::axis_range(0.2, 0.99, "share of tokens", false) == "[0.1605:1]");
  CHECK(detail::axis_range(12, 98, "% of problems", true) == "[0:100]");
  CHECK(detail::axis_range(-5, 98, "% of problems", true) == "[-10.15:100]");
}
