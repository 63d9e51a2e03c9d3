// SPDX-License-Identifier: Apache-2.0
#include <specverify/all.hpp>
namespace sv = specverify;

// Your model has feed, row and truncate; your link has send, receive and now.
sv::status device(auto& small_model, auto& link, std::span<const sv::token_id> prompt, std::uint32_t V, auto show) {
  const sv::edge_options options{.session_id = 1, .secret = 0xED6E, .vocab_size = V, .token_budget = 200};
  auto edge = sv::edge_session::make(options, sv::top_k{16});
  if (!edge) return edge.error();
  return sv::generate(*edge, prompt, small_model, link, sv::on_committed(show)).error();
}

sv::status cloud(auto& large_model, auto& link, std::uint32_t V) {
  auto session = sv::cloud_session::make({.secret = 0xC10D, .vocab_size = V});
  return session ? sv::serve(*session, large_model, link) : session.error();
}
