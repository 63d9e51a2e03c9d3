// SPDX-License-Identifier: Apache-2.0
//! Draft messages in every law format. Used by codec/message.hpp, where they are documented.

// Before the guard: whoever includes this file first gets message.hpp, which includes it in its place.
#include <specverify/codec/message.hpp>

#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_DRAFT_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_DRAFT_HPP

#include <specverify/codec/count_code.hpp>
#include <specverify/codec/detail/half_float.hpp>
#include <specverify/codec/detail/message_control.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr bool is_lattice(const draft_format& format) noexcept { return format.format <= law_format::dense_lattice; }

//! The largest K+ of sparse_drop_zero.
[[nodiscard]] constexpr std::uint32_t positive_limit(const draft_format& format) noexcept {
  std::uint32_t limit = format.resolution < format.vocab_size ? format.resolution : format.vocab_size;
  if (format.support_size != 0 && format.support_size < limit) limit = format.support_size;
  return limit;
}
//! Listed ids that one law can have.
[[nodiscard]] constexpr std::uint32_t law_entries(const draft_format& format) noexcept {
  switch (format.format) {
    case law_format::sparse_drop_zero:
      return positive_limit(format);
    case law_format::sparse_paper:
      return format.support_size != 0 ? format.support_size : format.vocab_size;
    case law_format::dense_lattice:
      return format.resolution < format.vocab_size ? format.resolution : format.vocab_size;
    case law_format::half_row:
      return format.vocab_size;
    default:
      return 0;
  }
}

[[nodiscard]] constexpr std::uint64_t half_row_bytes(const draft_format& format, std::uint64_t draft_length) noexcept {
  return message_header_bytes + 2 + draft_length * 2 * format.vocab_size + bits_to_bytes(draft_length * token_bits(format.vocab_size));
}
[[nodiscard]] constexpr std::uint64_t claims_bytes(const draft_format& format, std::uint64_t draft_length) noexcept {
  const std::uint32_t count = format.format == law_format::token_and_count ? ceil_log2(format.resolution) : 0;
  return message_header_bytes + bits_to_bytes(ceil_log2(std::uint64_t{format.max_draft_length} + 1) + draft_length * (token_bits(format.vocab_size) + count));
}

//! The law of one draft must be what the format can carry.
[[nodiscard]] inline status check_law(const draft_format& format, const law& from, token_id token, std::uint64_t index) noexcept {
  if (from.vocab_size != format.vocab_size) return codec_error(errc::vocabulary_mismatch, index);
  if (const status bad = specverify::check(from); !bad.ok()) return codec_error(bad.code, index);
  if (from.tail_count != 0) return codec_error(errc::law_kind_mismatch, index);
  if (is_lattice(format) && from.resolution != format.resolution) return codec_error(errc::invalid_resolution, index);
  if (from.count(token) == 0) return codec_error(errc::token_not_in_law, index);
  std::uint32_t positive = 0;
  for (std::uint32_t i = 0; i < from.size; ++i) {
    std::uint32_t half = 0;
    if (format.format == law_format::half_row && !count_to_half(from.counts[i], half)) return codec_error(errc::law_kind_mismatch, index);
    positive += from.counts[i] != 0 ? 1 : 0;
  }
  if (format.format == law_format::sparse_drop_zero && positive > positive_limit(format)) return codec_error(errc::support_too_large, index);
  if (format.format == law_format::sparse_paper && format.support_size != 0 && from.size != format.support_size)
    return codec_error(errc::support_too_large, index);
  return {};
}

inline void encode_law(range_encoder& coder, const draft_format& format, const law& from, token_id token) noexcept {
  if (format.format == law_format::dense_lattice) {
    dense_lattice_encoder counts(coder, from.resolution, from.vocab_size);
    for (std::uint32_t i = 0; i < from.size; ++i) counts.put(from.ids[i], from.counts[i]);
    coder.uniform(static_cast<std::uint32_t>(token), from.vocab_size);
    return;
  }
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

//! Reads one law into the front of `ids` and `counts`. The values stay inside their ranges whatever the bytes.
inline status decode_law(range_decoder& coder, const draft_format& format, std::span<token_id> ids, std::span<std::uint32_t> counts, std::uint32_t index,
                         law& from, token_id& token) noexcept {
  from = {ids.data(), counts.data(), 0, 0, format.resolution, format.vocab_size};
  if (format.format == law_format::dense_lattice) {
    from.size = decode_dense_lattice(coder, format.resolution, format.vocab_size, ids, counts);
    token = static_cast<token_id>(coder.uniform(format.vocab_size));
  } else {
    const bool zeros = format.format == law_format::sparse_paper;
    std::uint32_t size = format.support_size;
    if (!zeros) {
      size = static_cast<std::uint32_t>(coder.uniform(positive_limit(format))) + 1;
    } else if (size == 0) {
      size = static_cast<std::uint32_t>(coder.uniform(format.vocab_size)) + 1;
    }
    subset_decoder members(coder, format.vocab_size, size);
    for (std::uint32_t i = 0; i < size; ++i) ids[i] = static_cast<token_id>(members.next());
    composition_decoder parts(coder, format.resolution, size, zeros);
    for (std::uint32_t i = 0; i < size; ++i) counts[i] = parts.next();
    from.size = size;
    token = ids[static_cast<std::size_t>(coder.uniform(size))];
  }
  if (coder.failed()) return codec_error(errc::not_canonical, index);
  if (from.count(token) == 0) return codec_error(errc::token_not_in_law, index);
  return {};
}

template <class Draft>
[[nodiscard]] std::size_t encode_lattices(const draft_format& format, std::span<const Draft> drafts, std::span<std::byte> body) noexcept {
  range_encoder coder(body);
  coder.uniform(drafts.size(), std::uint64_t{format.max_draft_length} + 1);
  for (const Draft& drafted : drafts) encode_law(coder, format, drafted.source_law(), drafted.token());
  return coder.finish();
}

template <class Draft>
void encode_half_rows(const draft_format& format, std::span<const Draft> drafts, std::byte* at) noexcept {
  store(at, drafts.size(), 2);
  at += 2;
  for (const Draft& drafted : drafts) {
    const law& from = drafted.source_law();
    std::uint32_t entry = 0;
    for (std::uint32_t id = 0; id < format.vocab_size; ++id, at += 2) {
      std::uint32_t half = 0;
      if (entry < from.size && static_cast<std::uint32_t>(from.ids[entry]) == id) (void)count_to_half(from.counts[entry++], half);
      store(at, half, 2);
    }
  }
  bit_writer tokens(at);
  for (const Draft& drafted : drafts) tokens.put(static_cast<std::uint32_t>(drafted.token()), token_bits(format.vocab_size));
  tokens.finish();
}

[[nodiscard]] inline status decode_half_rows(const draft_format& format, std::span<const std::byte> message, std::span<token_id> ids,
                                             std::span<std::uint32_t> counts, received_draft_block& block) noexcept {
  if (message.size() < message_header_bytes + 2) return codec_error(errc::truncated, message.size());
  const auto length = static_cast<std::uint32_t>(load(message.data() + message_header_bytes, 2));
  if (length > format.max_draft_length) return codec_error(errc::draft_too_long, length);
  const std::uint64_t bytes = half_row_bytes(format, length);
  if (const status bad = close_message(bytes, format.pad_to, message); !bad.ok()) return bad;
  const std::byte* at = message.data() + message_header_bytes + 2;
  bit_reader tokens(at + static_cast<std::size_t>(length) * 2 * format.vocab_size);
  for (std::uint32_t i = 0; i < length; ++i) {
    law from{ids.data(), counts.data(), 0, 0, 0, format.vocab_size};
    std::uint64_t sum = 0;
    for (std::uint32_t id = 0; id < format.vocab_size; ++id, at += 2) {
      const auto half = static_cast<std::uint32_t>(load(at, 2));
      if (half > half_of_one) return codec_error(errc::field_out_of_range, i);
      if (half == 0) continue;
      ids[from.size] = static_cast<token_id>(id);
      counts[from.size] = half_to_count(half);
      sum += counts[from.size++];
    }
    if (sum == 0) return codec_error(errc::empty_support, i);
    if (sum > 0xffffffffu) return codec_error(errc::invalid_resolution, i);
    from.resolution = static_cast<std::uint32_t>(sum);
    const std::uint32_t token = tokens.take(token_bits(format.vocab_size));
    if (token >= format.vocab_size) return codec_error(errc::token_out_of_range, i);
    if (from.count(static_cast<token_id>(token)) == 0) return codec_error(errc::token_not_in_law, i);
    if (const status bad = block.push(codec_access::make(static_cast<token_id>(token), from)); !bad.ok()) return bad;
  }
  if (!tokens.rest_is_zero()) return codec_error(errc::padding_not_zero, bytes - 1);
  return {};
}

[[nodiscard]] inline status decode_lattices(const draft_format& format, std::span<const std::byte> message, std::span<token_id> ids,
                                            std::span<std::uint32_t> counts, received_draft_block& block) noexcept {
  range_decoder coder(message.subspan(message_header_bytes));
  const auto length = static_cast<std::uint32_t>(coder.uniform(std::uint64_t{format.max_draft_length} + 1));
  for (std::uint32_t i = 0; i < length; ++i) {
    law from;
    token_id token = no_token;
    if (const status bad = decode_law(coder, format, ids, counts, i, from, token); !bad.ok()) return bad;
    if (const status bad = block.push(codec_access::make(token, from)); !bad.ok()) return bad;
  }
  std::size_t used = 0;
  if (const status bad = coder.finish(used); !bad.ok()) return bad;
  return close_message(message_header_bytes + used, format.pad_to, message);
}

template <class Draft>
[[nodiscard]] status check_drafts(const draft_format& format, std::span<const Draft> drafts) noexcept {
  if (const status bad = check(format); !bad.ok()) return bad;
  if (format.format > law_format::half_row) return codec_error(errc::law_kind_mismatch, 0);
  if (drafts.size() > format.max_draft_length) return codec_error(errc::draft_too_long, drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (const status bad = check_law(format, drafts[i].source_law(), drafts[i].token(), i); !bad.ok()) return bad;
  }
  return {};
}

}  // namespace detail

template <lawful_draft Draft>
status encode_draft(const wire_context& context, const draft_format& format, std::span<const Draft> drafts, std::span<std::byte> out,
                    std::size_t& written) noexcept {
  if (const status bad = detail::check_drafts(format, drafts); !bad.ok()) return bad;
  if (format.format == law_format::half_row) {
    const std::uint64_t bytes = detail::half_row_bytes(format, drafts.size());
    if (const status bad = detail::begin_message(context, bytes, format.pad_to, out); !bad.ok()) return bad;
    detail::encode_half_rows(format, drafts, out.data() + message_header_bytes);
    detail::end_message(message_kind::draft, context, bytes, format.pad_to, out, written);
    return {};
  }
  if (const status bad = detail::begin_message(context, message_header_bytes, 1, out); !bad.ok()) return bad;
  const std::uint64_t bytes = message_header_bytes + detail::encode_lattices(format, drafts, out.subspan(message_header_bytes));
  if (const status bad = detail::begin_message(context, bytes, format.pad_to, out); !bad.ok()) return bad;
  detail::end_message(message_kind::draft, context, bytes, format.pad_to, out, written);
  return {};
}

template <lawful_draft Draft>
status draft_bytes(const draft_format& format, std::span<const Draft> drafts, std::size_t& bytes) noexcept {
  if (const status bad = detail::check_drafts(format, drafts); !bad.ok()) return bad;
  const std::uint64_t length = format.format == law_format::half_row ? detail::half_row_bytes(format, drafts.size())
                                                                     : message_header_bytes + detail::encode_lattices(format, drafts, std::span<std::byte>{});
  bytes = static_cast<std::size_t>(detail::padded(length, format.pad_to));
  return {};
}

inline status decode_draft(const wire_context& context, const draft_format& format, std::span<const std::byte> message, workspace& scratch,
                           received_draft_block& block) noexcept {
  block.clear();
  if (const status bad = check(format); !bad.ok()) return bad;
  if (format.format > law_format::half_row) return detail::codec_error(errc::law_kind_mismatch, 0);
  if (const status bad = detail::open_message(message_kind::draft, context, message); !bad.ok()) return bad;
  const std::size_t mark = scratch.mark();
  workspace_slice ids, counts;
  const std::uint32_t entries = detail::law_entries(format);
  status outcome = detail::codec_error(errc::workspace_too_small, decode_draft_workspace_size(format));
  if (scratch.take<token_id>(entries, ids) && scratch.take<std::uint32_t>(entries, counts)) {
    const auto read = format.format == law_format::half_row ? detail::decode_half_rows : detail::decode_lattices;
    outcome = read(format, message, scratch.at<token_id>(ids), scratch.at<std::uint32_t>(counts), block);
  }
  scratch.rewind(mark);
  if (!outcome.ok()) block.clear();
  return outcome;
}

SPECVERIFY_NAMESPACE_END

#endif
