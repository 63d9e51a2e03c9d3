// SPDX-License-Identifier: Apache-2.0
// Step 4: the two sides. Each has a secret of its own; the session id is what they share.
#pragma once

#include "link.hpp"
#include "model.hpp"

inline specverify::result<specverify::session_statistics> run_device(int socket, auto show) {
  using namespace specverify;
  const edge_options options{.session_id = 1,
                             .secret = 0xED6E,
                             .vocab_size = tutorial_model::vocab_size,
                             .token_budget = 60,
                             .format = {.max_draft_length = 4}};
  auto edge = edge_session::make(options, top_k{16});
  if (!edge) return edge.error();
  tutorial_model small{.noise = 1.0};
  socket_link link{socket};
  const token_id prompt[] = {1};
  const auto text = generate(*edge, prompt, small, link, on_committed(show));
  if (!text) return text.error();
  return edge->statistics();
}

inline specverify::status run_cloud(int socket) {
  using namespace specverify;
  auto cloud = cloud_session::make({.secret = 0xC10D, .vocab_size = tutorial_model::vocab_size});
  if (!cloud) return cloud.error();
  tutorial_model large{.noise = 0};
  socket_link link{socket};
  return serve(*cloud, large, link);
}
