// SPDX-License-Identifier: Apache-2.0
// The figures of one paper; papers.hpp says what a figure is.
#include "papers.hpp"

namespace lab {

paper sqs_paper() { return {"sqs", "Conformal Sparsification for Bandwidth-Efficient Edge-Cloud Speculative Decoding", "2510.09942", {}, {}}; }

}  // namespace lab
