// SPDX-License-Identifier: Apache-2.0
// Shows a sparsifier that takes arrays from the workspace. It keeps the likeliest token, and all other tokens of
// probability epsilon or more.
#include <specverify/sparsify/concepts.hpp>

#include <algorithm>
#include <vector>
using namespace specverify;

struct above_epsilon {
  using state_type = no_state;
  double epsilon = 0.05;
  no_state initial_state() const noexcept { return {}; }
  no_state advance(no_state, const support&) const noexcept { return {}; }
  read_request request(no_state, std::uint32_t) const noexcept {
    return {.top_entries = 1, .minimum_probability = epsilon, .integer_total = true};
  }
  std::size_t workspace_size(no_state, std::uint32_t vocab_size) const noexcept {
    const auto most = std::min(vocab_size, static_cast<std::uint32_t>(1 / epsilon) + 1);
    return slice_bytes<token_id>(most) + slice_bytes<std::uint32_t>(most);
  }
  result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    const auto listed = row.top_ids();
    const auto weighed = row.top_weights();
    const double least = epsilon * static_cast<double>(row.total_weight());
    const auto stays = [&](std::size_t i) { return weighed[i] >= least || listed[i] == row.argmax(); };
    std::size_t size = 0;
    for (std::size_t i = 0; i < listed.size(); ++i) size += stays(i) ? 1u : 0u;
    workspace_scope scope(scratch);  // releases the memory it takes, unless `keep` is called
    const auto ids = scratch.take<token_id>(size);
    const auto weights = scratch.take<std::uint32_t>(size);
    if (!ids || !weights) return status{errc::workspace_too_small, part::host, static_cast<std::uint32_t>(size)};
    for (std::size_t i = 0, next = 0; i < listed.size(); ++i) {
      if (!stays(i)) continue;
      (*ids)[next] = listed[i];
      (*weights)[next++] = weighed[i];
    }
    scope.keep();
    return support{*ids, *weights, row.total_weight(), row.vocab_size()};
  }
};
constexpr status check(const above_epsilon& chosen) noexcept {  // called by a session's `make`
  const bool fits = chosen.epsilon > 0 && chosen.epsilon <= 1;
  return fits ? status{} : status{errc::invalid_argument, part::host, 0};
}
static_assert(sparsifier<above_epsilon> && !check({.epsilon = 0}).ok());

int main() {
  const float logits[] = {0.0f, 3.0f, 2.5f, -1.0f, 2.0f};  // probabilities 0.03, 0.48, 0.29, 0.01, 0.18
  const above_epsilon chosen;
  const read_request wanted = chosen.request({}, 5);
  const std::size_t bytes = digest_workspace_size(5, {}, wanted) + chosen.workspace_size({}, 5) + workspace_alignment;
  std::vector<std::byte> memory(bytes);
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, logits_row<float>(logits), {}, wanted, scratch);
  if (!row) return 1;
  const auto kept = chosen.select(*row, {}, scratch);
  return kept && kept->size() == 3 && kept->ids[0] == 1 && kept->ids[2] == 4 && check(*kept).ok() ? 0 : 2;
}
