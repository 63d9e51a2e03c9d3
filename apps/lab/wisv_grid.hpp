// SPDX-License-Identifier: Apache-2.0
//! Holds the latencies of WISV's grid of links and windows.
#ifndef SPECVERIFY_APPS_LAB_WISV_GRID_HPP
#define SPECVERIFY_APPS_LAB_WISV_GRID_HPP

#include "wisv_figures.hpp"

namespace lab {

enum grid_writer : std::size_t {
  by_greedy,
  by_reject,
  by_full,
  by_selective,
  by_lazy,
  by_adaptive,
  by_testbed,
  by_none
};
//! One link and window. Seconds are per answer.
struct grid_cell {
  std::size_t link = 0, window = 0;
  std::array<double, 8> seconds{};
  std::vector<double> greedy_seconds, full_seconds, selective_seconds;  //!< per problem
  double full_chosen = 0;                                               //!< share of answers for which FH is chosen
};

//! Compares the grid with Table I, answers the claims about it, and checks it.
void answer_grid(lab_context& context, const wisv_study::test_results& r, const std::vector<grid_cell>& cells,
                 figure& f);

}  // namespace lab

#endif
