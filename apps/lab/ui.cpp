// SPDX-License-Identifier: Apache-2.0
// Computes the figures of the paper on uncertainty and importance (UI); papers.hpp lists each paper's figures.
#include "ui_figures.hpp"

namespace lab {

paper ui_paper() {
  return {"ui",
          "Energy-Efficient Wireless LLM Inference via Uncertainty and Importance-Aware Speculative Decoding",
          "2508.12590",
          {{"ui_grid", "Accuracy against energy over k and gamma", run_ui_grid, 45, 5},
           {"ui_trace", "The same skip policies on recorded texts", run_ui_trace, 8, 1}},
          "The paper does not give layer, head and energy model; we use the last layer, the mean over heads, and "
          "our own energy model."};
}

}  // namespace lab
