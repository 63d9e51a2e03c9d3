// SPDX-License-Identifier: Apache-2.0
// The law of a round whose draft comes from a sparsifier of one's own, over every uniform that is read: the
// target's, on rows of float. A law that the token was not drawn from gives another one, so the measurement sees it.
#include <cmath>
#include <specverify/testing/enumerate_law.hpp>
#include "even_ranks.hpp"

int main() {
  const std::array<float, 5> drafter{2.0f, 1.3f, 0.6f, 0.2f, -1.0f}, target{0.4f, 1.7f, 1.1f, 1.0f, -0.5f};
  std::array<double, 5> expected{};
  double sum = 0;
  for (const float logit : target) sum += std::exp(static_cast<double>(logit));
  for (std::size_t v = 0; v < 5; ++v) expected[v] = std::exp(static_cast<double>(target[v])) / sum;
  const std::array<sv::row_view<float>, 2> rows{sv::logits_row(target.data(), 5), sv::logits_row(target.data(), 5)};
  const std::array<sv::row_transform, 1> plain{};
  const sv::row_span_provider<float> provider(rows, plain);
  const sv::draft_law_options options{.format = sv::law_format::sparse_drop_zero, .resolution = 20};
  std::vector<std::byte> memory(65536);
  sv::workspace scratch{memory};
  const sv::read_request wanted{.top_entries = 5, .integer_total = true};
  const auto row = sv::read_row(sv::exec::simd, sv::logits_row(drafter.data(), 5), plain[0], wanted, scratch);
  if (!row) return 1;
  const auto made = sv::make_draft_law(*row, even_ranks{}, {}, options, scratch);
  const auto whole = sv::make_draft_law(*row, sv::top_k{5}, {}, options, scratch);
  if (!made || !whole || made->drafted.count(0) == 0 || made->drafted.count(1) != 0) return 2;
  const auto distance = [&](const auto& rule, const auto& sent) {
    const auto law = sv::enumerate_law([&](const auto& source) {
      const sv::workspace_scope scope(scratch);
      const sv::uniforms random{source, 7, 0};
      const sv::draft drawn = sv::draw(made->drafted, random.at(sv::purpose::draft_draw));
      const std::array drafts{sent(drawn)};
      const std::span<const typename decltype(drafts)::value_type> round(drafts);
      const auto said = rule.verify(sv::exec::simd, round, provider, random, {}, scratch);
      return !said ? -1 : said->accepted == 1 ? drawn.token() : said->next_token;
    });
    return law.complete && !law.grid_may_be_too_coarse ? sv::total_variation(law, expected) : 1.0;
  };
  const auto itself = [](const sv::draft& drawn) { return drawn; };
  const auto with_another_law = [&](const sv::draft& drawn) {
    return sv::mismatched_draft{drawn.token(), whole->drafted};
  };
  if (distance(sv::token_rule{.trial_cap = 1}, itself) > 1e-6) return 3;
  return distance(sv::lossy_token_rule{.trial_cap = 1}, with_another_law) > 1e-2 ? 0 : 4;
}
