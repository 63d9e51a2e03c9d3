// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "papers.hpp"

namespace lab {

paper ui_paper() { return {"ui", "Energy-Efficient Wireless LLM Inference via Uncertainty and Importance-Aware Speculative Decoding", "2508.12590", {}, {}}; }

}  // namespace lab
