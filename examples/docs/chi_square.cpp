// SPDX-License-Identifier: Apache-2.0
// Does a sampler follow its law? The fair one passes, a loaded one does not.
#include <specverify/core/random.hpp>
#include <specverify/testing/chi_square.hpp>

#include <vector>

int main() {
  using namespace specverify;
  const std::vector<double> law(6, 1.0 / 6);
  std::vector<std::uint64_t> fair(6, 0), loaded(6, 0);
  for (std::uint32_t i = 0; i < 60000; ++i) {
    const auto face = static_cast<std::size_t>(uniform_integer(philox{}, {i, 0, 0, purpose::training, 0}, 6));
    ++fair[face];
    ++loaded[face == 0 && i % 20 == 0 ? 5 : face];  // every twentieth one becomes a six
  }
  chi_square_result result;
  if (!chi_square(fair, law, result).ok() || result.p_value < 1e-4) return 1;
  if (!chi_square(loaded, law, result).ok() || result.p_value > 1e-4) return 2;
  double power = 0;  // how likely was that?
  const std::vector<double> actual{1 / 6.0 - 1 / 120.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0 + 1 / 120.0};
  return chi_square_power(law, actual, 60000, 1e-4, power).ok() && power > 0.99 ? 0 : 3;
}
