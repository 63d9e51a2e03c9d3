// SPDX-License-Identifier: Apache-2.0
// Three parts of one's own in one session, given in any order: sparsifier, window and gate.
#include <random>
#include <specverify/testing/message_pipe.hpp>
#include <thread>
#include "even_ranks.hpp"
#include "toy_model.hpp"

// One draft more than the cloud took last time, and none behind a law of a single token.
struct growing_window {
  sv::draft_plan begin(const sv::observation& seen) const noexcept { return {std::min(seen.last_accepted + 1, 4u)}; }
  bool proceed(std::uint32_t, const sv::law& next, std::uint64_t) const noexcept { return next.size > 1; }
};

// Keeps every seventh position.
struct seventh {
  static constexpr bool needs_uncertainty = false, needs_attention = false, needs_coin = false;
  static constexpr sv::guarantee strength = sv::guarantee::lossy;
  bool send(const sv::skip_observation& seen) const noexcept { return seen.position % 7 != 0; }
};

int main() {
  std::random_device random;
  auto edge = sv::make_edge(
      {.secret = sv::secret_from(random), .vocab_size = 50, .token_budget = 80, .attachments = {.max_skipped = 1}},
      seventh{}, growing_window{}, even_ranks{8});
  auto cloud = sv::make_cloud({.secret = sv::secret_from(random),
                               .salt = sv::salt_from(random),
                               .vocab_size = 50,
                               .limits = {.max_skipped = 1}});
  if (!edge || !cloud) return 1;
  sv::message_pipe pipe;
  toy_model small{0.7f}, large{1.0f};
  std::thread serving([&, server = pipe.cloud()]() mutable { (void)sv::serve(*cloud, large, server); });
  const auto text = [&, device = pipe.edge()]() mutable {
    return sv::generate(*edge, std::array<sv::token_id, 1>{1}, small, device);
  }();
  serving.join();
  const sv::session_statistics& counted = edge->statistics();
  if (!text || text->size() != 80) return 2;
  return counted.skipped > 0 && counted.accepted > 0 && counted.skipped <= 13 ? 0 : 3;
}
