// SPDX-License-Identifier: Apache-2.0
//! Lists the papers of the lab. Each paper has figures, and each figure has a function that computes it. `qs_paper` and
//! the other functions are in qs.cpp, sqs.cpp, ...
#ifndef SPECVERIFY_APPS_LAB_PAPERS_HPP
#define SPECVERIFY_APPS_LAB_PAPERS_HPP

#include "figure.hpp"
#include "lab_context.hpp"

namespace lab {

//! A figure and the function `run` that fills in its panels, tables, comparisons and checks. `seconds` is the time on 2
//! cores, for the progress display.
struct planned_figure {
  std::string name;  //!< base name of the files, "<paper>_<what>"
  std::string title;
  void (*run)(lab_context&, figure&) = nullptr;
  double seconds = 10;
  double quick_seconds = 1;
};

//! A claim that no figure measures, and the reason, which no amount of work in this repository can remove.
struct claim_not_run {
  claim_id id;
  std::string why;
};

struct paper {
  std::string name;  //!< name of the paper in --only
  std::string title;
  std::string arxiv;
  std::vector<planned_figure> figures;
  std::string remarks = {};  //!< a paragraph of the report: reproduced results, missing results, and reasons
  std::vector<claim_not_run> not_run = {};
};

[[nodiscard]] paper trace_paper();
[[nodiscard]] paper qs_paper();
[[nodiscard]] paper sqs_paper();
[[nodiscard]] paper hlm_paper();
[[nodiscard]] paper ui_paper();
[[nodiscard]] paper wisv_paper();

[[nodiscard]] inline std::vector<paper> all_papers() {
  return {trace_paper(), qs_paper(), sqs_paper(), hlm_paper(), ui_paper(), wisv_paper()};
}

}  // namespace lab

#endif
