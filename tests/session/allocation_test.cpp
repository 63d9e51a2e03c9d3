// SPDX-License-Identifier: Apache-2.0
// After construction a session allocates nothing: per drafted token, per verdict, per message.
#include <support/alloc_guard.hpp>

#include <doctest/doctest.h>

#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/hash_model.hpp>

#include <array>

using namespace specverify;
using namespace specverify_test;

namespace {

template <class Policy>
std::uint64_t allocations_of(Policy policy, law_format format, std::uint64_t& emitted) {
  constexpr std::uint32_t vocab_size = 3000;
  const bool sparse = format == law_format::sparse_drop_zero || format == law_format::sparse_paper;
  edge_options device;
  device.format = {format, vocab_size, sparse || format == law_format::dense_lattice ? 100u : 0u, sparse ? 16u : 0u, 4, 1};
  device.token_budget = 60;
  device.max_length = 128;
  cloud_options server;
  server.largest = device.format;
  server.max_length = 128;
  auto edge = std::move(edge_session::make(device)).value();
  auto cloud = std::move(cloud_session::make(server)).value();
  hash_model target, drafter;
  target.vocab_size = drafter.vocab_size = vocab_size;
  drafter.agreement = 0.9F;
  drafter.own = 2;
  hash_engine edge_engine(drafter), cloud_engine(target);
  edge_engine.reserve(256, 128);
  cloud_engine.reserve(256, 128);
  const std::array<row_transform, 1> transforms{};
  const std::array<token_id, 3> prompt{1, 2, 3};
  bool sound = true;
  const alloc_guard guard;
  (void)edge.start(prompt, 1);
  while (edge.state() != edge_state::finished && edge.state() != edge_state::failed) {
    const session_output out = edge.next();
    if (out.action == session_action::none) break;
    if (out.action == session_action::rollback) sound = sound && edge_engine.cut(out.position);
    if (out.action == session_action::evaluate) {
      sound = sound && edge_engine.feed(out.position, out.tokens, out.rows);
      (void)edge.supply_row(policy, edge_engine.rows()[0], {}, 1);
    }
    if (out.action != session_action::send) continue;
    (void)cloud.receive(out.bytes, 1);
    for (session_output reply = cloud.next(); reply.action != session_action::none; reply = cloud.next()) {
      if (reply.action == session_action::rollback) sound = sound && cloud_engine.cut(reply.position);
      if (reply.action == session_action::evaluate) {
        sound = sound && cloud_engine.feed(reply.position, reply.tokens, reply.rows);
        (void)cloud.supply_rows(policy, row_span_provider<float>(cloud_engine.rows(), transforms), 1);
      }
      if (reply.action == session_action::send) {
        (void)edge.receive(reply.bytes, 1);
      }
    }
  }
  const std::uint64_t count = guard.count();
  CHECK(sound);
  emitted = edge.statistics().emitted;
  return count;
}

}  // namespace

TEST_CASE("PRF-7 no heap allocation per drafted token, per verdict and per message") {
  for (const law_format format :
       {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice, law_format::half_row, law_format::token_only}) {
    std::uint64_t emitted = 0;
    CHECK(allocations_of(exec::simd, format, emitted) == 0);
    CHECK(emitted == 60);
    CHECK(allocations_of(exec::seq, format, emitted) == 0);
    CHECK(emitted == 60);
  }
}
