// SPDX-License-Identifier: Apache-2.0
// Computes the figures of the paper on uncertainty and importance (UI); papers.hpp lists each paper's figures.
#include "ui_figures.hpp"

namespace lab {

paper ui_paper() {
  return {"ui",
          "Energy-Efficient Wireless LLM Inference via Uncertainty and Importance-Aware Speculative Decoding",
          "2508.12590",
          {{"ui_grid", "Accuracy against energy over k and gamma", run_ui_grid, 30, 2},
           {"ui_uploads", "HLM, U-HLM and UI at equal uploads", run_ui_uploads, 50, 3},
           {"ui_trace", "The same skip policies on recorded texts", run_ui_trace, 2, 1},
           {"ui_signals", "Uncertainty, importance and meaning", run_ui_signals, 5, 1},
           {"ui_settings", "Number of draws, temperature and threshold", run_ui_settings, 2, 1},
           {"ui_controller", "k and gamma that follow the link", run_ui_controller, 2, 1}},
          "The paper does not give layer, head and energy model; we use the last layer, the mean over heads, and "
          "our own energy model.",
          {{"ui.devices", "an open question of the paper, without a number; the lab has one device and one server"}}};
}

}  // namespace lab
