// SPDX-License-Identifier: Apache-2.0
// Step 4: the two sides. Each has a secret of its own; the session id is what they share.
#pragma once

#include "link.hpp"
#include "model.hpp"

#include <random>

inline specverify::result<specverify::session_statistics> run_device(int socket, auto show) {
  using namespace specverify;
  const edge_options options{.session_id = 1,
                             .secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3"),
                             .vocab_size = tutorial_model::vocab_size,
                             .token_budget = 60};
  auto edge = make_edge(options, top_k{16});
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
  auto cloud = make_cloud({.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"),
                           .salt = salt_from(std::random_device{}),
                           .vocab_size = tutorial_model::vocab_size});
  if (!cloud) return cloud.error();
  tutorial_model large{.noise = 0};
  socket_link link{socket};
  return serve(*cloud, large, link);
}
