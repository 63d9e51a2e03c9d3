// SPDX-License-Identifier: Apache-2.0
// A record, then one that a killed process cut off.
#include <specverify/session/journal.hpp>

#include <array>
#include <span>

int main() {
  using namespace specverify;
  struct snapshot {
    std::uint32_t round = 0;
  };
  std::array<std::byte, 256> file{};
  const std::array<token_id, 3> ids{7, 8, 9};
  const auto first = write_journal_record(0, ids, snapshot{1}, file);
  if (!first) return 1;
  const auto second =
      write_journal_record(3, std::span(ids).first(1), snapshot{2}, std::span(file).subspan(first->size()));
  if (!second) return 2;
  std::array<token_id, 16> text{};
  const auto torn = std::span<const std::byte>(file).first(first->size() + second->size() - 1);
  const auto read = read_journal<snapshot>(torn, text);
  if (!read || !read->last) return 3;
  return read->found.torn && read->found.valid_bytes == first->size() && read->text.size() == 3 &&
                 read->last->round == 1
             ? 0
             : 4;
}
