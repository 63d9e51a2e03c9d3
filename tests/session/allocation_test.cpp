// SPDX-License-Identifier: Apache-2.0
// After construction a session allocates nothing: per drafted token, per verdict, per message.
#include <support/alloc_guard.hpp>

#include <doctest/doctest.h>

#include <specverify/policy/skip.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/hash_model.hpp>

#include <array>

using namespace specverify;
using namespace specverify_test;

namespace {

struct system_options {
  law_format format = law_format::sparse_drop_zero;
  wire_rule rule = wire_rule::token;
  bool bonus = true;
  std::uint32_t draft_length = 4;
  attachment_format attachments{};
  bool draw_from_row = false;
};

template <class Policy, class Skip = always_send>
std::uint64_t allocations_of(Policy policy, const system_options& system, std::uint64_t& emitted,
                             const Skip& skip = {}) {
  const law_format format = system.format;
  constexpr std::uint32_t vocab_size = 3000;
  const bool sparse = format == law_format::sparse_drop_zero || format == law_format::sparse_paper;
  edge_options device;
  device.format = {format,
                   vocab_size,
                   sparse || format == law_format::dense_lattice || format == law_format::top_k_tail ? 100u : 0u,
                   sparse ? 16u : 0u,
                   system.draft_length,
                   1,
                   system.attachments};
  device.rule = system.rule;
  device.bonus = system.bonus;
  device.draw_from_row = system.draw_from_row;
  device.token_budget = 60;
  device.max_text_length = 128;
  cloud_options server;
  server.largest = device.format;
  server.max_text_length = 128;
  auto edge = std::move(basic_edge_session<top_k, draft_plan, Skip>::make(device, {}, {}, skip)).value();
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
  const std::array<float, 8> hidden{1, 2, 3};
  const std::array<float, 4> attention{0.4F, 0.3F, 0.2F, 0.1F};
  const std::array<double, 4> scores{0.1, 0.9, 0.4, 0.6};
  bool sound = true;
  const alloc_guard guard;
  (void)edge.start(prompt, 1);
  while (edge.state() != edge_state::finished && edge.state() != edge_state::failed) {
    const session_output out = edge.next();
    if (out.action == session_action::none) break;
    if (out.action == session_action::rollback) sound = sound && edge_engine.cut(out.position);
    if (out.action == session_action::evaluate) {
      sound = sound && edge_engine.feed(out.position, out.tokens, out.rows);
      (void)edge.supply_row(policy, edge_engine.rows()[0], {}, {hidden, attention}, 1);
    }
    if (out.action != session_action::send) continue;
    (void)cloud.receive(out.bytes, 1);
    for (session_output reply = cloud.next(); reply.action != session_action::none; reply = cloud.next()) {
      if (reply.action == session_action::rollback) sound = sound && cloud_engine.cut(reply.position);
      if (reply.action == session_action::evaluate) {
        sound = sound && cloud_engine.feed(reply.position, reply.tokens, reply.rows);
        (void)cloud.supply_rows(policy, row_span_provider<float>(cloud_engine.rows(), transforms), 1);
      }
      if (reply.action == session_action::score) (void)cloud.supply_scores(std::span(scores).first(reply.rows), 1);
      if (reply.action == session_action::send) (void)edge.receive(reply.bytes, 1);
    }
  }
  const std::uint64_t count = guard.count();
  CHECK(sound);
  emitted = edge.statistics().emitted;
  return count;
}

}  // namespace

TEST_CASE("PRF-7 no heap allocation per drafted token, per verdict and per message") {
  for (const law_format format : {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice,
                                  law_format::fp16_row, law_format::token_only}) {
    std::uint64_t emitted = 0;
    CHECK(allocations_of(exec::simd, {format}, emitted) == 0);
    CHECK(emitted == 60);
    CHECK(allocations_of(exec::seq, {format}, emitted) == 0);
    CHECK(emitted == 60);
  }
}

TEST_CASE(
    "PRF-7 no heap allocation where the edge commits tokens alone, nor with hidden states with each draft or on "
    "request") {
  std::uint64_t emitted = 0;
  system_options hybrid{law_format::fp16_row, wire_rule::token, false, 1, {}};
  hybrid.attachments.max_skipped = 8;
  CHECK(allocations_of(exec::simd, hybrid, emitted, uncertainty_gate{0.5}) == 0);
  CHECK(emitted == 60);
  CHECK(allocations_of(exec::seq, hybrid, emitted, uncertainty_and_importance_gate{0.5}) == 0);
  CHECK(emitted == 60);
  system_options compressed{law_format::top_k_tail, wire_rule::token, false, 1, {}};
  compressed.attachments.max_skipped = 8;
  for (const bool from_row : {false, true}) {
    compressed.draw_from_row = from_row;
    CHECK(allocations_of(exec::simd, compressed, emitted, random_skip{0.5}) == 0);
    CHECK(emitted == 60);
    CHECK(allocations_of(exec::seq, compressed, emitted, random_skip{0.5}) == 0);
    CHECK(emitted == 60);
  }
  for (const bool with_draft : {true, false}) {
    system_options semantic{
        law_format::token_only, wire_rule::semantic, true, 4, {8, hidden_format::int8, with_draft, true, 0}};
    CHECK(allocations_of(exec::simd, semantic, emitted) == 0);
    CHECK(emitted == 60);
    CHECK(allocations_of(exec::seq, semantic, emitted) == 0);
    CHECK(emitted == 60);
  }
}
