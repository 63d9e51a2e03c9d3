// SPDX-License-Identifier: Apache-2.0
// An engine measures its own sampler: the exact law of what it returns, over every uniform that it reads.
#include <specverify/testing/enumerate_law.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<double, 3> law{0.5, 0.125, 0.375};
  // Any function of a uniform source will do. This one proposes with one number, accepts with another, and tries twice.
  const auto sampler = [&](const auto& source) {
    for (std::uint32_t trial = 0; trial < 2; ++trial) {
      const random_block block = source(random_counter{7, 0, trial, purpose::bonus_draw, 0});
      const int token = static_cast<int>(3 * decision_uniform(block, 0));
      if (decision_uniform(block, 1) < 2 * law[static_cast<std::size_t>(token)]) return token;
    }
    return -1;
  };
  const enumerated_law<int> measured = enumerate_law(sampler);
  if (!measured.complete || measured.grid_may_be_too_coarse) return 1;
  if (!(measured.total == exact_mass::one())) return 2;
  // A proposal is rejected with probability 1/3, two of them with 1/9: the trial cap loses that much.
  const double given_up = measured.probability(-1) - 1.0 / 9;
  return given_up < 1e-15 && given_up > -1e-15 && total_variation(measured, law) > 0.1 ? 0 : 3;
}
