// SPDX-License-Identifier: Apache-2.0
//! A whole round with bytes in between: drawn, encoded, decoded, verified. The verifier can see only the values that
//! the decoder made.
#include "law/harness.hpp"

#include <specverify/codec/message.hpp>

using namespace law_test;

namespace {

std::uint32_t total_of(const std::vector<std::uint32_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0u);
}

//! Makes one drafter law for every prefix, because a wire format has one resolution. The target's laws depend on the
//! prefix.
world<double> wire_world(std::vector<std::uint32_t> counts, std::uint32_t draft_length, bool drop_zero) {
  world<double> in = make_world<double>(shape::random, static_cast<std::uint32_t>(counts.size()), draft_length, 71);
  for (owned_law& law : in.drafter) law = law_of_counts(counts, drop_zero);
  return in;
}

template <class Policy>
sequence round_over_the_wire(Policy policy, const world<double>& in, const sv::wire_format& format,
                             const sv::scripted_source& source, bool claims_only) {
  const sv::wire_place place{7, 0};
  std::vector<sv::draft> drafts;
  std::vector<sv::claimed_draft> claims;
  std::vector<std::size_t> nodes{0};
  for (std::uint32_t i = 0; i < in.draft_length; ++i) {
    drafts.push_back(sv::draw(in.drafter[nodes.back()].view(), sv::uniforms{source, i, 0}.at(sv::purpose::draft_draw)));
    claims.push_back({drafts.back().token(), 0, 0});
    nodes.push_back(in.child(nodes.back(), drafts.back().token()));
  }
  std::vector<std::byte> message(sv::max_draft_bytes(format, in.draft_length)),
      memory(sv::decode_draft_workspace_size(format)),
      more(sv::verify_workspace_size(in.vocab_size, in.transform, in.draft_length));
  sv::workspace decode_space{std::span<std::byte>(memory)}, scratch{std::span<std::byte>(more)};
  sequence text;
  const auto commit = [&](const auto& read) {
    const auto said =
        sv::token_rule{1}.verify(policy, read, path_rows<double>{in, nodes}, sv::uniforms{source, 0, 0}, {}, scratch);
    if (!said) return;
    for (std::uint32_t i = 0; i < said->accepted; ++i) text.push_back(drafts[i].token());
    text.push_back(said->next_token);
  };
  if (claims_only) {
    std::vector<sv::claimed_draft> read(in.draft_length);
    const auto bytes = sv::encode_claims(place, format, claims, message);
    if (!bytes) return {-9};
    const auto came = sv::decode_claims(place, format, *bytes, read);
    if (!came || came->claims.size() != in.draft_length) return {-8};
    commit(std::span<const sv::claimed_draft>(read));
  } else {
    auto block = sv::received_draft_block::make({in.draft_length, sv::max_draft_entries(format, in.draft_length)});
    const auto bytes = sv::encode_draft(place, format, std::span<const sv::draft>(drafts), message);
    if (!bytes) return {-9};
    if (!sv::decode_draft(place, format, *bytes, block.value(), decode_space)) return {-8};
    commit(block.value().drafts());
  }
  return text;
}

double wire_distance(const world<double>& in, const sv::wire_format& format, bool claims_only = false) {
  double worst = 0;
  for_each_policy([&](auto policy, const std::string&) {
    const auto law = sv::enumerate_law(
        [&](const sv::scripted_source& source) { return round_over_the_wire(policy, in, format, source, claims_only); },
        {.checks = 500});
    REQUIRE(law.complete);
    for (const auto& entry : law.outcomes) REQUIRE(entry.outcome.front() >= 0);  // otherwise a message was refused
    worst = std::max(worst, text_distance(law, in));
  });
  return worst;
}

}  // namespace

TEST_CASE("T1 COR-2 drafts that travelled as bytes keep the target's law: every format") {
  const std::vector<std::uint32_t> counts{3, 0, 5, 2};
  sv::wire_format format;
  format.vocab_size = 4;
  format.max_draft_length = 2;
  format.resolution = total_of(counts);
  SUBCASE("sparse_drop_zero") {
    const double wire_text_distance = wire_distance(wire_world(counts, 2, true), format);
    CHECK(wire_text_distance <= 1e-12);
  }
  SUBCASE("sparse_paper, a zero count among three ids") {
    format.format = sv::law_format::sparse_paper;
    world<double> in = wire_world(counts, 1, true);
    for (owned_law& law : in.drafter) law = {{0, 1, 3}, {3, 0, 7}, 0, 4};
    const double wire_text_distance = wire_distance(in, format);
    CHECK(wire_text_distance <= 1e-12);
  }
  SUBCASE("dense_lattice") {
    format.format = sv::law_format::dense_lattice;
    const double wire_text_distance = wire_distance(wire_world(counts, 1, false), format);
    CHECK(wire_text_distance <= 1e-12);
  }
  SUBCASE("fp16_row") {
    format.format = sv::law_format::fp16_row;
    format.resolution = 0;
    // multiples of 2^-24 that fp16 holds
    const std::vector<std::uint32_t> halves{1u << 22, 3u << 20, 1u << 23, 1u << 21};
    const double wire_text_distance = wire_distance(wire_world(halves, 1, true), format);
    CHECK(wire_text_distance <= 1e-11);
  }
  SUBCASE("token_only: the verifier knows no law, and needs none") {
    format.format = sv::law_format::token_only;
    format.resolution = 0;
    const double wire_text_distance = wire_distance(wire_world(counts, 1, true), format, true);
    CHECK(wire_text_distance <= 1e-12);
  }
}
