// SPDX-License-Identifier: Apache-2.0
//! What the engine calls: functions over plain types, the same for every level.
#ifndef LEVELS_ROWS_HPP
#define LEVELS_ROWS_HPP

#include <specverify/core/level.hpp>
#include <specverify/core/status.hpp>
#include <specverify/core/views.hpp>

#include <cstdint>
#include <span>
#include <vector>

struct row_facts {
  specverify::token_id largest = specverify::no_token;
  specverify::token_id drawn = specverify::no_token;
  std::uint64_t total_weight = 0;
};

struct row_calls {
  specverify::result<row_facts> (*look)(std::span<const float> logits, std::vector<std::byte>& memory);
};

SPECVERIFY_LEVEL_TABLES(row_calls, rows);

#endif
