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
  std::size_t first = 0, second = 0;
  if (!write_journal_record(std::span(file), first, 0, std::span<const token_id>(ids), snapshot{1}).ok()) return 1;
  if (!write_journal_record(std::span(file).subspan(first), second, 3, std::span<const token_id>(ids).first(1),
                            snapshot{2})
           .ok())
    return 2;
  std::array<token_id, 16> text{};
  snapshot last;
  journal_reading found;
  const auto torn = std::span<const std::byte>(file).first(first + second - 1);
  if (!read_journal(torn, std::span(text), last, found).ok()) return 3;
  return found.torn && found.valid_bytes == first && found.text_length == 3 && last.round == 1 ? 0 : 4;
}
