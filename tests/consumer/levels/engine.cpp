// SPDX-License-Identifier: Apache-2.0
// Baseline code of an engine. Prints the level that this processor has, and what it says of a row; every level up to it
// must say the same.
#include "rows.hpp"

#include <cstdio>

int main() {
  std::vector<float> logits(5000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 2654435761u) % 4096) * 0x1.0p-9f;
  const specverify::vector_level level = specverify::cpu_level();
  std::vector<std::byte> memory;
  const auto facts = rows_at(level).look(logits, memory);
  if (!facts) return 1;
  std::printf("%s: largest %d, drawn %d, weight %llu\n", name(level), static_cast<int>(facts->largest),
              static_cast<int>(facts->drawn), static_cast<unsigned long long>(facts->total_weight));
  for (int lower = 0; lower < static_cast<int>(level); ++lower) {
    const auto same = rows_at(static_cast<specverify::vector_level>(lower)).look(logits, memory);
    if (!same || same->largest != facts->largest || same->drawn != facts->drawn ||
        same->total_weight != facts->total_weight)
      return 2;
  }
  return 0;
}
