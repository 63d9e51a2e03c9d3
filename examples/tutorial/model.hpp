// SPDX-License-Identifier: Apache-2.0
// Step 2: an engine becomes a language_model. Replace the body of `feed` by your engine's decode call.
#pragma once

#include <specverify/all.hpp>

#include <cmath>
#include <vector>

struct tutorial_model {
  static constexpr std::uint32_t vocab_size = 200;
  double noise;  // the small model sees the large one's logits through noise
  std::vector<float> logits{};

  // The tokens stand at `position` and after; the rows of the last `wanted` of them are asked for.
  specverify::status feed(std::uint32_t position, std::span<const specverify::token_id> tokens, std::uint32_t wanted) {
    (void)position;  // an engine with a cache writes there
    logits.clear();
    for (const specverify::token_id last : tokens.last(wanted)) {
      for (std::uint32_t v = 0; v < vocab_size; ++v) {
        const double angle = static_cast<double>((v * 37 + static_cast<std::uint32_t>(last) * 101) % 211);
        logits.push_back(static_cast<float>(40 * std::sin(angle) + noise * std::sin(3 * angle)));
      }
    }
    return {};
  }
  // Row i of those; it lives until the next feed.
  specverify::row_view<float> row(std::uint32_t i) const {
    return specverify::logits_row(logits.data() + i * vocab_size, vocab_size);
  }
  // Forget what stands at `position` and after: rejected drafts.
  void truncate(std::uint32_t) {}
};
