// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "papers.hpp"
#include "tables.hpp"

namespace lab {

paper wisv_paper() {
  return {"wisv",
          "WISV: Wireless-Informed Semantic Verification for Distributed Speculative Decoding in Device-Edge LLM Inference",
          "2604.17701",
          {{"wisv_table", "Table I recomputed", run_wisv_table, 1, 1}},
          {}};
}

}  // namespace lab
