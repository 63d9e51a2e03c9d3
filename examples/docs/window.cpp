// SPDX-License-Identifier: Apache-2.0
// A fixed window, and one that ends before 5000 bits are exceeded.
#include <specverify/policy/window.hpp>

#include <array>

int main() {
  using namespace specverify;
  const fixed_window fixed{6, 100};  // L = 6 drafts, resolution 100
  observation seen;
  record_round(seen, 6, 2, 3, 120, 100);  // 6 drafted, 2 accepted, 3 committed, 120 bytes sent, resolution 100
  if (seen.round != 2 || seen.position != 3 || fixed.begin(seen).max_draft_length != 6) return 1;

  const bit_budget_window window{40, 100, 1024, 50257, 5000, 0, position_accounting::top_k};
  const budget_clamp cut = window.clamp();  // 1024 ids cost 7690 bits
  if (!cut.clamped || cut.support_size != 585 || window.begin(seen).support_size != 585) return 2;

  const std::array<token_id, 2> ids{3, 7};
  const std::array<std::uint32_t, 2> counts{60, 40};
  const law next{ids.data(), counts.data(), 2, 0, 100, 50257};
  window_progress so_far;
  while (const auto drawn =
             draw_within(window, so_far, next, uniforms{philox{}, so_far.drafted, 1}.at(purpose::draft_draw))) {
    if (next.count(drawn->token()) == 0) return 3;
  }
  return so_far.drafted == 1 ? 0 : 4;  // a second law of 585 ids would not fit
}
