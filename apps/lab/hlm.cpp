// SPDX-License-Identifier: Apache-2.0
// Computes the figures of the papers HLM and CU-HLM; papers.hpp lists each paper's figures.
#include "hlm_figures.hpp"
#include "tables.hpp"

namespace lab {

paper hlm_paper() {
  return {
      "hlm",
      "Communication-Efficient Hybrid Language Model via Uncertainty-Aware Opportunistic and Compressed Transmission",
      "2505.11788",
      {{"hlm_uncertainty", "Uncertainty against rejection", run_hlm_uncertainty, 8, 2},
       {"hlm_paraphrase", "Uncertainty by paraphrased prompts", run_hlm_paraphrase, 8, 1},
       {"hlm_threshold", "Uploads, true skips and accuracy against the threshold", run_hlm_threshold, 9, 1},
       {"hlm_laws", "Rank, residual mass, bias and bounds of compressed laws", run_hlm_laws, 6, 1},
       {"hlm_size", "Accuracy and payload against the number of entries", run_hlm_size, 22, 1},
       {"hlm_systems", "The family of methods: accuracy, uploads, and speed over SNR", run_hlm_systems_figure, 14, 2},
       {"hlm_table", "Table II recomputed", run_hlm_table, 1, 1},
       {"hlm_links", "Speed over SNR at the paper's operating point, computed from the link only", run_hlm_links, 1,
        1}},
      "Times on the link are computed; uploads and problems are measured. A problem fails on one wrong digit, "
      "but the paper measures the similarity of texts. So skipping may cost more here than in the paper, and "
      "each row of the comparison gives the result.",
      {{"hlm.dropout", "the bundled models have no dropout, in training or afterwards"},
       {"hlm.other_pairs", "the repository has one pair of models and one task with answers"},
       {"hlm.distilled", "the repository has no drafter that was trained without its target"}}};
}

}  // namespace lab
