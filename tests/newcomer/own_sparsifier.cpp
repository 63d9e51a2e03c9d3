// SPDX-License-Identifier: Apache-2.0
// A sparsifier of one's own keeps every second rank. A session takes it, and the text keeps the target's law.
#include <specverify/all.hpp>
#include <specverify/testing/enumerate_law.hpp>
namespace sv = specverify;

struct even_ranks {  // ranks 0, 2, ... of the 2 * size largest tokens
  std::uint32_t size = 2;
  using state_type = sv::no_state;
  constexpr sv::no_state initial_state() const noexcept { return {}; }
  constexpr sv::read_request request(sv::no_state, std::uint32_t) const noexcept { return {.survivors = 2 * size}; }
  constexpr std::size_t workspace_size(sv::no_state, std::uint32_t) const noexcept {
    return sv::slice_bytes<sv::token_id>(size) + sv::slice_bytes<std::uint32_t>(size) + sv::workspace_alignment;
  }
  sv::result<sv::support> select(const sv::row_summary& row, sv::no_state, sv::workspace& scratch) const noexcept {
    const auto ids = row.survivor_ids();
    const auto weights = row.survivor_weights();
    const auto kept_ids = scratch.take<sv::token_id>(size);
    const auto kept_weights = scratch.take<std::uint32_t>(size);
    if (!kept_ids || !kept_weights) return sv::status{sv::errc::workspace_too_small, sv::part::host, 0};
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::size_t rank = 0;
      for (std::size_t j = 0; j < ids.size(); ++j)
        if (weights[j] > weights[i] || (weights[j] == weights[i] && j < i)) ++rank;
      if (rank % 2 != 0 || kept == size) continue;
      (*kept_ids)[kept] = ids[i];
      (*kept_weights)[kept++] = weights[i];
    }
    return sv::support{kept_ids->first(kept), kept_weights->first(kept), 0, row.vocab_size()};
  }
  constexpr sv::no_state advance(sv::no_state, const sv::support&) const noexcept { return {}; }
};
static_assert(sv::sparsifier<even_ranks>);

int main() {
  if (!sv::basic_edge_session<even_ranks>::make({.secret = 1, .vocab_size = 4}, even_ranks{})) return 1;
  const std::array<double, 4> drafter{0.5, 0.25, 0.125, 0.125}, target{0.125, 0.375, 0.25, 0.25};
  const auto drafted_row = sv::probability_row<double>(drafter), target_row = sv::probability_row<double>(target);
  const std::array<sv::row_view<double>, 2> rows{target_row, target_row};
  const std::array<sv::row_transform, 1> plain{};
  const sv::draft_law_options options{.format = sv::law_format::sparse_drop_zero, .resolution = 8};
  std::vector<std::byte> memory(65536);
  sv::workspace scratch{memory};
  const auto wanted = sv::draft_law_request(4, even_ranks{}, {}, options);
  const auto row = sv::read_row(sv::exec::simd, drafted_row, plain[0], wanted, scratch);
  if (!row) return 2;
  const auto made = sv::make_draft_law(*row, even_ranks{}, {}, options, scratch);
  if (!made || made->drafted.count(0) == 0 || made->drafted.count(1) != 0 || made->drafted.count(2) == 0) return 3;
  const auto law = sv::enumerate_law([&](const auto& source) {
    const sv::workspace_scope scope(scratch);
    const std::array<sv::draft, 1> drafts{
        sv::draw(made->drafted, sv::uniforms{source, 7, 0}.at(sv::purpose::draft_draw))};
    const sv::row_span_provider<double> provider(rows, plain);
    const auto said = sv::token_rule{.trial_cap = 1}.verify(sv::exec::simd, std::span<const sv::draft>(drafts),
                                                            provider, sv::uniforms{source, 7, 0}, {}, scratch);
    return !said ? -1 : said->accepted == 1 ? drafts[0].token() : said->next_token;
  });
  return law.complete && !law.grid_may_be_too_coarse && sv::total_variation(law, target) < 1e-12 ? 0 : 4;
}
