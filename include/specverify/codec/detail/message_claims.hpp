// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes drafts without distributions, and computes the sizes of draft messages. Used by
//! codec/message.hpp, which documents the functions.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_CLAIMS_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_CLAIMS_HPP

#include <specverify/codec/detail/message_draft.hpp>
#include <specverify/codec/detail/message_ids.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the ideal cost in bits of the most expensive distribution with a tail, plus a token.
[[nodiscard]] inline double dearest_tail_law_bits(const wire_format& format) noexcept {
  const double size = static_cast<double>(format.vocab_size);
  // C(V,k) C(l+k,k) grows with k while (V-k)(l+k+1) > (k+1)^2, so up to about the larger root of 2 k^2 + k (l+3-V) = V
  // l + V - 1.
  const double from = size - format.resolution - 3.0;
  const auto peak =
      static_cast<std::uint32_t>((from + std::sqrt(from * from + 8 * (size * format.resolution + size - 1))) / 4);
  const std::uint32_t limit = law_entries(format);
  double most = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::uint32_t kept = peak + i > limit ? limit : peak + i == 0 ? 1 : peak + i;
    const double bits =
        log2_binomial(format.vocab_size, kept) + log2_binomial(std::uint64_t{format.resolution} + kept, kept);
    if (bits > most) most = bits;
  }
  return most + std::log2(static_cast<double>(limit)) + std::log2(static_cast<double>(limit) + 1) + std::log2(size);
}

//! Returns the ideal cost in bits of the most expensive distribution, plus a token.
[[nodiscard]] inline double dearest_law_bits(const wire_format& format) noexcept {
  const double size = static_cast<double>(format.vocab_size);
  if (format.format == law_format::dense_lattice)
    return log2_binomial(std::uint64_t{format.resolution} + format.vocab_size - 1, format.resolution) + std::log2(size);
  if (format.format == law_format::sparse_paper) {
    if (format.support_size != 0)
      return top_k_law_bits(format.vocab_size, format.support_size, format.resolution) +
             std::log2(static_cast<double>(format.support_size));
    // For any K there are at most 2^V subsets, and the counts cost most at K = V.
    return size + log2_binomial(std::uint64_t{format.resolution} + format.vocab_size - 1, format.resolution) +
           2 * std::log2(size);
  }
  if (format.format == law_format::top_k_tail) return dearest_tail_law_bits(format);
  // C(V,k) C(l-1,k-1) grows with k while (V-k)(l-k) > k(k+1), so up to about l V / (l + V + 1).
  const std::uint32_t limit = positive_limit(format);
  const auto peak = static_cast<std::uint32_t>(std::uint64_t{format.resolution} * format.vocab_size /
                                               (std::uint64_t{format.resolution} + format.vocab_size + 1));
  double most = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    std::uint32_t positive = peak + i > limit ? limit : peak + i;
    if (positive == 0) positive = 1;
    const double bits =
        log2_binomial(format.vocab_size, positive) + log2_binomial(std::uint64_t{format.resolution} - 1, positive - 1);
    if (bits > most) most = bits;
  }
  return most + 2 * std::log2(static_cast<double>(limit));
}

//! Returns the maximum bits of one distribution plus a token. A distribution is a subset and a composition, each within
//! 0.2 bits + 0.02 % of the ideal cost (codec/support_code.hpp).
[[nodiscard]] inline double max_law_bits(const wire_format& format) noexcept {
  return dearest_law_bits(format) * 1.0002 + 2;
}

[[nodiscard]] inline status check_claim(const wire_format& format, const claimed_draft& claim,
                                        std::uint64_t index) noexcept {
  if (claim.token < 0 || static_cast<std::uint32_t>(claim.token) >= format.vocab_size)
    return codec_error(errc::token_out_of_range, index);
  if (claim.resolution != format.resolution) return codec_error(errc::invalid_resolution, index);
  if (format.format == law_format::token_only)
    return claim.count == 0 ? status{} : codec_error(errc::law_kind_mismatch, index);
  if (claim.count == 0 || claim.count > format.resolution) return codec_error(errc::field_out_of_range, index);
  return {};
}

}  // namespace detail

inline std::size_t max_draft_bytes(const wire_format& format, std::uint32_t draft_length) noexcept {
  if (!check(format).ok()) return 0;
  const std::uint64_t bits = detail::attachment_bits(format, format.attachments.max_skipped, draft_length);
  std::uint64_t bytes = detail::bits_to_bytes(bits);
  if (format.format == law_format::fp16_row) {
    bytes += detail::fp16_row_bytes(format, draft_length);
  } else if (format.ids != id_code::plain) {
    bytes += detail::prior_ids_bytes(format, draft_length);
  } else if (!carries_laws(format.format)) {
    bytes = detail::bits_to_bytes(bits + detail::claims_bits(format, draft_length));
  } else {
    bytes += static_cast<std::uint64_t>(
                 (std::log2(format.max_draft_length + 1.0) + draft_length * detail::max_law_bits(format)) / 8) +
             2;
  }
  return static_cast<std::size_t>(detail::steady_bytes(bytes, format));
}

inline std::size_t longest_message(const wire_format& format, std::uint32_t text_chunk) noexcept {
  const std::uint32_t drafts = format.max_draft_length;
  wire_format checked = format;
  checked.check_bits = 16;
  const std::size_t either[] = {max_draft_bytes(checked, drafts), max_supply_bytes(checked, drafts),
                                max_control_bytes(checked), text_bytes(checked, text_chunk, text_chunk)};
  std::size_t most = 0;
  for (const std::size_t bytes : either) most = bytes > most ? bytes : most;
  return most;
}

inline std::size_t claims_bytes(const wire_format& format, std::size_t claims, std::size_t skipped) noexcept {
  if (!check(format).ok() || carries_laws(format.format) || format.ids != id_code::plain ||
      claims > format.max_draft_length || skipped > format.attachments.max_skipped)
    return 0;
  const std::uint64_t bits = detail::attachment_bits(format, skipped, claims) + detail::claims_bits(format, claims);
  return static_cast<std::size_t>(detail::steady_bytes(detail::bits_to_bytes(bits), format));
}

inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                  std::span<const claimed_draft> claims,
                                                  const draft_attachments& attachments, const prior_text& known,
                                                  std::span<std::byte> out) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (carries_laws(format.format)) return detail::codec_error(errc::law_kind_mismatch, 0);
  if (claims.size() > format.max_draft_length) return detail::codec_error(errc::draft_too_long, claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (const status why = detail::check_claim(format, claims[i], i); !why.ok()) return why;
  }
  if (const status why = detail::check_attachments(format, attachments, claims.size()); !why.ok()) return why;
  const std::size_t skipped = attachments.skipped.size();
  const std::uint64_t begin = detail::attachment_bits(format, skipped, claims.size());
  if (format.ids != id_code::plain) {
    if (const status why = detail::check_prior_text(format, known, skipped + claims.size()); !why.ok()) return why;
    if (const status why = detail::has_room(detail::bits_to_bytes(begin), out); !why.ok()) return why;
    detail::store_attachments(format, attachments, claims.size(), out).finish();
    for (std::size_t i = 0; i < skipped; ++i) known.memory[known.length + i] = attachments.skipped[i];
    const result<std::size_t> coded = detail::encode_prior_ids(format, claims, known, skipped, begin, out);
    if (!coded) return coded.error();
    if (const status why = detail::has_room(detail::steady_bytes(*coded, format), out); !why.ok()) return why;
    return detail::seal(message_kind::draft, place, format, *coded, out);
  }
  const std::uint64_t bytes = detail::bits_to_bytes(begin + detail::claims_bits(format, claims.size()));
  if (const status why = detail::has_room(detail::steady_bytes(bytes, format), out); !why.ok()) return why;
  detail::bit_writer bits = detail::store_attachments(format, attachments, claims.size(), out);
  bits.put(claims.size(), ceil_log2(std::uint64_t{format.max_draft_length} + 1));
  for (const claimed_draft& claim : claims) {
    bits.put(static_cast<std::uint32_t>(claim.token), token_bits(format.vocab_size));
    if (format.format == law_format::token_and_count) bits.put(claim.count - 1, ceil_log2(format.resolution));
  }
  bits.finish();
  return detail::seal(message_kind::draft, place, format, bytes, out);
}
inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                  std::span<const claimed_draft> claims,
                                                  const draft_attachments& attachments,
                                                  std::span<std::byte> out) noexcept {
  return encode_claims(place, format, claims, attachments, {}, out);
}
inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                  std::span<const claimed_draft> claims,
                                                  std::span<std::byte> out) noexcept {
  return encode_claims(place, format, claims, draft_attachments{}, out);
}

inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                            std::span<const std::byte> message, std::span<claimed_draft> claims,
                                            std::span<token_id> skipped, const prior_text& known) noexcept {
  if (const status why = check(format); !why.ok()) return why;
  if (carries_laws(format.format)) return detail::codec_error(errc::law_kind_mismatch, 0);
  if (const status why = detail::open_steady(message_kind::draft, place, format, message); !why.ok()) return why;
  detail::attachment_reader attached(format, message);
  if (const status why = attached.read(skipped.size()); !why.ok()) return why;
  if (format.ids != id_code::plain) {
    const result<std::uint32_t> drafts = detail::decode_prior_ids(format, message, attached, known, claims.size());
    if (!drafts) return drafts.error();
    const std::size_t first = known.length + attached.skipped();
    for (std::uint32_t i = 0; i < *drafts; ++i) claims[i] = {known.memory[first + i], 0, 0};
    return claims_message{claims.first(*drafts), attached.deliver(skipped)};
  }
  const std::uint64_t begin = attached.end_bits();
  if (!detail::has_bytes(detail::bits_to_bytes(begin + detail::claims_bits(format, 0)), format, message))
    return detail::codec_error(errc::truncated, message.size());
  std::uint32_t length = 0;
  // Two passes, because nothing may be written before every claim is checked.
  for (const bool write : {false, true}) {
    detail::bit_reader bits(message.data() + static_cast<std::size_t>(begin / 8));
    static_cast<void>(bits.take(begin % 8));
    length = bits.take(ceil_log2(std::uint64_t{format.max_draft_length} + 1));
    if (length > format.max_draft_length) return detail::codec_error(errc::draft_too_long, length);
    const std::uint64_t bytes = detail::bits_to_bytes(begin + detail::claims_bits(format, length));
    if (const status why = detail::close_steady(bytes, format, message); !why.ok()) return why;
    if (const status why = attached.fits(length); !why.ok()) return why;
    if (length > claims.size()) return detail::codec_error(errc::output_too_small, length);
    for (std::uint32_t i = 0; i < length; ++i) {
      claimed_draft read{static_cast<token_id>(bits.take(token_bits(format.vocab_size))), 0, format.resolution};
      if (format.format == law_format::token_and_count) read.count = bits.take(ceil_log2(format.resolution)) + 1;
      if (const status why = detail::check_claim(format, read, i); !why.ok()) return why;
      if (write) claims[i] = read;
    }
    if (!bits.rest_is_zero()) return detail::codec_error(errc::padding_not_zero, bytes - 1);
  }
  return claims_message{claims.first(length), attached.deliver(skipped)};
}
inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                            std::span<const std::byte> message, std::span<claimed_draft> claims,
                                            std::span<token_id> skipped) noexcept {
  return decode_claims(place, format, message, claims, skipped, {});
}
inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                            std::span<const std::byte> message,
                                            std::span<claimed_draft> claims) noexcept {
  return decode_claims(place, format, message, claims, {});
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
