// SPDX-License-Identifier: Apache-2.0
//! A session whose messages go from hand to hand: nothing is lost, no time passes, both engines answer at once.
#ifndef SPECVERIFY_SESSION_HAND_TO_HAND_HPP
#define SPECVERIFY_SESSION_HAND_TO_HAND_HPP

#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/hash_model.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

namespace specverify_test {

struct hand_to_hand {
  std::deque<std::vector<std::byte>> up, down;
  std::vector<std::byte> journal;
  bool finished = false;

  //! Does what one output of the edge asks for.
  template <class Policy, class Edge>
  void serve(Policy policy, const specverify::session_output& out, Edge& edge, hash_engine& engine) {
    using specverify::session_action;
    if (out.action == session_action::send) up.emplace_back(out.bytes.begin(), out.bytes.end());
    if (out.action == session_action::journal) journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
    if (out.action == session_action::rollback) REQUIRE(engine.cut(out.position));
    REQUIRE(out.action != session_action::failed);
    finished = finished || out.action == session_action::finished;
    if (out.action == session_action::evaluate) {
      REQUIRE(engine.feed(out.position, out.tokens, out.rows));
      REQUIRE(edge.supply_row(policy, engine.rows()[0], specverify::row_transform{}, 1).ok());
    }
  }

  //! What was sent up reaches the cloud, and what it says to that reaches the edge.
  template <class Policy, class Edge>
  void exchange(Policy policy, specverify::cloud_session& cloud, hash_engine& engine, Edge& edge) {
    using specverify::session_action;
    const std::array<specverify::row_transform, 1> as_it_is{};
    for (; !up.empty(); up.pop_front()) REQUIRE(cloud.receive(up.front(), 1).ok());
    for (specverify::session_output out = cloud.next(); out.action != session_action::none; out = cloud.next()) {
      if (out.action == session_action::send) down.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::rollback) REQUIRE(engine.cut(out.position));
      REQUIRE(out.action != session_action::failed);
      if (out.action == session_action::evaluate) {
        REQUIRE(engine.feed(out.position, out.tokens, out.rows));
        REQUIRE(cloud.supply_rows(policy, specverify::row_span_provider<float>(engine.rows(), as_it_is), 1).ok());
      }
    }
    for (; !down.empty(); down.pop_front()) REQUIRE(edge.receive(down.front(), 1).ok());
  }
};

}  // namespace specverify_test

#endif
