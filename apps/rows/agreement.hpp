// SPDX-License-Identifier: Apache-2.0
//! Computes how often two models can agree on a token: with the best coupling, and if both draw with the same shared
//! noise.
#ifndef SPECVERIFY_APPS_ROWS_AGREEMENT_HPP
#define SPECVERIFY_APPS_ROWS_AGREEMENT_HPP

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "../lab/measure.hpp"

namespace recorded {

//! Probabilities that two draws, one from p and one from q, are the same token.
struct agreement {
  double best = 0;          //!< 1 - TV(p, q), which no coupling exceeds
  double shared_noise = 0;  //!< sum over x of 1 / sum over v of max(p_v / p_x, q_v / q_x) (arXiv 2408.07978)
};

//! Returns the probabilities for two rows of logits at temperature 1. O(V log V): p_v / p_x exceeds q_v / q_x for the
//! ids v with a larger p_v / q_v, so the ids are sorted by this ratio and the inner sums are prefix sums.
[[nodiscard]] inline agreement agreement_of(std::span<const float> target, std::span<const float> drafter) {
  const std::vector<double> p = lab::law_of(target, 1), q = lab::law_of(drafter, 1);
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p[a] * q[b] < p[b] * q[a]; });
  agreement made;
  double below = 0, above = 1;  // sum of q over the ids before x, sum of p over x and the ids after it
  for (const std::size_t x : order) {
    made.best += std::min(p[x], q[x]);
    if (p[x] > 0 && q[x] > 0) made.shared_noise += 1 / (above / p[x] + below / q[x]);
    below += q[x];
    above -= p[x];
  }
  return made;
}

}  // namespace recorded

#endif
