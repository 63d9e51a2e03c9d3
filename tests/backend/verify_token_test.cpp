// SPDX-License-Identifier: Apache-2.0
//! Verdicts under every execution policy and row type are the same tokens, unless a decision was counted as a near tie.
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/token.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sv = specverify;

namespace {

template <class Scalar>
Scalar stored(double value) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return static_cast<Scalar>(value);
  } else if constexpr (std::is_same_v<Scalar, sv::bfloat16_bits>) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)};
  } else {
    // fp16 by truncation, for values of magnitude 2^-14 .. 2^15
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    const auto exponent = static_cast<int>((bits >> 23) & 255u) - 127;
    if (exponent < -14) return {0};
    return {static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | (static_cast<std::uint32_t>(exponent + 15) << 10) |
                                       ((bits >> 13) & 1023u))};
  }
}

template <class Scalar>
void compare(std::uint32_t vocab_size, double temperature, std::uint32_t rounds) {
  constexpr std::uint32_t length = 3;
  const sv::philox noise{{{vocab_size, 77}}};
  const sv::philox source{{{5, 6}}};
  std::vector<sv::row_transform> transforms(1);
  transforms[0].temperature = temperature;
  std::vector<std::byte> bytes(sv::verify_workspace_size(vocab_size, transforms[0], length));
  sv::workspace scratch{std::span<std::byte>(bytes)};
  for (std::uint32_t round = 0; round < rounds; ++round) {
    std::vector<std::vector<Scalar>> values(length + 1, std::vector<Scalar>(vocab_size));
    std::vector<sv::row_view<Scalar>> rows;
    for (std::uint32_t i = 0; i <= length; ++i) {
      for (std::uint32_t v = 0; v < vocab_size; ++v) {
        const sv::random_block block = noise({round, i, v, sv::purpose::training, 0});
        values[i][v] = stored<Scalar>(8.0 * sv::decision_uniform(block) * sv::decision_uniform(block, 1));
      }
      rows.push_back(sv::logits_row<Scalar>(values[i]));
    }
    const sv::row_span_provider<Scalar> provider(rows, transforms);
    std::vector<sv::token_id> ids;
    std::vector<std::uint32_t> counts;
    for (std::uint32_t v = 0; v < vocab_size && ids.size() < 32; v += 1 + vocab_size / 32) {
      ids.push_back(static_cast<sv::token_id>(v));
      counts.push_back(1 + v % 5);
    }
    sv::law law{ids.data(), counts.data(), static_cast<std::uint32_t>(ids.size()), 0, 0, vocab_size};
    for (const std::uint32_t count : counts) law.resolution += count;
    std::vector<sv::draft> drafts;
    for (std::uint32_t i = 0; i < length; ++i)
      drafts.push_back(sv::draw(law, sv::uniforms{source, i, round}.at(sv::purpose::draft_draw)));
    const sv::uniforms random{source, 0, round};
    const std::span<const sv::draft> span(drafts);
    const auto a = sv::token_rule{}.verify(sv::exec::seq, span, provider, random, {}, scratch);
    const auto b = sv::token_rule{}.verify(sv::exec::simd, span, provider, random, {}, scratch);
    INFO("V ", vocab_size, ", round ", round);
    REQUIRE((a.ok() && b.ok()));
    if (a->counters.near_ties == 0 && b->counters.near_ties == 0) {
      CHECK(a->accepted == b->accepted);
      CHECK(a->next_token == b->next_token);
    }
    const auto c = sv::greedy_rule{}.verify(sv::exec::seq, span, provider, random, {}, scratch);
    const auto d = sv::greedy_rule{}.verify(sv::exec::simd, span, provider, random, {}, scratch);
    CHECK(c->accepted == d->accepted);
    CHECK(c->next_token == d->next_token);
  }
}

}  // namespace

TEST_CASE("T32 verdicts agree between execution policies: every row type, sizes around lanes and blocks") {
  for (const std::uint32_t vocab_size : {1u, 2u, 15u, 16u, 17u, 31u, 1023u, 1024u, 1025u, 5000u}) {
    const std::uint32_t rounds = vocab_size > 1000 ? 10 : 60;
    compare<float>(vocab_size, 1.0, rounds);
    compare<double>(vocab_size, 0.7, rounds);
    compare<sv::float16_bits>(vocab_size, 1.0, rounds);
    compare<sv::bfloat16_bits>(vocab_size, 1.3, rounds);
    compare<float>(vocab_size, 0.0, rounds);
  }
}
