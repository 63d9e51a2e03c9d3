// SPDX-License-Identifier: Apache-2.0
//! The table of papers: each brings its figures, each figure its function. `qs_paper` and the others stand in qs.cpp,
//! sqs.cpp, ...
#ifndef SPECVERIFY_EXAMPLES_LAB_PAPERS_HPP
#define SPECVERIFY_EXAMPLES_LAB_PAPERS_HPP

#include "figure.hpp"
#include "lab_context.hpp"

namespace lab {

//! `run` fills in the figure: panels, tables, comparisons, checks. The seconds are what it takes on 2 cores, for the
//! time left.
struct planned_figure {
  std::string name;  //!< of its files, "<paper>_<what>"
  std::string title;
  void (*run)(lab_context&, figure&) = nullptr;
  double seconds = 10;
  double quick_seconds = 1;
};

struct paper {
  std::string name;  //!< as --only takes it
  std::string title;
  std::string arxiv;
  std::vector<planned_figure> figures;
  std::string remarks = {};  //!< a paragraph of the report: what was reproduced, what was not, why
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
