// SPDX-License-Identifier: Apache-2.0
// Implements a language model with invented logits, in place of an engine. The small model adds noise to the logits of
// the large model.
#pragma once
#include <specverify/all.hpp>

#include <cmath>
#include <vector>

struct toy_model {
  static constexpr std::uint32_t vocab_size = 200;
  double noise;
  std::vector<float> logits{};

  specverify::status feed(std::uint32_t, std::span<const specverify::token_id> tokens, std::uint32_t wanted) {
    logits.clear();
    for (const specverify::token_id last : tokens.last(wanted)) {
      for (std::uint32_t v = 0; v < vocab_size; ++v) {
        const double angle = static_cast<double>((v * 37 + static_cast<std::uint32_t>(last) * 101) % 211);
        logits.push_back(static_cast<float>(40 * std::sin(angle) + noise * std::sin(3 * angle)));
      }
    }
    return {};
  }
  specverify::row_view<float> row(std::uint32_t i) const {
    return specverify::logits_row(logits.data() + i * vocab_size, vocab_size);
  }
  void truncate(std::uint32_t) {}
};
