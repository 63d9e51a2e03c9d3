// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "papers.hpp"

namespace lab {

paper hlm_paper() {
  return {"hlm", "Communication-Efficient Hybrid Language Model via Uncertainty-Aware Opportunistic and Compressed Transmission", "2505.11788", {}, {}};
}

}  // namespace lab
