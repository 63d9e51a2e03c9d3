// SPDX-License-Identifier: Apache-2.0
// Shows parts of your own: a sparsifier, a window, and a skip policy.
#include <random>
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>
#include <thread>
#include "toy_model.hpp"
using namespace specverify;
// A sparsifier: of the 16 likeliest tokens, those within a factor of 64 of the first. Any choice is lossless.
struct near_likeliest {
  using state_type = no_state;
  static constexpr top_k widest{16};
  no_state initial_state() const noexcept { return {}; }
  read_request request(no_state, std::uint32_t vocab_size) const noexcept { return widest.request({}, vocab_size); }
  std::size_t workspace_size(no_state, std::uint32_t vocab_size) const noexcept {
    return widest.workspace_size({}, vocab_size) + slice_bytes<token_id>(16) + slice_bytes<std::uint32_t>(16);
  }
  result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    workspace_scope scope(scratch);  // releases the memory it takes, unless `keep` is called
    const auto likeliest = widest.select(row, {}, scratch);
    const auto ids = scratch.take<token_id>(16);
    const auto weights = scratch.take<std::uint32_t>(16);
    if (!likeliest || !ids || !weights) return status{errc::workspace_too_small, part::host, 0};
    const std::uint32_t least = *std::max_element(likeliest->weights.begin(), likeliest->weights.end()) / 64;
    std::size_t size = 0;
    for (std::size_t i = 0; i < likeliest->ids.size(); ++i) {
      if (likeliest->weights[i] < least) continue;
      (*ids)[size] = likeliest->ids[i];
      (*weights)[size++] = likeliest->weights[i];
    }
    scope.keep();
    return support{ids->first(size), weights->first(size), 0, row.vocab_size()};
  }
  no_state advance(no_state, const support&) const noexcept { return {}; }
};
struct follow_window {  // drafts one more than were accepted last time, but none after a distribution with many tokens
  draft_plan begin(const observation& seen) const noexcept { return {std::min(seen.last_accepted + 1, 4u)}; }
  bool proceed(std::uint32_t, const law& next, std::uint64_t) const noexcept { return next.size < 12; }
};
struct every_seventh {  // a skip policy, which must declare that it is lossy
  static constexpr bool needs_uncertainty = false, needs_attention = false, needs_coin = false;
  static constexpr guarantee strength = guarantee::lossy;
  bool send(const skip_observation& seen) const noexcept { return seen.position % 7 != 0; }
};
int main() {
  constexpr std::uint32_t V = toy_model::vocab_size;
  std::random_device random;
  auto edge =
      make_edge({.secret = secret_from(random), .vocab_size = V, .token_budget = 60, .attachments = {.max_skipped = 2}},
                near_likeliest{}, follow_window{}, every_seventh{});
  auto cloud = make_cloud(
      {.secret = secret_from(random), .salt = salt_from(random), .vocab_size = V, .limits = {.max_skipped = 2}});
  message_pipe pipe;
  if (!edge || !cloud) return 1;
  toy_model small{1.0}, large{0.0};
  const std::jthread serving([&, server = pipe.cloud()]() mutable { (void)serve(*cloud, large, server); });
  auto device = pipe.edge();  // declared last, so it closes before `serving` is joined
  const auto text = generate(*edge, std::array<token_id, 1>{1}, small, device);
  return text && text->size() == 60 && edge->statistics().skipped > 0 && edge->statistics().accepted > 0 ? 0 : 2;
}
