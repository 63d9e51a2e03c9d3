// SPDX-License-Identifier: Apache-2.0
// The model of the sessions here.
#pragma once
#include <specverify/all.hpp>
namespace sv = specverify;

struct toy_model {  // logits follow from the last token; the device's are flatter
  float scale;
  std::vector<sv::token_id> last{};
  std::array<float, 50> logits{};
  sv::status feed(std::uint32_t, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    return last.assign(tokens.end() - rows, tokens.end()), sv::status{};
  }
  sv::row_view<float> row(std::uint32_t i) {
    for (int v = 0; float& logit : logits) logit = static_cast<float>((7 * v++ + 3 * last[i]) % 11) * scale;
    return sv::logits_row<float>(logits);
  }
  void truncate(std::uint32_t) {}
};
