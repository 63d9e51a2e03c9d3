// SPDX-License-Identifier: Apache-2.0
// Lists the figures of SQS.
#include "papers.hpp"
#include "sqs_figures.hpp"

namespace lab {

paper sqs_paper() {
  return {
      "sqs",
      "Conformal Sparsification for Bandwidth-Efficient Edge-Cloud Speculative Decoding",
      "2510.09942",
      {{"sqs_temperature", "Latency and resampling against temperature", run_sqs_temperature, 50, 1},
       {"sqs_thresholds", "First thresholds, fixed and learning, against temperature", run_sqs_thresholds, 25, 1},
       {"sqs_step", "A fixed threshold and a learning one", run_sqs_step, 5, 1},
       {"sqs_support", "Supports of a mass", run_sqs_support, 5, 1},
       {"sqs_accuracy", "Accuracy", run_sqs_accuracy, 17, 1},
       {"sqs_bits", "Bits of a draft by formula and on the wire", run_sqs_bits, 2, 1},
       {"sqs_dropped", "Dropped mass and its bounds", run_sqs_dropped, 3, 1},
       {"sqs_rejections", "Rejections and their bound", run_sqs_rejections, 5, 1}},
      "The paper's pair is GPT-Neo 125M and 1.3B on LM1B with 50257 tokens; ours has 4096. The paper prints neither "
      "the uplink rate nor the pass times: here 1 Mbit/s (350 kbit/s with our constants), and 25.6 and 104.6 ms of "
      "CU-HLM. Windows of at most 24 drafts, alpha = eta = 0.02 and B = 1000 of sqs_step are ours as well."};
}

}  // namespace lab
