// SPDX-License-Identifier: Apache-2.0
//! Tests whether tokens were drawn from given distributions, by the rank of each token.
#ifndef SPECVERIFY_APPS_LAB_RANKS_HPP
#define SPECVERIFY_APPS_LAB_RANKS_HPP

#include <specverify/testing/chi_square.hpp>

#include "models.hpp"

#include <array>

namespace lab {

//! Counts tokens in cells of equal probability. The counts are about equal if the tokens were drawn from the
//! distribution.
struct place_counts {
  std::array<std::uint64_t, 20> cells{};

  void add(double place) {
    ++cells[std::min(cells.size() - 1, static_cast<std::size_t>(place * static_cast<double>(cells.size())))];
  }
  void add(const place_counts& other) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] += other.cells[i];
  }
  [[nodiscard]] double p_value() const {
    std::array<double, 20> even{};
    even.fill(1.0 / static_cast<double>(even.size()));
    return demand(specverify::chi_square(cells, even), "a test of counts").p_value;
  }
};

//! Returns the position of a token in [0, 1) in a distribution whose tokens are ordered by `lean`. The number u in [0,
//! 1) chooses the position among the tokens with the same `lean`.
[[nodiscard]] inline double place_in(const std::vector<double>& law, const std::vector<double>& lean, std::size_t token,
                                     double u) {
  double below = 0, level = 0;
  for (std::size_t v = 0; v < law.size(); ++v) {
    below += lean[v] < lean[token] ? law[v] : 0;
    level += lean[v] == lean[token] ? law[v] : 0;
  }
  return below + u * level;
}

}  // namespace lab

#endif
