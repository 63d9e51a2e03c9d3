// SPDX-License-Identifier: Apache-2.0
// A token drawn from a law carries that law.
#include <specverify/distribution/draft.hpp>
#include <specverify/distribution/make_law.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 2> ids{3, 8};
  const std::array<std::uint32_t, 2> counts{30, 70};
  const auto q = make_law(ids, counts, 10);
  if (!q) return 1;
  const philox source{{{2026, 1}}};  // any key; a session derives its own
  int eights = 0;
  for (std::uint32_t position = 0; position < 1000; ++position) {
    const draft drawn = draw(*q, uniforms{source, position, 0}.at(purpose::draft_draw));
    eights += drawn.token() == 8 ? 1 : 0;
    if (drawn.source_law().count(drawn.token()) == 0) return 2;
  }
  return eights > 640 && eights < 760 ? 0 : 3;
}
