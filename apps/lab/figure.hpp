// SPDX-License-Identifier: Apache-2.0
//! Holds one figure or table of the lab: curves, a table, comparisons with the paper, and checks that must pass.
//! plot.hpp writes its files.
#ifndef SPECVERIFY_APPS_LAB_FIGURE_HPP
#define SPECVERIFY_APPS_LAB_FIGURE_HPP

#include "claims.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {

struct curve {
  std::string label;
  std::vector<double> x, y;
  std::vector<double> low, high;  //!< lower and upper limits of the error band; may be empty
  bool points = false;            //!< whether to draw points instead of a line

  void add(double at, double value) {
    x.push_back(at);
    y.push_back(value);
  }
  void add(double at, double value, double from, double to) {
    add(at, value);
    low.push_back(from);
    high.push_back(to);
  }
};

//! Curves over common axes. A figure may have several panels, drawn side by side.
struct panel {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<std::string> x_names;  //!< names for x = 0, 1, 2, ...: drawn as groups of bars
  std::deque<curve> curves;          //!< a deque, because the result of `add` must stay valid

  curve& add(std::string label) {
    curves.push_back({std::move(label), {}, {}, {}, {}, false});
    return curves.back();
  }
};

struct table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

//! The paper's value and our value, with the reason why they differ.
struct comparison {
  std::string what, paper, ours, why;
};

//! What a figure says about a claim of its paper.
struct claim_answer {
  std::size_t claim = 0;  //!< place in `claims`
  finding found = finding::not_run;
  std::string ours;  //!< our value, with an interval
  std::string why;   //!< reason for a difference, or for not running
};

//! A statement that must be true. The program's exit code is 0 only if all checks pass.
struct check {
  std::string what;
  bool holds = false;
  std::string detail;
};

struct figure {
  std::string name;  //!< base name of the figure's files
  std::string title;
  std::string about;  //!< one or two sentences: setting and how to read the figure
  std::deque<panel> panels;
  std::deque<table> tables;
  std::vector<comparison> comparisons;
  std::vector<claim_answer> answers;
  std::vector<check> checks;
  double seconds = 0;      //!< set by the lab
  double cpu_seconds = 0;  //!< set by the lab: of all threads
  bool drawn = false;

  panel& add_panel(std::string heading, std::string x_label, std::string y_label) {
    panels.push_back({std::move(heading), std::move(x_label), std::move(y_label), false, false, {}, {}});
    return panels.back();
  }
  table& add_table(std::string heading, std::vector<std::string> columns) {
    tables.push_back({std::move(heading), std::move(columns), {}});
    return tables.back();
  }
  //! Adds a comparison. None of the four strings may be empty, because the reader needs to know why the numbers differ.
  void compare(std::string what, std::string paper, std::string ours, std::string why) {
    if (what.empty() || paper.empty() || ours.empty() || why.empty())
      throw std::logic_error(name + ": the comparison '" + what + "' lacks a part");
    comparisons.push_back({std::move(what), std::move(paper), std::move(ours), std::move(why)});
  }
  //! Answers a claim of the paper with our value. One claim has one answer in a run of all figures. Neither text may be
  //! empty; both must be computed from the run, or be true for any numbers.
  void answer(claim_id id, finding found, std::string ours, std::string why) {
    if (ours.empty() || why.empty())
      throw std::logic_error(name + ": the answer to " + std::string(id->id) + " lacks a part");
    answers.push_back({id.place(), found, std::move(ours), std::move(why)});
  }
  //! Answers by comparing our interval with the printed value, whose unit it must have (`compared`).
  void answer(claim_id id, const estimate& measured, std::string ours, std::string why) {
    if (std::isnan(id->low)) throw std::logic_error(name + ": " + std::string(id->id) + " has no printed number");
    answer(id, compared(measured, id->low, id->high), std::move(ours), std::move(why));
  }
  void require(std::string what, bool holds, std::string detail = {}) {
    checks.push_back({std::move(what), holds, std::move(detail)});
  }
  [[nodiscard]] bool holds() const {
    for (const check& c : checks) {
      if (!c.holds) return false;
    }
    return true;
  }
};

//! Formats a number with `digits` significant digits for tables.
[[nodiscard]] inline std::string number(double value, int digits = 4) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}
//! Formats "0.42 [0.40, 0.44]".
[[nodiscard]] inline std::string interval(double value, double low, double high, int digits = 3) {
  return number(value, digits) + " [" + number(low, digits) + ", " + number(high, digits) + "]";
}

}  // namespace lab

#endif
