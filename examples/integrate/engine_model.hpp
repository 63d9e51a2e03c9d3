// SPDX-License-Identifier: Apache-2.0
// Adapts the engine to a session with three members.
#pragma once
#include <specverify/all.hpp>

#include "engine.hpp"

namespace sv = specverify;

struct engine_model {
  engine& mine;
  int first = 0;  // index of the first requested row

  sv::status feed(std::uint32_t position, std::span<const sv::token_id> tokens, std::uint32_t rows) {
    const int count = static_cast<int>(tokens.size());
    const int code = mine.decode(static_cast<int>(position), tokens.data(), count);
    first = count - static_cast<int>(rows);
    if (code == 0) return {};
    if (code == 1) return {sv::errc::context_full, sv::part::host, engine::context};
    return {sv::errc::engine_failed, sv::part::host, static_cast<std::uint32_t>(code)};  // ends the session, by name
  }
  sv::row_view<float> row(std::uint32_t i) {  // in place; valid until the next feed
    return sv::logits_row(std::span(mine.logits(first + static_cast<int>(i)), engine::vocab_size));
  }
  void truncate(std::uint32_t position) { mine.cut(static_cast<int>(position)); }
};
