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
  const auto of_fair = chi_square(fair, law), of_loaded = chi_square(loaded, law);
  if (!of_fair || of_fair->p_value < 1e-4) return 1;
  if (!of_loaded || of_loaded->p_value > 1e-4) return 2;
  const std::vector<double> actual{1 / 6.0 - 1 / 120.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0, 1 / 6.0 + 1 / 120.0};
  const auto power = chi_square_power(law, actual, 60000, 1e-4);  // how likely was that?
  return power && *power > 0.99 ? 0 : 3;
}
