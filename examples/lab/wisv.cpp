// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "papers.hpp"

namespace lab {

paper wisv_paper() {
  return {"wisv", "WISV: Wireless-Informed Semantic Verification for Distributed Speculative Decoding in Device-Edge LLM Inference", "2604.17701", {}, {}};
}

}  // namespace lab
