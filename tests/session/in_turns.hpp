// SPDX-License-Identifier: Apache-2.0
// A whole session over a link without losses. Each side sends after the other has sent.
#ifndef SPECVERIFY_TESTS_SESSION_IN_TURNS_HPP
#define SPECVERIFY_TESTS_SESSION_IN_TURNS_HPP

#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace specverify_test {

template <class Edge, class Drafter, class Target>
void write_in_turns(Edge& edge, Drafter& drafter, specverify::cloud_session& cloud, Target& target,
                    std::span<const specverify::token_id> prompt) {
  using namespace specverify;
  std::vector<std::vector<std::byte>> said;
  const auto send = [&](const session_output& out) {
    if (out.action == session_action::send) said.emplace_back(out.bytes.begin(), out.bytes.end());
  };
  const auto hear = [&](auto& side, auto& model) {
    for (const std::vector<std::byte>& message : std::exchange(said, {})) {
      (void)side.receive(message, 1);
      REQUIRE(drive(exec::seq, side, model, send).ok());
    }
  };
  REQUIRE(edge.start(prompt, 1).ok());
  REQUIRE(drive(exec::seq, edge, drafter, send).ok());
  while (edge.state() != edge_state::finished) {
    REQUIRE(!said.empty());
    hear(cloud, target);
    hear(edge, drafter);
  }
}

}  // namespace specverify_test

#endif
