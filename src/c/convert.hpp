// SPDX-License-Identifier: Apache-2.0
// Converts between the structs of the C headers and the types of the library.
#ifndef SPECVERIFY_SRC_C_CONVERT_HPP
#define SPECVERIFY_SRC_C_CONVERT_HPP

#include "memory.hpp"

#include <specverify_c.h>
#include <specverify_c_core.h>
#include <specverify/distribution/draft.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/statistics.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace specverify_c {

namespace sv = specverify;

// If `where` does not fit in 32 bits, it becomes the largest value that does.
[[nodiscard]] constexpr sv::status refused(sv::errc code, std::size_t where = 0) noexcept {
  return {code, sv::part::host, static_cast<std::uint32_t>(std::min<std::size_t>(where, 0xffffffffu))};
}
[[nodiscard]] constexpr specverify_status to_c(sv::status why) noexcept {
  return {static_cast<std::uint16_t>(why.code), static_cast<std::uint16_t>(why.reporter), why.where};
}
[[nodiscard]] constexpr sv::status from_c(specverify_status why) noexcept {
  return {static_cast<sv::errc>(why.code), static_cast<sv::part>(why.part), why.where};
}
// The status that is returned if a handle or an output pointer is null.
inline constexpr specverify_status no_data = to_c(refused(sv::errc::null_span));

// Maximum bytes by which the struct of a newer program may be longer. A larger size means that struct_size was never
// set.
inline constexpr std::size_t most_unknown = 4096;

// Checks the size at the beginning of a caller's struct. The size of a struct must be a multiple of the alignment, and
// in every version a struct ends after a whole member, so a struct never contains a part of a pointer. Errors:
// struct_size_wrong (`where` = size).
template <class Struct>
[[nodiscard]] sv::status check_size(std::size_t size) noexcept {
  bool is_possible = size >= sizeof size && size <= sizeof(Struct) + most_unknown && size % alignof(Struct) == 0;
  if constexpr (requires(Struct its) { its.secret; })  // the only member that is longer than the alignment
    is_possible &= size <= offsetof(Struct, secret) || size >= offsetof(Struct, secret) + sizeof(Struct::secret);
  return is_possible ? sv::status{} : refused(sv::errc::struct_size_wrong, size);
}
template <class Struct>
[[nodiscard]] sv::result<std::size_t> size_of(const Struct* given) noexcept {
  if (given == nullptr) return refused(sv::errc::null_span);
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (const sv::status wrong = check_size<Struct>(size); !wrong.ok()) return wrong;
  return size;
}

// Defaults of a struct, except for the size and the ABI number.
template <class Struct>
inline constexpr Struct blank{};

// Returns a struct with defaults, size and ABI number.
template <class Struct>
[[nodiscard]] Struct usual() noexcept {
  Struct made = blank<Struct>;
  made.struct_size = sizeof made;
  if constexpr (requires { made.abi; }) made.abi = SPECVERIFY_ABI;
  return made;
}

// Checks the ABI number. Errors: abi_mismatch (`where` = number of this library).
[[nodiscard]] constexpr sv::status check_abi(std::uint32_t abi) noexcept {
  return abi == SPECVERIFY_ABI ? sv::status{} : refused(sv::errc::abi_mismatch, SPECVERIFY_ABI);
}

// Returns a copy of a caller's struct, which may be older or newer than this library. Missing fields get defaults.
// Errors: null_span, struct_size_wrong, abi_mismatch, unknown_option (an unknown field is not 0; `where` = its offset).
template <class Struct>
[[nodiscard]] sv::result<Struct> taken(const Struct* given) noexcept {
  const auto size = size_of(given);
  if (!size) return size.error();
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  Struct made = usual<Struct>();
  if constexpr (requires { made.abi; }) made.abi = 0;  // the caller must be rejected if its number is missing
  std::memcpy(&made, given, std::min(*size, sizeof(Struct)));
  made.struct_size = sizeof(Struct);
  if constexpr (requires { made.abi; }) {
    if (const sv::status other = check_abi(made.abi); !other.ok()) return other;
  }
  for (std::size_t i = sizeof(Struct); i < *size; ++i) {
    if (bytes[i] != 0) return refused(sv::errc::unknown_option, i);
  }
  return made;
}
// Copies a struct to the caller's struct, up to the caller's size. The caller's size field is unchanged. Errors:
// null_span, struct_size_wrong.
template <class Struct>
[[nodiscard]] sv::status give(Struct made, Struct* out) noexcept {
  const auto size = size_of(out);
  if (!size) return size.error();
  made.struct_size = *size;
  std::memcpy(out, &made, std::min(*size, sizeof(Struct)));
  return {};
}

// Writes defaults for a caller whose struct has `size` bytes and whose headers have the ABI number `abi`. If `abi`
// differs from the library's number, the struct gets only `size` and `abi`, so that no call accepts the struct. Errors:
// null_span, struct_size_wrong, abi_mismatch.
template <class Struct>
[[nodiscard]] sv::status begin(Struct* made, std::size_t size, std::uint32_t abi, Struct set) noexcept {
  if (made == nullptr) return refused(sv::errc::null_span);
  if (const sv::status wrong = check_size<Struct>(size); !wrong.ok()) return wrong;
  const sv::status other = check_abi(abi);
  if (!other.ok()) set = Struct{};
  set.struct_size = size;
  if constexpr (requires { set.abi; }) set.abi = abi;
  std::memset(static_cast<void*>(made), 0, size);
  std::memcpy(static_cast<void*>(made), &set, std::min(size, sizeof set));
  return other;
}

// Returns a copy of a caller's plain struct, for any alignment.
template <class Struct>
[[nodiscard]] Struct value_of(const Struct* given) noexcept {
  Struct made;
  std::memcpy(&made, given, sizeof made);
  return made;
}

template <class Element>
[[nodiscard]] std::span<const Element> span_of(const Element* data, std::size_t size) noexcept {
  return {data, data == nullptr ? 0 : size};
}
// Checks an array's alignment. Errors: misaligned (`where` = `where`).
template <class Element>
[[nodiscard]] sv::status check_aligned(const Element* data, std::size_t where = 0) noexcept {
  return sv::detail::is_aligned(data) ? sv::status{} : refused(sv::errc::misaligned, where);
}
// Returns a caller's array. Errors: null_span (a count but no array), misaligned; `where` = `field`.
template <class Element>
[[nodiscard]] sv::result<std::span<const Element>> array_of(const Element* data, std::size_t size,
                                                            std::size_t field = 0) noexcept {
  if (data == nullptr && size > 0) return refused(sv::errc::null_span, field);
  if (const sv::status wrong = check_aligned(data, field); !wrong.ok()) return wrong;
  return span_of(data, size);
}
[[nodiscard]] inline std::span<const std::byte> bytes_of(const void* data, std::size_t size) noexcept {
  return span_of(static_cast<const std::byte*>(data), size);
}

[[nodiscard]] constexpr specverify_transform to_c(const sv::row_transform& from) noexcept {
  specverify_transform made{};
  made.struct_size = sizeof made;
  made.temperature = from.temperature;
  made.top_p = from.truncation.top_p;
  made.min_p = from.truncation.min_p;
  made.top_k = from.truncation.top_k;
  made.truncation_order = static_cast<std::uint32_t>(from.truncation.order);
  made.bias_ids = from.bias_ids.data();
  made.bias_values = from.bias_values.data();
  made.bias_count = from.bias_ids.size();
  made.mask_words = from.mask_words.data();
  made.mask_word_count = from.mask_words.size();
  return made;
}
template <>
inline constexpr specverify_transform blank<specverify_transform> = to_c(sv::row_transform{});
// Returns a transform; null gives the default. Errors: as for `taken`; invalid_argument (the order); null_span and
// misaligned (an array).
[[nodiscard]] inline sv::result<sv::row_transform> from_c(const specverify_transform* given) noexcept {
  if (given == nullptr) return sv::row_transform{};
  const auto set = taken(given);
  if (!set) return set.error();
  if (set->truncation_order > 2)
    return refused(sv::errc::invalid_argument, offsetof(specverify_transform, truncation_order));
  const auto ids = array_of(set->bias_ids, set->bias_count, offsetof(specverify_transform, bias_ids));
  if (!ids) return ids.error();
  const auto values = array_of(set->bias_values, set->bias_count, offsetof(specverify_transform, bias_ids));
  if (!values) return values.error();
  const auto mask = array_of(set->mask_words, set->mask_word_count, offsetof(specverify_transform, mask_words));
  if (!mask) return mask.error();
  sv::row_transform made;
  made.temperature = set->temperature;
  made.truncation = {set->top_k, set->top_p, set->min_p, static_cast<sv::truncation_order>(set->truncation_order)};
  made.bias_ids = *ids;
  made.bias_values = *values;
  made.mask_words = *mask;
  return made;
}

[[nodiscard]] inline specverify_output to_c(const sv::session_output& out) noexcept {
  specverify_output made{};
  made.struct_size = sizeof made;
  made.action = static_cast<std::uint8_t>(out.action);
  made.source = static_cast<std::uint8_t>(out.source);
  made.stop = static_cast<std::uint8_t>(out.stop);
  made.authority = static_cast<std::uint8_t>(out.authority);
  made.replaces = out.replaces ? 1 : 0;
  made.position = out.position;
  made.rows = out.rows;
  made.accepted = out.accepted;
  made.bytes = out.bytes.data();
  made.bytes_size = out.bytes.size();
  made.tokens = out.tokens.data();
  made.token_count = out.tokens.size();
  made.positions = out.positions.data();
  made.position_words = out.positions.size();
  made.reason = to_c(out.reason);
  return made;
}

[[nodiscard]] inline specverify_statistics to_c(const sv::session_statistics& s) noexcept {
  return {sizeof(specverify_statistics),
          s.rounds,
          s.drafted,
          s.evaluated,
          s.accepted,
          s.emitted,
          s.skipped,
          s.written_ahead,
          s.residual_tokens,
          s.bonus_tokens,
          s.residual_fallbacks,
          s.near_ties,
          s.mismatches,
          s.accepted_mismatches,
          s.messages_up,
          s.messages_down,
          s.bytes_up,
          s.bytes_down,
          s.draft_bytes,
          s.supply_bytes,
          s.handshakes,
          s.stale,
          s.corrupt,
          s.timeouts,
          s.refusals,
          s.restarts,
          s.fed_tokens,
          s.rollbacks};
}

[[nodiscard]] inline specverify_edge_round to_c(const sv::round_record& r) noexcept {
  return {sizeof(specverify_edge_round),
          r.round,
          r.resolution,
          r.drafted,
          r.accepted,
          r.emitted,
          r.skipped,
          r.support_sum,
          r.draft_bytes,
          r.supply_bytes,
          r.feedback_bytes,
          r.began,
          r.sent,
          r.answered};
}
[[nodiscard]] inline specverify_cloud_round to_c(const sv::decided_round& r) noexcept {
  return {sizeof(specverify_cloud_round), r.round, r.drafted, r.accepted, r.mismatches, r.scored, r.accepted_score};
}

[[nodiscard]] inline std::span<std::byte> bytes_of(specverify_space space) noexcept {
  return {static_cast<std::byte*>(space.data), space.data == nullptr ? 0 : space.size};
}
[[nodiscard]] inline sv::law from_c(const specverify_law& law) noexcept {
  return {law.ids, law.counts, law.size, law.tail_count, law.resolution, law.vocab_size};
}
[[nodiscard]] inline specverify_law to_c(const sv::law& law) noexcept {
  return {law.ids, law.counts, law.size, law.tail_count, law.resolution, law.vocab_size};
}
[[nodiscard]] inline sv::status check_arrays(const specverify_law& law) noexcept {
  if (law.size > 0 && (law.ids == nullptr || law.counts == nullptr))
    return {sv::errc::null_span, sv::part::distribution, 0};
  const sv::status wrong = check_aligned(law.ids);
  return wrong.ok() ? check_aligned(law.counts) : wrong;
}
[[nodiscard]] inline sv::status check_law(const specverify_law& law) noexcept {
  const sv::status why = check_arrays(law);
  return why.ok() ? check(from_c(law)) : why;
}

[[nodiscard]] inline sv::session_secret secret_of(const std::uint8_t* bytes) noexcept {
  std::array<std::byte, 16> made{};
  std::memcpy(made.data(), bytes, made.size());
  return sv::session_secret(made);
}

}  // namespace specverify_c

#endif
