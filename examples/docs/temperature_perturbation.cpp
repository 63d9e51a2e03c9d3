// SPDX-License-Identifier: Apache-2.0
// How sure is a drafter of its token? A peaked row repeats it at most temperatures, a flat one hardly ever.
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <vector>

int main() {
  using namespace specverify;
  std::vector<float> peaked(1000, 0.0f), flat(1000, 0.0f);
  peaked[7] = 20.0f;
  flat[7] = 0.5f;
  std::vector<std::byte> memory(perturbation_workspace_size(1000));
  const uniforms device{philox{{1, 2}}, 0, 1};  // the drafter's key, position 0 of round 1
  const perturbation_options twenty_draws;
  const row_transform plain = perturbed_transform({}, twenty_draws);
  double uncertainty[2] = {};
  for (int i = 0; i < 2; ++i) {
    workspace scratch{std::span<std::byte>(memory)};
    const auto values = logits_row(std::span<const float>(i == 0 ? peaked : flat));
    const auto row = read_row(exec::simd, values, plain, perturbed_request(), scratch);
    if (!row) return 1;
    const auto found = temperature_perturbation(*row, 7, twenty_draws, device);
    const auto mean = expected_disagreement(*row, 7, twenty_draws);  // without random numbers
    if (!found || !mean || (i == 1) != (*mean > 0.9)) return 2;
    const auto near = expected_disagreement_within(*row, 7, twenty_draws, 0.01);  // the same mean, far sooner
    if (!near || *mean < near->lower || *mean > near->upper) return 3;
    uncertainty[i] = found->value();
  }
  return uncertainty[0] < 0.1 && uncertainty[1] > 0.8 ? 0 : 4;
}
