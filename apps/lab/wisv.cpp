// SPDX-License-Identifier: Apache-2.0
// Lists the figures of the paper WISV; papers.hpp lists each paper's figures.
#include "papers.hpp"
#include "tables.hpp"
#include "wisv_figures.hpp"

namespace lab {

paper wisv_paper() {
  return {
      "wisv",
      "WISV: Wireless-Informed Semantic Verification for Distributed Speculative Decoding in Device-Edge LLM Inference",
      "2604.17701",
      {{"wisv_table", "Table I recomputed", run_wisv_table, 1, 1},
       {"wisv_flops", "Pass times by operations, and the target alone", run_wisv_flops, 1, 1},
       {"wisv_labels", "Mismatches that matter, and labels that a link keeps", run_wisv_labels, 70, 2},
       {"wisv_heads", "Decision heads and their thresholds", run_wisv_heads, 60, 1},
       {"wisv_accuracy", "Accuracy against the threshold on good and poor links", run_wisv_accuracy, 150, 3},
       {"wisv_grid", "Accepted length, rounds and latency over links and windows", run_wisv_grid, 30, 1},
       {"wisv_window", "Latency over windows from 1, and at the testbed's rates", run_wisv_window, 60, 2},
       {"wisv_protocols", "Full, selective and lazy hidden states over the same link", run_wisv_protocols, 1, 1},
       {"wisv_sessions", "Full, selective and lazy hidden states by the sessions", run_wisv_sessions, 10, 1},
       {"wisv_ablations", "Without the channel, and without relabelling", run_wisv_ablations, 2, 1},
       {"wisv_split", "A narrow head, split between device and cloud", run_wisv_split, 2, 1},
       {"wisv_scorers", "Scorers of mismatches next to the head, word problems", run_wisv_scorers, 120, 2},
       {"wisv_colours", "Scorers of mismatches next to the head, fixed wording and no digits", run_wisv_colours, 60,
        2}},
      "The pair of models is ours and small; problems are short and nearly always solved. Thresholds, heads "
      "and every training choice are fixed on problems that the figures do not use. Rounds and mismatches are "
      "measured; latencies follow the paper's model with the paper's sizes.",
      {{"wisv.second_pair",
        "the repository has one pair of models, and the paper's second one, Qwen2.5, is not at hand"}}};
}

}  // namespace lab
