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
  workspace scratch{std::span<std::byte>(memory)};
  const philox device{{1, 2}};  // the drafter's key
  const perturbation_options twenty_draws;
  disagreement sure, unsure;
  const auto row = [](const std::vector<float>& values) { return logits_row(std::span<const float>(values)); };
  if (!temperature_perturbation(exec::simd, row(peaked), {}, 7, twenty_draws, device, 0, 1, scratch, sure).ok())
    return 1;
  if (!temperature_perturbation(exec::simd, row(flat), {}, 7, twenty_draws, device, 0, 1, scratch, unsure).ok())
    return 2;
  double mean = 0;  // without random numbers
  if (!expected_disagreement(exec::simd, row(flat), {}, 7, twenty_draws, scratch, mean).ok()) return 3;
  return sure.value() < 0.1 && unsure.value() > 0.8 && mean > 0.9 ? 0 : 4;
}
