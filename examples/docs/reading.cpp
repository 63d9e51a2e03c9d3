// SPDX-License-Identifier: Apache-2.0
// A row is read once; everything else is asked of the reading.
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 5> logits{0.5f, 2.0f, -1.0f, 1.5f, 0.0f};
  const row_transform transform{.temperature = 0.8};
  std::vector<std::byte> memory(2 * digest_workspace_size(5, transform, {.survivors = 2}));
  workspace scratch{std::span(memory)};

  const auto row = read_row(exec::simd, logits_row<float>(logits), transform, {.survivors = 2}, scratch);
  if (!row) return 1;
  const uniforms here{philox{{{0x5ec4e7, 17}}}, 9, 2};  // position 9, round 2

  const auto accepted = row->accept({.token = 1, .count = 60, .resolution = 100}, here.at(purpose::acceptance));
  const auto token = row->sample(here.at(purpose::bonus_draw));
  if (!accepted || !token || row->argmax() != 1 || row->survivor_ids().size() != 2) return 2;

  // For the two largest alone the sums are not wanted. A draw takes them after all, by one more read.
  const auto largest = row->again(transform, {.survivors = 2, .sums = false}, scratch);
  if (!largest || largest->survivor_ids()[1] != 3 || largest->has_coarse_sums()) return 3;
  if (largest->sample(here.at(purpose::bonus_draw))->token != token->token) return 4;

  scratch.rewind(0);  // the readings' arrays are given back: they say so when they are used again
  return row->sample(here.at(purpose::bonus_draw)).error().code == errc::reading_expired ? 0 : 5;
}
