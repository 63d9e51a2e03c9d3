// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes a distribution with the drafted token, in the formats that use the range coder (lattices). Used
//! by codec/message.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_LAWS_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_LAWS_HPP

#include <specverify/codec/count_code.hpp>
#include <specverify/codec/detail/half_float.hpp>
#include <specverify/codec/detail/message_control.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr bool is_lattice(const wire_format& format) noexcept {
  return format.format <= law_format::dense_lattice;
}

//! Returns the maximum K+ of sparse_drop_zero.
[[nodiscard]] constexpr std::uint32_t positive_limit(const wire_format& format) noexcept {
  std::uint32_t limit = format.resolution < format.vocab_size ? format.resolution : format.vocab_size;
  if (format.support_size != 0 && format.support_size < limit) limit = format.support_size;
  return limit;
}
//! Returns the maximum number of listed ids in one distribution.
[[nodiscard]] constexpr std::uint32_t law_entries(const wire_format& format) noexcept {
  switch (format.format) {
    case law_format::sparse_drop_zero:
      return positive_limit(format);
    case law_format::sparse_paper:
      return format.support_size != 0 ? format.support_size : format.vocab_size;
    case law_format::dense_lattice:
      return format.resolution < format.vocab_size ? format.resolution : format.vocab_size;
    case law_format::fp16_row:
      return format.vocab_size;
    case law_format::top_k_tail:
      return format.support_size != 0 ? format.support_size : format.vocab_size;
    default:
      return 0;
  }
}

//! Returns the number of bytes after the attachments of a draft message in the format fp16_row.
[[nodiscard]] constexpr std::uint64_t fp16_row_bytes(const wire_format& format, std::uint64_t draft_length) noexcept {
  return 2 + draft_length * 2 * format.vocab_size + bits_to_bytes(draft_length * token_bits(format.vocab_size));
}
//! Returns the number of bits after the attachments of a draft message in a format without distributions.
[[nodiscard]] constexpr std::uint64_t claims_bits(const wire_format& format, std::uint64_t draft_length) noexcept {
  const std::uint32_t count = format.format == law_format::token_and_count ? ceil_log2(format.resolution) : 0;
  return ceil_log2(std::uint64_t{format.max_draft_length} + 1) + draft_length * (token_bits(format.vocab_size) + count);
}

//! top_k_tail: returns the count of one lattice unit, V - K, so that the V - K ids of the tail can share a unit; 1 if K
//! = V.
[[nodiscard]] constexpr std::uint32_t tail_ids(std::uint32_t vocab_size, std::uint32_t size) noexcept {
  return vocab_size > size ? vocab_size - size : 1;
}
[[nodiscard]] inline status check_top_k_tail(const wire_format& format, const law& from, std::uint64_t index) noexcept {
  if (from.size == 0) return codec_error(errc::empty_support, index);
  if (from.size > law_entries(format)) return codec_error(errc::support_too_large, index);
  const std::uint32_t unit = tail_ids(from.vocab_size, from.size);
  if (from.resolution != std::uint64_t{format.resolution} * unit) return codec_error(errc::invalid_resolution, index);
  for (std::uint32_t i = 0; i < from.size; ++i) {
    if (from.counts[i] % unit != 0) return codec_error(errc::law_kind_mismatch, index);
  }
  return {};
}

//! Checks that the format can carry the distribution of one draft.
[[nodiscard]] inline status check_law(const wire_format& format, const law& from, token_id token,
                                      std::uint64_t index) noexcept {
  if (from.vocab_size != format.vocab_size) return codec_error(errc::vocabulary_mismatch, index);
  if (const status why = specverify::check(from); !why.ok()) return codec_error(why.code, index);
  if (format.format == law_format::top_k_tail) {
    if (const status why = check_top_k_tail(format, from, index); !why.ok()) return why;
  } else if (from.tail_count != 0) {
    return codec_error(errc::law_kind_mismatch, index);
  }
  if (is_lattice(format) && from.resolution != format.resolution) return codec_error(errc::invalid_resolution, index);
  if (from.count(token) == 0) return codec_error(errc::token_not_in_law, index);
  std::uint32_t positive = 0;
  for (std::uint32_t i = 0; i < from.size; ++i) {
    if (format.format == law_format::fp16_row && !count_to_half(from.counts[i]))
      return codec_error(errc::law_kind_mismatch, index);
    positive += from.counts[i] != 0 ? 1 : 0;
  }
  if (format.format == law_format::sparse_drop_zero && positive > positive_limit(format))
    return codec_error(errc::support_too_large, index);
  if (format.format == law_format::sparse_paper && format.support_size != 0 && from.size != format.support_size)
    return codec_error(errc::support_too_large, index);
  return {};
}

//! Encodes K, the ids, K counts and the tail's count (which follows from them), then the token's index. The index K
//! means that the token is in the tail.
inline void encode_top_k_tail(range_encoder& coder, const wire_format& format, const law& from,
                              token_id token) noexcept {
  const std::uint32_t size = from.size, unit = tail_ids(from.vocab_size, size), tail = from.vocab_size > size ? 1 : 0;
  coder.uniform(size - 1, law_entries(format));
  subset_encoder ids(coder, from.vocab_size, size);
  for (std::uint32_t i = 0; i < size; ++i) ids.put(static_cast<std::uint32_t>(from.ids[i]));
  composition_encoder counts(coder, format.resolution, size + tail, true);
  for (std::uint32_t i = 0; i < size; ++i) counts.put(from.counts[i] / unit);
  const std::uint32_t place = from.find(token);
  coder.uniform(place, size + tail);
  if (place < size) return;
  std::uint32_t below = 0;  // listed ids before the token
  while (below < size && from.ids[below] < token) ++below;
  coder.uniform(static_cast<std::uint32_t>(token) - below, unit);
}

inline void encode_law(range_encoder& coder, const wire_format& format, const law& from, token_id token) noexcept {
  if (format.format == law_format::dense_lattice) {
    dense_lattice_encoder counts(coder, from.resolution, from.vocab_size);
    for (std::uint32_t i = 0; i < from.size; ++i) counts.put(from.ids[i], from.counts[i]);
    coder.uniform(static_cast<std::uint32_t>(token), from.vocab_size);
    return;
  }
  if (format.format == law_format::top_k_tail) return encode_top_k_tail(coder, format, from, token);
  const bool zeros = format.format == law_format::sparse_paper;
  std::uint32_t size = 0, place = 0;
  for (std::uint32_t i = 0; i < from.size; ++i) {
    if (from.ids[i] == token) place = size;
    size += zeros || from.counts[i] != 0 ? 1 : 0;
  }
  if (!zeros) {
    coder.uniform(size - 1, positive_limit(format));
  } else if (format.support_size == 0) {
    coder.uniform(size - 1, from.vocab_size);
  }
  subset_encoder ids(coder, from.vocab_size, size);
  for (std::uint32_t i = 0; i < from.size; ++i) {
    if (zeros || from.counts[i] != 0) ids.put(static_cast<std::uint32_t>(from.ids[i]));
  }
  composition_encoder counts(coder, from.resolution, size, zeros);
  for (std::uint32_t i = 0; i < from.size; ++i) {
    if (zeros || from.counts[i] != 0) counts.put(from.counts[i]);
  }
  coder.uniform(place, size);
}

//! Reads ids. The caller must have rejected a distribution whose ids do not fit. Stops when the coder has failed.
inline void decode_ids(range_decoder& coder, std::uint32_t vocab_size, std::span<token_id> ids) noexcept {
  subset_decoder members(coder, vocab_size, static_cast<std::uint32_t>(ids.size()));
  for (std::size_t i = 0; i < ids.size() && !coder.failed(); ++i) ids[i] = static_cast<token_id>(members.next());
}

[[nodiscard]] inline result<received_draft> decode_top_k_tail(range_decoder& coder, const wire_format& format,
                                                              std::span<token_id> ids, std::span<std::uint32_t> counts,
                                                              std::uint32_t index) noexcept {
  const auto size = static_cast<std::uint32_t>(coder.uniform(law_entries(format))) + 1;
  if (size > ids.size()) return codec_error(errc::support_too_large, index);
  const std::uint32_t unit = tail_ids(format.vocab_size, size), tail = format.vocab_size > size ? 1 : 0;
  decode_ids(coder, format.vocab_size, ids.first(size));
  composition_decoder parts(coder, format.resolution, size + tail, true);
  for (std::uint32_t i = 0; i < size && !coder.failed(); ++i) counts[i] = parts.next() * unit;
  if (coder.failed()) return codec_error(errc::not_canonical, index);
  const std::uint32_t rest = tail != 0 ? parts.next() : 0;
  const law from{ids.data(), counts.data(), size, rest, format.resolution * unit, format.vocab_size};
  const auto place = static_cast<std::uint32_t>(coder.uniform(size + tail));
  if (place < size) return codec_access::make(ids[place], from);
  auto found = static_cast<std::uint32_t>(coder.uniform(unit));  // index among the ids that are not listed
  for (std::uint32_t i = 0; i < size && static_cast<std::uint32_t>(ids[i]) <= found; ++i) ++found;
  return codec_access::make(static_cast<token_id>(found), from);
}

//! Decodes ids with counts, and the token's index among them.
[[nodiscard]] inline result<received_draft> decode_sparse(range_decoder& coder, const wire_format& format,
                                                          std::span<token_id> ids, std::span<std::uint32_t> counts,
                                                          std::uint32_t index) noexcept {
  const bool zeros = format.format == law_format::sparse_paper;
  std::uint32_t size = format.support_size;
  if (!zeros) {
    size = static_cast<std::uint32_t>(coder.uniform(positive_limit(format))) + 1;
  } else if (size == 0) {
    size = static_cast<std::uint32_t>(coder.uniform(format.vocab_size)) + 1;
  }
  if (size > ids.size()) return codec_error(errc::support_too_large, index);
  decode_ids(coder, format.vocab_size, ids.first(size));
  composition_decoder parts(coder, format.resolution, size, zeros);
  for (std::uint32_t i = 0; i < size && !coder.failed(); ++i) counts[i] = parts.next();
  if (coder.failed()) return codec_error(errc::not_canonical, index);
  const token_id token = ids[static_cast<std::size_t>(coder.uniform(size))];
  return codec_access::make(token, {ids.data(), counts.data(), size, 0, format.resolution, format.vocab_size});
}

[[nodiscard]] inline result<received_draft> decode_dense(range_decoder& coder, const wire_format& format,
                                                         std::span<token_id> ids, std::span<std::uint32_t> counts,
                                                         std::uint32_t index) noexcept {
  const std::uint32_t size = decode_dense_lattice(coder, format.resolution, format.vocab_size, ids, counts);
  if (coder.failed()) return codec_error(errc::not_canonical, index);
  if (size > ids.size()) return codec_error(errc::support_too_large, index);
  const auto token = static_cast<token_id>(coder.uniform(format.vocab_size));
  return codec_access::make(token, {ids.data(), counts.data(), size, 0, format.resolution, format.vocab_size});
}

//! Reads one distribution and the drafted token. The ids and counts are written to the front of `ids` and `counts`,
//! which must have the same size. All returned values are in range for any input. Errors: not_canonical,
//! support_too_large (more entries than the size of `ids`), token_not_in_law; `where` = `index`.
[[nodiscard]] inline result<received_draft> decode_law(range_decoder& coder, const wire_format& format,
                                                       std::span<token_id> ids, std::span<std::uint32_t> counts,
                                                       std::uint32_t index) noexcept {
  const auto decode = format.format == law_format::dense_lattice ? decode_dense
                      : format.format == law_format::top_k_tail  ? decode_top_k_tail
                                                                 : decode_sparse;
  const result<received_draft> drafted = decode(coder, format, ids, counts, index);
  if (!drafted) return drafted.error();
  if (coder.failed()) return codec_error(errc::not_canonical, index);
  if (drafted->source_law().count(drafted->token()) == 0) return codec_error(errc::token_not_in_law, index);
  return drafted;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
