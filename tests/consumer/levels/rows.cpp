// SPDX-License-Identifier: Apache-2.0
// Built once a level.
#include "rows.hpp"

#include <specverify/row/reading.hpp>

// Symbols that g++ would make unique in the whole program.
inline std::uint32_t calls_so_far = 0;
inline std::vector<std::uint32_t>& sizes_so_far() {
  static std::vector<std::uint32_t> sizes;
  return sizes;
}

namespace {

specverify::result<row_facts> look(std::span<const float> logits, std::vector<std::byte>& memory) {
  using namespace specverify;
  const read_request wanted{.survivors = 8, .integer_total = true};
  sizes_so_far().push_back(++calls_so_far);
  memory.resize(digest_workspace_size(static_cast<std::uint32_t>(logits.size()), {}, wanted));
  workspace scratch{std::span(memory)};
  const auto row = read_row(exec::simd, logits_row(logits), {}, wanted, scratch);
  if (!row) return row.error();
  const auto drawn = row->sample(uniforms{philox{{1, 2}}, 0, 0}.at(purpose::bonus_draw));
  if (!drawn) return drawn.error();
  return row_facts{row->argmax(), drawn->token, row->total_weight()};
}

}  // namespace

SPECVERIFY_LEVEL_TABLE(row_calls, rows) = {look};
