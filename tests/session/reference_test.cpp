// SPDX-License-Identifier: Apache-2.0
// A session's text must equal that of a plain loop that calls row, draft and rule directly with the same keys, without
// a session and without bytes.
#include <doctest/doctest.h>

#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/verify/token.hpp>

#include <session/simulation.hpp>

#include <algorithm>

using namespace specverify;
using namespace specverify_test;

namespace {

std::vector<token_id> plain_loop(std::uint64_t session_id, std::uint32_t tokens) {
  constexpr std::uint32_t vocab_size = 40, window = 4, resolution = 50;
  hash_model target, drafter;
  target.vocab_size = drafter.vocab_size = vocab_size;
  target.seed = drafter.seed = 1000 + session_id;
  drafter.agreement = 0.8F;
  drafter.own = 5 + session_id;
  std::vector<token_id> text;
  for (std::uint32_t i = 0; i < 5; ++i) text.push_back(static_cast<token_id>(mix(session_id * 77 + i) % vocab_size));
  const philox draws{derive_draft_key(secret_of(815), session_id)},
      decisions{derive_verdict_key(secret_of(4711), session_id, 1)};
  const std::uint32_t end = 5 + tokens;
  const top_k sparsifier{8};
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, sparsifier.request({}, vocab_size)) +
                                draft_law_workspace_size(vocab_size, sparsifier, {}) + 64),
      scratch(verify_workspace_size(vocab_size, {}, window) + 64);
  const std::array<row_transform, 1> transforms{};
  for (std::uint32_t round = 1; text.size() < end; ++round) {
    const auto base = static_cast<std::uint32_t>(text.size());
    auto block = std::move(draft_block::make({window, 64})).value();
    std::vector<token_id> drafted = text;
    for (std::uint32_t i = 0; i < std::min(window, end - base - 1); ++i) {
      hash_engine engine(drafter);
      REQUIRE(engine.feed(0, drafted, 1));
      workspace space{std::span<std::byte>(memory)};
      const auto reading =
          read_row(exec::seq, engine.rows()[0], transforms[0], sparsifier.request({}, vocab_size), space);
      REQUIRE(reading.ok());
      const auto made = make_draft_law(*reading, sparsifier, {}, {.resolution = resolution}, space);
      REQUIRE(made.ok());
      const draft drawn = draw(made->drafted, uniforms{draws, base + i, round}.at(purpose::draft_draw));
      drafted.push_back(drawn.token());
      REQUIRE(block.push(drawn).ok());
    }
    hash_engine engine(target);
    REQUIRE(engine.feed(0, drafted, block.size() + 1));
    verify_request request;
    request.remaining_budget = end - base;
    workspace space{std::span<std::byte>(scratch)};
    const auto decided =
        token_rule{}.verify(exec::seq, block.drafts(), row_span_provider<float>(engine.rows(), transforms),
                            uniforms{decisions, base, round}, request, space);
    REQUIRE(decided.ok());
    for (std::uint32_t i = 0; i < decided->accepted; ++i) text.push_back(drafted[base + i]);
    if (decided->next_token != no_token) text.push_back(decided->next_token);
  }
  return {text.begin() + 5, text.end()};
}

}  // namespace

TEST_CASE("COR-7 DET-4 a session writes the text of the plain loop") {
  for (std::uint64_t session_id = 1; session_id <= 20; ++session_id) {
    const simulated_system system = plain_system(session_id);
    simulation session(system, {});
    REQUIRE(session.run());
    CHECK(session.text() == plain_loop(session_id, system.device.token_budget));
  }
}
