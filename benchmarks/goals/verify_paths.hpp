// SPDX-License-Identifier: Apache-2.0
//! Times a rejection, and a whole round of verification, including the readings of the rows.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_VERIFY_PATHS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_VERIFY_PATHS_HPP

#include <specverify/distribution/law.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/verify/token.hpp>

#include "path.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace bench_goals {

using namespace specverify;

inline constexpr std::uint32_t verified_drafts = 8;

//! The lattice distribution of `members` ids from 0 on, with counts as equal as the resolution allows. The first 16 ids
//! include the largest entry of every ordinary row.
struct equal_law {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
  std::uint32_t resolution, vocab_size;

  equal_law(std::uint32_t members, std::uint32_t total, std::uint32_t size)
      : ids(members), counts(members), resolution(total), vocab_size(size) {
    std::iota(ids.begin(), ids.end(), 0);
    for (std::uint32_t i = 0; i < members; ++i) counts[i] = total / members + (i < total % members ? 1 : 0);
  }
  law view() const {
    return {ids.data(), counts.data(), static_cast<std::uint32_t>(ids.size()), 0, resolution, vocab_size};
  }
};

//! Digest, and the token after a rejected draft from a distribution of `members` ids.
inline path rejection(std::string name, std::uint32_t vocab_size, std::uint32_t members, std::uint32_t resolution) {
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, {}));
  return {std::move(name), [memory = std::move(memory), drafted = equal_law(members, resolution, vocab_size),
                            round = 0u](std::span<const float> row) mutable {
            workspace scratch{std::span(memory)};
            const auto read = read_row(exec::simd, logits_row(row), {}, {}, scratch);
            must(read.ok(), "read_row");
            const uniforms random{philox{{1, 2}}, round++, 0};
            const auto drawn = read->residual(drafted.view(), random.at(purpose::residual_draw));
            must(drawn.ok(), "residual");
            keep(drawn->token);
          }};
}

//! token_rule on rows that come one by one; the ninth row runs the round. Every draft is the row's largest entry, and
//! the draft's distribution gives it far less than the target's probability. So all drafts are accepted and the bonus
//! token is drawn.
inline path verification(std::string name, std::uint32_t vocab_size) {
  struct nine_rows {
    std::vector<std::byte> memory;
    equal_law drafted;
    std::array<row_view<float>, verified_drafts + 1> rows{};
    std::array<claimed_draft, verified_drafts> drafts{};
    std::array<row_transform, 1> transform{};
    std::uint32_t filled = 0, round = 0;
  };
  nine_rows held{std::vector<std::byte>(verify_workspace_size(vocab_size, {}, verified_drafts)),
                 equal_law(64, 100, vocab_size)};
  path made{std::move(name), [held = std::move(held)](std::span<const float> row) mutable {
              if (held.filled < verified_drafts) {
                const auto largest = std::max_element(row.begin(), row.begin() + 16) - row.begin();
                const auto token = static_cast<token_id>(largest);
                held.drafts[held.filled] = {token, held.drafted.view().count(token), held.drafted.resolution};
              }
              held.rows[held.filled++] = logits_row(row);
              if (held.filled < held.rows.size()) return;
              held.filled = 0;
              workspace scratch{std::span(held.memory)};
              const auto said = token_rule{}.verify(exec::simd, std::span<const claimed_draft>(held.drafts),
                                                    row_span_provider<float>(held.rows, held.transform),
                                                    uniforms{philox{{1, 2}}, held.round++, 0}, {}, scratch);
              must(said.ok() && said->accepted == verified_drafts && said->source == token_source::bonus, "verify");
              keep(said->next_token);
            }};
  made.rows = verified_drafts + 1;
  return made;
}

inline std::vector<path> verify_paths(std::uint32_t vocab_size) {
  std::vector<path> paths;
  paths.push_back(rejection("digest, residual", vocab_size, 64, 100));
  paths.push_back(rejection("digest, residual, dense", vocab_size, vocab_size, vocab_size * 4));
  paths.push_back(verification("verify 8", vocab_size));
  return paths;
}

}  // namespace bench_goals

#endif
