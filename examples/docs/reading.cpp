// SPDX-License-Identifier: Apache-2.0
// A row is read once; everything else is asked of the reading.
#include <specverify/row/reading.hpp>

#include <array>
#include <vector>

int main() {
  using namespace specverify;
  const std::array<float, 5> logits{0.5f, 2.0f, -1.0f, 1.5f, 0.0f};
  const row_transform transform{.temperature = 0.8};
  std::vector<std::byte> memory(digest_workspace_size(5, transform, {.survivors = 2}));
  workspace scratch{std::span(memory)};

  const auto row = read_row(exec::simd, logits_row<float>(logits), transform, {.survivors = 2}, scratch);
  if (!row) return 1;
  const uniforms here{philox{derive_session_keys(0x5ec4e7, 17).verdict}, 9, 2};  // position 9, round 2

  const auto accepted = row->accept({.token = 1, .count = 60, .resolution = 100}, here.at(purpose::acceptance));
  const auto token = row->sample(here.at(purpose::bonus_draw));
  if (!accepted || !token || row->argmax() != 1 || row->survivor_ids().size() != 2) return 2;

  scratch.rewind(0);  // the reading's arrays are given back: it says so when it is used again
  return row->sample(here.at(purpose::bonus_draw)).error().code == errc::reading_expired ? 0 : 3;
}
