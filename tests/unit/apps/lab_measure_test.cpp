// SPDX-License-Identifier: Apache-2.0
// What figures say about samples, against values worked by hand. Built by apps/lab/CMakeLists.txt; elsewhere this file
// is empty.
#ifdef SPECVERIFY_TINYLM_DIRECTORY

#include "../../../apps/lab/figure.hpp"
#include "../../../apps/lab/measure.hpp"
#include "../../../apps/lab/plot.hpp"
#include "../../../apps/lab/say.hpp"

#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

using doctest::Approx;

TEST_CASE("means, quantiles and distances by hand") {
  const std::vector<double> values = {4, 1, 3, 2};
  CHECK(lab::mean_of(values) == 2.5);
  CHECK(lab::quantile_of(values, 0) == 1);
  CHECK(lab::quantile_of(values, 1) == 4);
  CHECK(lab::quantile_of(values, 0.5) == 2.5);
  const std::vector<double> a = {0.5, 0.5, 0}, b = {0.25, 0.25, 0.5};
  CHECK(lab::total_variation(a, b) == 0.5);
  CHECK(lab::entropy_of(a) == 1);
  CHECK(lab::entropy_of(b) == 1.5);
}

TEST_CASE("a law from logits") {
  const std::vector<float> logits = {0, 1, 1, -1e30F};
  const auto law = lab::law_of(logits, 1.0);
  CHECK(law[1] == Approx(1 / (2 + std::exp(-1.0))));
  CHECK(law[1] == law[2]);
  CHECK(law[3] == 0);
  CHECK(lab::law_of(logits, 0) == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("words follow the interval, not the value") {
  CHECK(lab::by_sign({0.1, 0.05, 0.2}, "less", "level", "more") == "more");
  CHECK(lab::by_sign({0.1, -0.05, 0.2}, "less", "level", "more") == "level");
  CHECK(lab::by_sign({-0.1, -0.2, -0.05}, "less", "level", "more") == "less");
  CHECK(lab::standing(lab::estimate{-0.007, -0.02, -0.001}, 0.15, 0.2) == "not met: the sign is the opposite");
  CHECK(lab::standing(lab::estimate{0.007, -0.02, 0.01}, 0.15, 0.2) == "not met: the interval holds no change");
  CHECK(lab::standing(lab::estimate{0.05, 0.02, 0.1}, 0.15, 0.2) == "met in sign, smaller in size");
  CHECK(lab::standing(lab::estimate{0.1, 0.05, 0.16}, 0.15, 0.2) == "met");
  CHECK(lab::standing(lab::estimate{0.6, 0.5, 0.7}, 0.15, 0.2) == "met in sign, larger in size");
  CHECK(lab::standing(lab::estimate{-0.2, -0.3, -0.1}, -0.25, -0.25) == "met");
  CHECK(lab::standing(lab::estimate{0.2, 0.1, 0.3}, -0.25, -0.25) == "not met: the sign is the opposite");
  CHECK(lab::change_text({-0.031, -0.052, -0.01}) == "-3.1 % [-5.2, -1]");
  CHECK(lab::change_text({0, 0, 0}) == "0 % (the same in every sample)");
  lab::figure f;
  CHECK_THROWS_AS(f.compare("speed", "+5 %", "+4 %", ""), std::logic_error);
  CHECK_THROWS_AS(f.compare("speed", "+5 %", "", "smaller"), std::logic_error);
  CHECK(f.comparisons.empty());
}

TEST_CASE("no interval has width zero where outcomes are shares") {
  const std::vector<double> none(17, 0.0), every(17, 1.0);
  const double bound = 1 - std::pow(0.05, 1.0 / 17);  // 17 trials miss an event of this probability once in 20
  CHECK(std::pow(1 - bound, 17) == Approx(0.05));
  CHECK(lab::never_seen(17).high == Approx(bound));
  CHECK(lab::mean_estimate(none, 1).high == Approx(bound));
  CHECK(lab::mean_estimate(none, 1).low == 0);
  CHECK(lab::mean_estimate(every, 1).low == Approx(1 - bound));
  CHECK(lab::mean_estimate(every, 1).high == 1);
  const lab::estimate same = lab::paired_difference(every, every, 1);
  CHECK(same.value == 0);
  CHECK(same.low == Approx(-bound));
  CHECK(same.high == Approx(bound));
  const lab::estimate lost = lab::paired_difference(none, every, 1);
  CHECK(lost.value == -1);
  CHECK(lost.low == -1);
  CHECK(lost.high == Approx(-1 + 2 * bound));
}

TEST_CASE("a verdict needs the interval inside the margin or on one side of zero") {
  CHECK(lab::against({0.01, -0.02, 0.03}) == "equivalent");
  CHECK(lab::against({0.02, 0.01, 0.029}) == "equivalent");
  CHECK(lab::against({0.02, 0.01, 0.04}) == "better");
  CHECK(lab::against({-0.02, -0.04, -0.01}) == "worse");
  CHECK(lab::against({-0.02, -0.04, 0.01}) == "not shown");
  CHECK(lab::against(lab::reversed({-0.2, -0.4, -0.1})) == "better");
  CHECK(lab::against({0.01, -0.02, 0.03}, 0.01) == "not shown");
  const lab::estimate more{0.2, 0.1, 0.3}, less{-0.2, -0.3, -0.1}, open{0.1, -0.1, 0.3};
  lab::figure f;
  lab::require_sign(f, "a", more, more);
  lab::require_sign(f, "a", more, open);
  lab::require_sign(f, "a", open, less);
  CHECK(f.holds());
  CHECK(f.checks[0].what == "a: more on tune, not reversed on test");
  lab::require_sign(f, "the two systems are exchanged", more, less);
  CHECK_FALSE(f.checks.back().holds);
  lab::require_sign(f, "the two systems are exchanged", less, more);
  CHECK_FALSE(f.checks.back().holds);
}

TEST_CASE("the change of a ratio by hand") {
  const std::vector<double> a = {2, 4}, b = {1, 1}, c = {1, 2}, d = {1, 1};
  const lab::estimate made = lab::ratio_change(a, b, c, d, 3, 50);
  CHECK(made.value == 1);  // 3 against 1.5, and twice as much in every sample
  CHECK(made.low == 1);
  CHECK(made.high == 1);
}

TEST_CASE("correlation and area under the curve by hand") {
  const std::vector<double> x = {1, 2, 3, 4}, y = {2, 4, 6, 8}, down = {4, 3, 2, 1}, flat = {1, 1, 1, 1};
  CHECK(lab::correlation(x, y) == Approx(1));
  CHECK(lab::correlation(x, down) == Approx(-1));
  CHECK(lab::correlation(x, flat) == 0);
  const std::vector<double> three = {1, 2, 4}, tenths = {0.1, 0.1, 0.1};  // whose mean is rounded
  CHECK(lab::correlation(three, tenths) == 0);
  CHECK(lab::correlation(tenths, three) == 0);
  CHECK(lab::area_under_curve(x, {false, false, true, true}) == 1);
  CHECK(lab::area_under_curve(x, {true, false, false, true}) == 0.5);
  CHECK(lab::area_under_curve(flat, {true, false, false, true}) == 0.5);
  CHECK(lab::area_under_curve(x, {false, true, false, true}) == 0.75);
  CHECK(lab::area_under_curve(x, {true, true, true, true}) == 0.5);
}

TEST_CASE("the interval of a mean is that of the normal law, and the same for the same seed") {
  std::vector<double> coins;
  for (int i = 0; i < 400; ++i) coins.push_back(i % 4 == 0 ? 1 : 0);
  const lab::estimate made = lab::mean_estimate(coins, 7);
  const double deviation = std::sqrt(0.25 * 0.75 / 400);
  CHECK(made.value == 0.25);
  CHECK(made.low == Approx(0.25 - 1.96 * deviation).epsilon(0.03));
  CHECK(made.high == Approx(0.25 + 1.96 * deviation).epsilon(0.03));
  CHECK(lab::mean_estimate(coins, 7).low == made.low);
  std::vector<double> other = coins;
  for (double& v : other) v -= 0.125;
  const lab::estimate difference = lab::paired_difference(coins, other, 9);
  CHECK(difference.value == 0.125);
  CHECK(difference.low == 0.125);
  CHECK(difference.high == 0.125);
  const std::vector<double> ones(400, 2.0);
  CHECK(lab::ratio_estimate(coins, ones, 3).value == 0.125);
}

TEST_CASE("a figure's files: quoted cells, one row a point, names on bars") {
  const auto folder = std::filesystem::temp_directory_path() / ("lab_measure_test." + std::to_string(::getpid()));
  lab::figure f;
  f.name = "x";
  lab::panel& p = f.add_panel("a \"b\", c", "x", "y");
  p.x_names = {"left", "right"};
  lab::curve& c = p.add("one");
  c.add(0, 1.5);
  c.add(1, 2.5);
  f.add_table("t", {"k", "v"}).rows = {{"a,b", "1"}};
  f.require("good", true);
  CHECK(f.holds());
  f.require("bad", false);
  CHECK_FALSE(f.holds());
  write_files(f, folder);
  const auto text_of = [&](const char* name) {
    std::ifstream file(folder / name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(text_of("x.csv") ==
        "panel,curve,x,y,low,high\n\"a \"\"b\"\", c\",one,left,1.5,,\n\"a \"\"b\"\", c\",one,right,2.5,,\n");
  CHECK(text_of("x.table.csv") == "k,v\n\"a,b\",1\n");
  CHECK(f.drawn == std::filesystem::exists(folder / "x.svg"));
  std::filesystem::remove_all(folder);
}

#endif
