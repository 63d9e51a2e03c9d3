// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes draft messages with distributions. Used by codec/message.hpp, which documents the functions.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_DRAFT_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_DRAFT_HPP

#include <specverify/codec/detail/message_attachments.hpp>
#include <specverify/codec/detail/message_laws.hpp>
#include <specverify/core/numeric.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/distribution/draft_block.hpp>

#include <algorithm>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Encodes the number of drafts and the drafts, and returns the length of the code in bytes. Errors: not_canonical, if
//! no decoder can follow the code (max_bytes_ahead in codec/range_coder.hpp).
template <class Draft>
[[nodiscard]] result<std::size_t> encode_lattices(const wire_format& format, std::span<const Draft> drafts,
                                                  std::span<std::byte> body) noexcept {
  range_encoder coder(body);
  coder.uniform(drafts.size(), std::uint64_t{format.max_draft_length} + 1);
  for (const Draft& drafted : drafts) encode_law(coder, format, drafted.source_law(), drafted.token());
  const std::size_t bytes = coder.finish();
  if (!coder.decodable()) return codec_error(errc::not_canonical, bytes);
  return bytes;
}

template <class Draft>
void encode_fp16_rows(const wire_format& format, std::span<const Draft> drafts, std::byte* at) noexcept {
  numeric::store_le(at, drafts.size(), 2);
  at += 2;
  for (const Draft& drafted : drafts) {
    const law& from = drafted.source_law();
    std::uint32_t entry = 0;
    for (std::uint32_t id = 0; id < format.vocab_size; ++id, at += 2) {
      std::uint32_t half = 0;
      if (entry < from.size && static_cast<std::uint32_t>(from.ids[entry]) == id)
        half = *count_to_half(from.counts[entry++]);  // check_law has checked that it is a half float
      numeric::store_le(at, half, 2);
    }
  }
  bit_writer tokens(at);
  for (const Draft& drafted : drafts)
    tokens.put(static_cast<std::uint32_t>(drafted.token()), token_bits(format.vocab_size));
  tokens.finish();
}

//! `begin`: first byte after the attachments.
[[nodiscard]] inline status decode_fp16_rows(const wire_format& format, std::span<const std::byte> message,
                                             std::size_t begin, std::span<token_id> ids,
                                             std::span<std::uint32_t> counts, received_draft_block& block) noexcept {
  if (!has_bytes(begin + 2, format, message)) return codec_error(errc::truncated, message.size());
  const auto length = static_cast<std::uint32_t>(numeric::load_le(message.data() + begin, 2));
  if (length > format.max_draft_length || length > block.capacity()) return codec_error(errc::draft_too_long, length);
  const std::uint64_t bytes = begin + fp16_row_bytes(format, length);
  if (const status why = close_steady(bytes, format, message); !why.ok()) return why;
  const std::byte* at = message.data() + begin + 2;
  bit_reader tokens(at + static_cast<std::size_t>(length) * 2 * format.vocab_size);
  for (std::uint32_t i = 0; i < length; ++i) {
    law from{ids.data(), counts.data(), 0, 0, 0, format.vocab_size};
    const std::uint64_t room = block.room();
    std::uint64_t sum = 0;
    for (std::uint32_t id = 0; id < format.vocab_size; ++id, at += 2) {
      const auto half = static_cast<std::uint32_t>(numeric::load_le(at, 2));
      if (half > half_of_one) return codec_error(errc::field_out_of_range, i);
      if (half == 0) continue;
      if (from.size == room) return codec_error(errc::support_too_large, i);
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
    if (const status why = block.push(codec_access::make(static_cast<token_id>(token), from)); !why.ok()) return why;
  }
  if (!tokens.rest_is_zero()) return codec_error(errc::padding_not_zero, bytes - 1);
  return {};
}

[[nodiscard]] inline status decode_lattices(const wire_format& format, std::span<const std::byte> message,
                                            std::size_t begin, std::span<token_id> ids, std::span<std::uint32_t> counts,
                                            received_draft_block& block) noexcept {
  range_decoder coder(message.subspan(begin, message.size() - check_bytes(format) - begin));
  const auto length = static_cast<std::uint32_t>(coder.uniform(std::uint64_t{format.max_draft_length} + 1));
  if (length > block.capacity()) return codec_error(errc::draft_too_long, length);
  for (std::uint32_t i = 0; i < length; ++i) {
    const auto room = static_cast<std::size_t>(block.room() < ids.size() ? block.room() : ids.size());
    const result<received_draft> drafted = decode_law(coder, format, ids.first(room), counts.first(room), i);
    if (!drafted) return drafted.error();
    if (const status why = block.push(*drafted); !why.ok()) return why;
  }
  const result<std::size_t> used = coder.finish();
  return used ? close_steady(begin + *used, format, message) : used.error();
}

//! Returns the number of bytes of workspace for decoding distributions of up to `entries` listed ids.
[[nodiscard]] constexpr std::size_t decode_space(std::size_t entries) noexcept {
  return workspace_alignment + slice_bytes<token_id>(entries) + slice_bytes<std::uint32_t>(entries);
}

template <class Draft>
[[nodiscard]] status check_drafts(const wire_format& format, std::span<const Draft> drafts) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (!carries_laws(format.format)) return codec_error(errc::law_kind_mismatch, 0);
  if (drafts.size() > format.max_draft_length) return codec_error(errc::draft_too_long, drafts.size());
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (const status why = check_law(format, drafts[i].source_law(), drafts[i].token(), i); !why.ok()) return why;
  }
  return {};
}

}  // namespace detail

inline std::uint64_t max_draft_entries(const wire_format& format, std::uint32_t draft_length) noexcept {
  return std::uint64_t{detail::law_entries(format)} * draft_length;
}

inline std::size_t decode_draft_workspace_size(const wire_format& format) noexcept {
  return detail::decode_space(detail::law_entries(format));
}

template <lawful_draft Draft>
result<std::span<std::byte>> encode_draft(const wire_place& place, const wire_format& format,
                                          std::span<const Draft> drafts, const draft_attachments& attachments,
                                          std::span<std::byte> out) noexcept {
  const wire_format laws = detail::law_format_of(format, attachments.resolution);
  if (const status why = detail::check_drafts(laws, drafts); !why.ok()) return why;
  if (const status why = detail::check_attachments(format, attachments, drafts.size()); !why.ok()) return why;
  const std::uint64_t begin =
      detail::bits_to_bytes(detail::attachment_bits(format, attachments.skipped.size(), drafts.size()));
  std::uint64_t bytes = begin;
  if (format.format == law_format::fp16_row) {
    bytes += detail::fp16_row_bytes(format, drafts.size());
    if (const status why = detail::has_room(detail::steady_bytes(bytes, format), out); !why.ok()) return why;
    detail::encode_fp16_rows(format, drafts, out.data() + static_cast<std::size_t>(begin));
  } else {
    const result<std::size_t> body = detail::encode_lattices(
        laws, drafts, out.size() > begin ? out.subspan(static_cast<std::size_t>(begin)) : std::span<std::byte>{});
    if (!body) return body.error();
    bytes += *body;
    if (const status why = detail::has_room(detail::steady_bytes(bytes, format), out); !why.ok()) return why;
  }
  detail::store_attachments(format, attachments, drafts.size(), out).finish();
  return detail::seal(message_kind::draft, place, format, bytes, out);
}
template <lawful_draft Draft>
result<std::span<std::byte>> encode_draft(const wire_place& place, const wire_format& format,
                                          std::span<const Draft> drafts, std::span<std::byte> out) noexcept {
  return encode_draft(place, format, drafts, draft_attachments{}, out);
}

template <lawful_draft Draft>
result<std::size_t> draft_bytes(const wire_format& format, std::span<const Draft> drafts,
                                const draft_attachments& attachments) noexcept {
  const wire_format laws = detail::law_format_of(format, attachments.resolution);
  if (const status why = detail::check_drafts(laws, drafts); !why.ok()) return why;
  const std::size_t skipped = attachments.skipped.size();
  if (skipped > format.attachments.max_skipped) return detail::codec_error(errc::message_too_large, skipped);
  std::uint64_t bytes = detail::bits_to_bytes(detail::attachment_bits(format, skipped, drafts.size()));
  if (format.format == law_format::fp16_row) {
    bytes += detail::fp16_row_bytes(format, drafts.size());
  } else {
    const result<std::size_t> body = detail::encode_lattices(laws, drafts, std::span<std::byte>{});
    if (!body) return body.error();
    bytes += *body;
  }
  return static_cast<std::size_t>(detail::steady_bytes(bytes, format));
}

inline result<draft_attachments> decode_draft(const wire_place& place, const wire_format& format,
                                              std::span<const std::byte> message, received_draft_block& block,
                                              std::span<token_id> skipped, workspace& scratch) noexcept {
  block.clear();
  if (const status why = check(format); !why.ok()) return why;
  if (!carries_laws(format.format)) return detail::codec_error(errc::law_kind_mismatch, 0);
  if (const status why = detail::open_steady(message_kind::draft, place, format, message); !why.ok()) return why;
  detail::attachment_reader attached(format, message);
  if (const status why = attached.read(skipped.size()); !why.ok()) return why;
  const workspace_scope scope(scratch);
  const std::uint64_t entries = std::min<std::uint64_t>(detail::law_entries(format), block.room());
  const auto ids = scratch.take<token_id>(static_cast<std::size_t>(entries));
  const auto counts = scratch.take<std::uint32_t>(static_cast<std::size_t>(entries));
  if (!ids || !counts) return detail::codec_error(errc::workspace_too_small, decode_draft_workspace_size(format));
  const auto read = format.format == law_format::fp16_row ? detail::decode_fp16_rows : detail::decode_lattices;
  status why = read(attached.laws(), message, attached.end(), *ids, *counts, block);
  if (why.ok()) why = attached.fits(block.size());
  if (why.ok()) return attached.deliver(skipped);
  block.clear();
  return why;
}
inline result<draft_attachments> decode_draft(const wire_place& place, const wire_format& format,
                                              std::span<const std::byte> message, received_draft_block& block,
                                              workspace& scratch) noexcept {
  return decode_draft(place, format, message, block, {}, scratch);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
