// SPDX-License-Identifier: Apache-2.0
//! A session whose messages are passed directly: nothing is lost, no time passes, and both engines answer at once.
#ifndef SPECVERIFY_SESSION_HAND_TO_HAND_HPP
#define SPECVERIFY_SESSION_HAND_TO_HAND_HPP

#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/hash_model.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <deque>
#include <vector>

namespace specverify_test {

struct hand_to_hand {
  std::deque<std::vector<std::byte>> up, down;
  std::vector<std::byte> journal;
  bool finished = false;

  //! An engine that must agree with the session at every step.
  struct strict_model {
    hash_engine& engine;
    [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const token_id> tokens,
                                          std::uint32_t rows) {
      REQUIRE(engine.feed(position, tokens, rows));
      return {};
    }
    [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const { return engine.rows()[i]; }
    void truncate(std::uint32_t position) { REQUIRE(engine.cut(position)); }
  };

  //! Does the edge's work until it waits for the cloud. `hear` gets each output after the journal's.
  template <class Policy, class Edge, class Hear>
  void serve(Policy policy, Edge& edge, hash_engine& engine, const Hear& hear) {
    using specverify::session_action;
    strict_model model{engine};
    const auto observer = [&](const specverify::session_output& out) {
      if (out.action == session_action::send) up.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == session_action::journal) journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
      REQUIRE(out.action != session_action::failed);
      finished = finished || out.action == session_action::finished;
      hear(out);
    };
    REQUIRE(specverify::drive(policy, edge, model, observer).ok());
  }

  //! Delivers the edge's messages to the cloud, and the cloud's answers to the edge.
  template <class Policy, class Edge>
  void exchange(Policy policy, specverify::cloud_session& cloud, hash_engine& engine, Edge& edge) {
    using specverify::session_action;
    strict_model model{engine};
    const auto observer = [&](const specverify::session_output& out) {
      if (out.action == session_action::send) down.emplace_back(out.bytes.begin(), out.bytes.end());
      REQUIRE(out.action != session_action::failed);
    };
    for (; !up.empty(); up.pop_front()) {
      REQUIRE(cloud.receive(up.front(), 1).ok());
      REQUIRE(specverify::drive(policy, cloud, model, observer).ok());
    }
    for (; !down.empty(); down.pop_front()) REQUIRE(edge.receive(down.front(), 1).ok());
  }
};

}  // namespace specverify_test

#endif
