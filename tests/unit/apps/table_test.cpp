// SPDX-License-Identifier: Apache-2.0
//! The warning under the table of the demo, and the axes of its plot.
#include "edge_cloud/plot.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace edge_cloud;

namespace {

run_report of_passes(double edge_seconds, double cloud_seconds) {
  run_report report;
  report.system = "ksqs";
  report.edge_passes = report.cloud_passes = 10;
  report.edge_compute = 10 * edge_seconds;
  report.cloud_compute = 10 * cloud_seconds;
  return report;
}

std::string footnote(const run_report& report, std::string_view pace) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  print_footnote(file, std::span(&report, 1), pace);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

bool warns(double edge_seconds, double cloud_seconds, std::string_view pace) {
  return footnote(of_passes(edge_seconds, cloud_seconds), pace).find("the pace was not held") != std::string::npos;
}

}  // namespace

TEST_CASE("table: a pace that was not held is warned of") {
  CHECK(warns(27.5e-3, 104.8e-3, "paper"));
  CHECK(warns(25.8e-3, 140e-3, "paper"));
  CHECK_FALSE(warns(25.8e-3, 104.8e-3, "paper"));
  CHECK_FALSE(warns(27.5e-3, 140e-3, "none"));
  CHECK(footnote(of_passes(31.2e-3, 104.8e-3), "paper").find("31.2 ms, not 25.6") != std::string::npos);
}

TEST_CASE("systems: a text is a system with its settings, in any spelling of the name") {
  CHECK(chosen_system("ksqs").text() == "k-sqs");
  CHECK(chosen_system("c_sqs:support-size=256:target=0.25").text() == "c-sqs:support_size=256:target=0.25");
  CHECK(chosen_system("c-sqs").shape(1000).format.support_size == 0);  // V: no limit
  CHECK(chosen_system("wisv").shape(1000, 96).format.attachments.hidden_size == 96);
  const auto said = [](const char* text) -> std::string {
    try {
      (void)chosen_system(text);
    } catch (const std::invalid_argument& why) {
      return why.what();
    }
    return "";
  };
  CHECK(said("nonsense").find("choose one of: target, qs, qs-adaptive, ") != std::string::npos);
  CHECK(said("qs:support_size=3").find("system qs: setting support_size: unknown setting") == 0);
  CHECK(said("qs:resolution=0").find("resolution (1 to 65536, default 240)") != std::string::npos);
  CHECK(said("qs:resolution").find("is not NAME=NUMBER") != std::string::npos);
  CHECK(said("qs:resolution=1e") != "");
}

TEST_CASE("systems: --set reaches each system that has the setting") {
  const std::vector<std::string> systems{"qs", "k-sqs:paper_code=1", "greedy"};
  CHECK(with_settings(systems, {"support_size=8"}) ==
        std::vector<std::string>{"qs", "k-sqs:paper_code=1:support_size=8", "greedy"});
  CHECK_THROWS_AS((void)with_settings(systems, {"alpha=8"}), std::invalid_argument);
  CHECK_THROWS_AS((void)with_settings({"qs"}, {"support_size=8"}), std::invalid_argument);
  CHECK_THROWS_AS((void)with_settings({"none"}, {}), std::invalid_argument);
}

TEST_CASE("plot: no bars on a logarithmic axis") {
  const run_report report = of_passes(1, 1);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "specverify_plot_test.gnuplot";
  edge_cloud::detail::write_script(std::span(&report, 1), "data", "picture", file);
  std::stringstream script;
  script << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  bool logarithmic = false, bars_on_it = false;
  int plots = 0, bars = 0;
  for (std::string line; std::getline(script, line);) {
    if (line.starts_with("set logscale")) logarithmic = true;
    if (line.starts_with("unset logscale")) logarithmic = false;
    plots += line.starts_with("plot ") ? 1 : 0;
    if (line.find("with box") == std::string::npos) continue;
    ++bars;
    bars_on_it = bars_on_it || logarithmic;
  }
  CHECK(plots == 3);
  CHECK(bars == 2);
  CHECK_FALSE(bars_on_it);
}
