// SPDX-License-Identifier: Apache-2.0
// After construction a session must not allocate: per drafted token, per verdict, per message.
#include <support/alloc_guard.hpp>
#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <specverify/host/drive.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <session/engine_model.hpp>

#include <array>
#include <utility>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

//! An engine with every optional member of a session's model; the numbers mean nothing.
struct reserved_model : engine_model {
  explicit reserved_model(hash_engine& used) : engine_model{used} {}
  std::array<float, 8> state{1, 2, 3};
  std::array<float, 4> weights{0.4F, 0.3F, 0.2F, 0.1F};
  std::span<const float> hidden(std::uint32_t) const { return state; }
  std::span<const float> attention(std::uint32_t) const { return weights; }
  status scores(const session_output&, std::span<double> out) const {
    constexpr std::array<double, 4> given{0.1, 0.9, 0.4, 0.6};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = given[i];
    return {};
  }
};

//! Messages of one side's turn, in preallocated memory.
struct messages {
  messages() {
    for (auto* turn : {&said, &heard})
      for (std::vector<std::byte>& message : *turn) message.reserve(1 << 18);
  }
  void push(std::span<const std::byte> message) { said[count++].assign(message.begin(), message.end()); }
  //! Swaps the buffers, and returns the number of messages to receive.
  std::size_t turn() {
    std::swap(said, heard);
    return std::exchange(count, 0);
  }
  std::array<std::vector<std::byte>, 4> said{}, heard{};
  std::size_t count = 0;
};

struct system_options {
  law_format format = law_format::sparse_drop_zero;
  wire_rule rule = wire_rule::token;
  bool bonus = true;
  std::uint32_t draft_length = 4;
  attachment_format attachments{};
  bool draw_from_row = false;
  bool coded = false;  // ids by a table, over shared noise
};

template <class Policy, class Skip = always_send>
std::uint64_t allocations_of(Policy policy, const system_options& system, std::uint64_t& emitted,
                             const Skip& skip = {}) {
  const law_format format = system.format;
  constexpr std::uint32_t vocab_size = 3000;
  edge_options device;
  device.secret = secret_of(1);
  device.vocab_size = vocab_size;
  device.format = format;
  device.attachments = system.attachments;
  const fixed_window window{system.draft_length};
  device.rule = system.rule;
  device.bonus = system.bonus;
  device.draw_from_row = system.draw_from_row;
  const prior_table* const table = &table_of(vocab_size, 1);
  if (system.coded) {
    device.noise = noise_kind::philox;
    device.prior = table;
    device.ids = id_code::noise;
  }
  device.token_budget = 60;
  device.max_text_length = 128;
  cloud_options server;
  server.secret = secret_of(2);
  server.salt = 1;
  server.vocab_size = vocab_size;
  server.priors = {&table, system.coded ? std::size_t{1} : 0};
  server.limits = cloud_session::limits_for(format_of(device, window));
  server.max_text_length = 128;
  auto edge = std::move(make_edge(device, window, skip)).value();
  auto cloud = std::move(make_cloud(server)).value();
  hash_model target, drafter;
  target.vocab_size = drafter.vocab_size = vocab_size;
  drafter.agreement = 0.9F;
  drafter.own = 2;
  hash_engine edge_engine(drafter), cloud_engine(target);
  edge_engine.reserve(256, 128);
  cloud_engine.reserve(256, 128);
  reserved_model small{edge_engine}, large{cloud_engine};
  const std::array<token_id, 3> prompt{1, 2, 3};
  messages said;
  const auto send = [&](const session_output& out) {
    if (out.action == session_action::send) said.push(out.bytes);
  };
  const auto hear = [&](auto& side, auto& model) {
    status ended;
    for (std::size_t i = 0, count = said.turn(); i < count && ended.ok(); ++i) {
      (void)side.receive(said.heard[i], 1);
      ended = drive(policy, side, model, send);
    }
    return ended;
  };
  const alloc_guard guard;
  (void)edge.start(prompt, 1);
  status ended = drive(policy, edge, small, send);
  while (ended.ok() && edge.state() != edge_state::finished) {
    ended = hear(cloud, large);
    if (ended.ok()) ended = hear(edge, small);
  }
  const std::uint64_t count = guard.count();
  CHECK(ended.ok());
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
  system_options coded{law_format::token_only, wire_rule::greedy};
  coded.coded = true;
  std::uint64_t emitted = 0;
  CHECK(allocations_of(exec::simd, coded, emitted) == 0);
  CHECK(emitted == 60);
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
