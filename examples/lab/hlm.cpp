// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "hlm_figures.hpp"

namespace lab {

paper hlm_paper() {
  return {"hlm",
          "Communication-Efficient Hybrid Language Model via Uncertainty-Aware Opportunistic and Compressed Transmission",
          "2505.11788",
          {{"hlm_uncertainty", "Uncertainty against rejection", run_hlm_uncertainty, 12, 3},
           {"hlm_threshold", "Uploads and true skips against the threshold", run_hlm_threshold, 1, 1},
           {"hlm_size", "Accuracy and payload against the number of entries", run_hlm_size, 25, 2},
           {"hlm_systems", "The family side by side, and speed over SNR", run_hlm_systems_figure, 35, 4},
           {"hlm_table", "Table II recomputed", run_hlm_table, 1, 1},
           {"hlm_links", "Speed over SNR at the paper's operating point, from the link alone", run_hlm_links, 4, 4}},
          "Reproduced: rejection grows along a line in u, a few dozen entries of a law do what the whole law does, and the two tables. Not reproduced: "
          "that skipping is cheap. A problem fails on one wrong digit, so keeping nine tokens in ten at u_th = 0.8 loses half of the problems, as a coin that "
          "keeps five in ten does; the paper measures the similarity of texts."};
}

}  // namespace lab
