// SPDX-License-Identifier: Apache-2.0
//! What both sides ask of a journal that they are restored from.
#ifndef SPECVERIFY_SESSION_DETAIL_RECORD_CHECKS_HPP
#define SPECVERIFY_SESSION_DETAIL_RECORD_CHECKS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/session/detail/text_place.hpp>
#include <specverify/session/journal.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] inline bool all_tokens_below(std::uint32_t vocab_size, std::span<const token_id> text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [vocab_size](token_id token) { return static_cast<std::uint32_t>(token) < vocab_size; });
}

//! Of a life that has begun.
[[nodiscard]] constexpr bool is_epoch(std::uint32_t epoch) noexcept { return epoch != 0 && epoch <= max_wire_epoch; }

//! Of a session. A text of which a part was lost can have more rounds than tokens.
[[nodiscard]] constexpr bool is_round(std::uint32_t round) noexcept { return round != 0 && round <= last_round; }

//! A snapshot that no session writes.
[[nodiscard]] constexpr status corrupt_snapshot() noexcept { return {errc::journal_corrupt, part::session, 0}; }

//! Snapshots of another size are those of the other side, or of another sparsifier.
[[nodiscard]] constexpr status named_snapshot(status why, std::uint32_t where) noexcept {
  return why.code == errc::size_mismatch ? status{errc::options_disagree, part::session, where} : why;
}

//! A journal without a whole record: nothing was written, or a process was killed while it wrote the first one.
[[nodiscard]] constexpr status no_record(const journal_reading& reading) noexcept {
  return {reading.torn ? errc::truncated : errc::unknown_session, part::session, 0};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
