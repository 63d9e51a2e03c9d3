// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "papers.hpp"

namespace lab {

paper qs_paper() { return {"qs", "Quantize-Sample-and-Verify: LLM Acceleration via Adaptive Edge-Cloud Speculative Decoding", "2507.00605", {}, {}}; }

}  // namespace lab
