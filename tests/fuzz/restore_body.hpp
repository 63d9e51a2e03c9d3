// SPDX-License-Identifier: Apache-2.0
//! The body of the fuzz targets of `restore`: one side of a session restarts from any bytes, then a script goes on (see
//! the demands of fuzz/session_body.hpp). An input: the system, the parts of the journal to mend and (in the bits
//! above) the variant, the journal's length (two bytes), the journal, the script.
#ifndef SPECVERIFY_TESTS_FUZZ_RESTORE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_RESTORE_BODY_HPP

#include "fuzz/session_body.hpp"

#include <cstddef>

namespace specverify_fuzz {

//! The parts that a forger, or damage that meets the checks, leaves in order.
inline constexpr unsigned mend_checks = 1;    //!< each record's length and the two checks
inline constexpr unsigned mend_snapshot = 2;  //!< also length and prefix hash of each snapshot
inline constexpr std::size_t restore_head = 4;

enum class side { edge, cloud };
using edge_of_restore = edge_snapshot<no_state>;

inline void mend_record(std::span<std::byte> record) {
  namespace numeric = specverify::numeric;
  const std::size_t payload = record.size() - detail::journal_head_bytes - detail::journal_check_bytes;
  numeric::store_le(record.data(), detail::journal_name | detail::journal_layout << 24, 4);
  numeric::store_le(record.data() + 4, payload, 4);
  numeric::store_le(record.data() + 16, numeric::fnv1a(record.first(16)), 8);
  numeric::store_le(record.data() + record.size() - detail::journal_check_bytes,
                    numeric::fnv1a(record.subspan(detail::journal_head_bytes, payload)), 8);
}

//! Mends a journal. Positions and counts stay if they are possible. Each record gets the right length and checks. If
//! `what` says so, the snapshot gets the text's length and hash. `agreed(snapshot, length)`: how much the hash covers.
template <class Snapshot, class Agreed>
void mend_journal(std::span<std::byte> journal, unsigned what, Agreed agreed) {
  std::uint32_t length = 0;
  std::vector<token_id> text;
  constexpr std::size_t snapshot_size = detail::snapshot_bytes<Snapshot>();
  while (journal.size() >= detail::journal_bytes(0, snapshot_size)) {
    const auto number = [&](std::size_t at) {
      return static_cast<std::uint32_t>(specverify::numeric::load_le(journal.data() + at, 4));
    };
    const std::uint32_t first = number(8) <= length ? number(8) : number(8) % (length + 1), count = number(12) % 64;
    const bool holds = length == 0 || number(detail::journal_head_bytes) == snapshot_size;  // otherwise a draft alone
    const std::size_t least = detail::journal_bytes(count, holds ? snapshot_size : 0);
    const std::size_t wanted = std::size_t{number(4)} + detail::journal_head_bytes + detail::journal_check_bytes;
    const std::size_t bytes = wanted < least || wanted > journal.size() ? least : wanted;
    if (bytes > journal.size()) return;
    specverify::numeric::store_le(journal.data() + detail::journal_head_bytes, holds ? snapshot_size : 0, 4);
    specverify::numeric::store_le(journal.data() + 8, first, 4);
    specverify::numeric::store_le(journal.data() + 12, count, 4);
    text.resize(first);
    for (std::uint32_t i = 0; i < count; ++i)
      text.push_back(static_cast<token_id>(number(detail::journal_head_bytes + 4 + 4 * i)));
    length = first + count;
    Snapshot last;
    std::byte* const at = journal.data() + detail::journal_head_bytes + 4 + 4 * count;
    if (holds && (what & mend_snapshot) != 0 && detail::load_snapshot(last, at)) {
      last.prefix_hash = prefix_hash(std::span<const token_id>(text).first(std::min(length, agreed(last, length))));
      last.length = length;
      detail::store_snapshot(last, at);
    }
    mend_record(journal.first(bytes));
    journal = journal.subspan(bytes);
  }
}

inline void mend(side restored, std::span<std::byte> journal, unsigned what) {
  if ((what & mend_checks) == 0) return;
  if (restored == side::edge) {
    mend_journal<edge_of_restore>(journal, what, [](const auto& last, std::uint32_t) { return last.base_length; });
  } else {
    mend_journal<cloud_snapshot>(journal, what, [](const auto&, std::uint32_t all) { return all; });
  }
}

//! Returns true if the edge of a system commits tokens alone.
[[nodiscard]] inline bool skips(unsigned choice) { return choice % script_formats >= script_formats - 2; }

template <class Script>
void restore_with(side restored, Script& script, std::span<const std::byte> journal) {
  restored == side::edge ? script.restart_edge_from(journal) : script.restart_cloud_from(journal);
  script.run();
}

inline void restore_input(side restored, std::span<const std::byte> input) {
  if (input.size() < restore_head) return;
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(input[i]); };
  const std::size_t length = std::min<std::size_t>(input.size() - restore_head, at(2) | (at(3) << 8));
  std::vector<std::byte> journal(input.begin() + restore_head,
                                 input.begin() + static_cast<std::ptrdiff_t>(restore_head + length));
  mend(restored, journal, at(1));
  std::vector<std::byte> words{input[0], input[1] >> 2};
  words.insert(words.end(), input.begin() + static_cast<std::ptrdiff_t>(restore_head + length), input.end());
  if (!skips(at(0))) {
    session_script<always_send> script(words);
    restore_with(restored, script, journal);
  } else {
    session_script<random_skip> script(words);
    restore_with(restored, script, journal);
  }
}

}  // namespace specverify_fuzz

#endif
