// SPDX-License-Identifier: Apache-2.0
// Lists the figures of Quantize-Sample-and-Verify.
#include "papers.hpp"
#include "qs_figures.hpp"

namespace lab {

paper qs_paper() {
  return {
      "qs",
      "Quantize-Sample-and-Verify: LLM Acceleration via Adaptive Edge-Cloud Speculative Decoding",
      "2507.00605",
      {{"qs_quality", "Quality against temperature", run_qs_quality, 70, 2},
       {"qs_speed", "Speed over links", run_qs_speed, 25, 3},
       {"qs_temperature", "Speed against temperature", run_qs_temperature, 70, 1},
       {"qs_state", "Worth of the semantic state", run_qs_state, 110, 2},
       {"qs_coarse", "Coarse resolutions among the actions", run_qs_coarse, 70, 2},
       {"qs_regret", "How far policies fall short of the best", run_qs_regret, 45, 3},
       {"qs_network", "A network for the demo", run_qs_network, 25, 4}},
      "We have a digest of the paper, not its text. The policy's state, actions, network and reward are those of the "
      "authors' code. Episodes, rate and batch are smaller so that a training takes seconds (300 to 400 episodes, "
      "Adam 1e-3, batch 32, an update every fourth round, epsilon falling by 0.98). The digest gives no computing "
      "times. Here a draft takes 8 ms and a verification 45 ms; because every gain depends on these two numbers, "
      "each comparison states whether the paper's gain is met."};
}

}  // namespace lab
