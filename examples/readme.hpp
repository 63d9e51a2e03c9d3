// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <specverify/all.hpp>
namespace sv = specverify;

// Your model has feed, row and truncate; your link has send, receive and now.
sv::status device(auto& small_model, auto& link, std::span<const sv::token_id> prompt, std::uint32_t V, auto show) {
  const sv::session_secret secret = sv::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");  // the device's own
  const sv::edge_options options{.session_id = 1, .secret = secret, .vocab_size = V, .token_budget = 200};
  auto edge = sv::make_edge(options, "k-sqs");  // or parts of your own
  if (!edge) return edge.error();
  return sv::generate(*edge, prompt, small_model, link, sv::on_committed(show)).error();
}

sv::status cloud(auto& large_model, auto& link, std::uint32_t V) {
  const sv::session_secret secret = sv::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");  // the cloud's own
  const std::uint64_t salt = sv::salt_from(std::random_device{});  // a new one for each session
  auto session = sv::make_cloud({.secret = secret, .salt = salt, .vocab_size = V});
  return session ? sv::serve(*session, large_model, link) : session.error();
}
