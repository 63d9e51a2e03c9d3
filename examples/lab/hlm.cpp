// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "papers.hpp"
#include "tables.hpp"

namespace lab {

paper hlm_paper() {
  return {"hlm",
          "Communication-Efficient Hybrid Language Model via Uncertainty-Aware Opportunistic and Compressed Transmission",
          "2505.11788",
          {{"hlm_table", "Table II recomputed", run_hlm_table, 1, 1},
           {"hlm_links", "Speed over SNR at the paper's operating point, from the link alone", run_hlm_links, 4, 4}},
          {}};
}

}  // namespace lab
