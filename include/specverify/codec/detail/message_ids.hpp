// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes the ids of a draft message with a table of weights (id_code::prior, id_code::noise).
//! Used by codec/message.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_MESSAGE_IDS_HPP
#define SPECVERIFY_CODEC_DETAIL_MESSAGE_IDS_HPP

#include <specverify/codec/detail/message_attachments.hpp>
#include <specverify/codec/prior_table.hpp>
#include <specverify/codec/range_coder.hpp>
#include <specverify/codec/token_prior.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns the maximum bytes of the range code of `drafts` ids. An id costs at most 32 bits, or with noise 44 bits,
//! because the weights have a sum of at most 2^48, and each is at least 16. Rounding costs less than 2^-7 bits per id.
[[nodiscard]] constexpr std::uint64_t prior_ids_bytes(const wire_format& format, std::uint64_t drafts) noexcept {
  const std::uint64_t each = format.ids == id_code::noise ? 44 : 32;
  return bits_to_bytes(ceil_log2(std::uint64_t{format.max_draft_length} + 1) + each * drafts + drafts / 128 + 1) + 1;
}

//! Checks that `known` has a table for this vocabulary, the noise that the code needs, and space for `added` tokens
//! after the text.
[[nodiscard]] inline status check_prior_text(const wire_format& format, const prior_text& known,
                                             std::uint64_t added) noexcept {
  const bool has_noise = format.ids != id_code::noise || is_noise(known.noise.kind);
  if (known.table == nullptr || !has_noise) return codec_error(errc::invalid_argument, format.at_ids);
  if (known.table->vocab_size() != format.vocab_size)
    return codec_error(errc::vocabulary_mismatch, format.at_vocab_size);
  const std::uint64_t needed = known.length + added;
  return known.memory.size() < needed ? codec_error(errc::output_too_small, needed) : status{};
}

//! Returns the noise for drafts whose first position is `first`.
[[nodiscard]] inline id_noise noise_of(const wire_format& format, const prior_text& known, std::size_t first) noexcept {
  if (format.ids != id_code::noise) return {};
  return {known.noise, static_cast<std::uint32_t>(first)};
}

//! Encodes the drafts after the attachments, which take the first `begin` bits of `out`. Clears the remaining bits of
//! the byte in which the attachments end. The skipped ids must already be in `known`. Returns the number of bytes up to
//! the end of the code.
[[nodiscard]] inline result<std::size_t> encode_prior_ids(const wire_format& format,
                                                          std::span<const claimed_draft> claims,
                                                          const prior_text& known, std::size_t skipped,
                                                          std::uint64_t begin, std::span<std::byte> out) noexcept {
  if (const status why = check_prior_text(format, known, skipped + claims.size()); !why.ok()) return why;
  const std::size_t first = known.length + skipped;
  const auto at = static_cast<std::size_t>(bits_to_bytes(begin));
  if (const status why = has_room(at, out); !why.ok()) return why;
  for (std::size_t i = 0; i < claims.size(); ++i) known.memory[first + i] = claims[i].token;
  if (begin % 8 != 0) out[at - 1] &= static_cast<std::byte>((1u << begin % 8) - 1);
  range_encoder coder(out.subspan(at));
  coder.uniform(claims.size(), std::uint64_t{format.max_draft_length} + 1);
  const status why =
      encode_ids(coder, *known.table, known.memory.first(first + claims.size()), first, noise_of(format, known, first));
  if (!why.ok()) return why;
  const std::size_t bytes = coder.finish();
  return coder.decodable() ? result<std::size_t>(at + bytes) : codec_error(errc::not_canonical, bytes);
}

//! Decodes the drafts into `known`, after the skipped ids, and checks the rest of the message. `attached` must already
//! have read the attachments. Returns the number of drafts.
[[nodiscard]] inline result<std::uint32_t> decode_prior_ids(const wire_format& format,
                                                            std::span<const std::byte> message,
                                                            const attachment_reader& attached, const prior_text& known,
                                                            std::size_t room) noexcept {
  const std::size_t begin = attached.end();
  range_decoder coder(message.subspan(begin, message.size() - check_bytes(format) - begin));
  const auto drafts = static_cast<std::uint32_t>(coder.uniform(std::uint64_t{format.max_draft_length} + 1));
  const std::uint64_t skipped = attached.skipped();
  if (const status why = attached.fits(drafts); !why.ok()) return why;
  if (const status why = check_prior_text(format, known, skipped + drafts); !why.ok()) return why;
  if (drafts > room) return codec_error(errc::output_too_small, drafts);
  static_cast<void>(attached.deliver(known.memory.subspan(known.length)));
  const auto first = static_cast<std::size_t>(known.length + skipped);
  const id_noise noise = noise_of(format, known, first);
  if (const status why = decode_ids(coder, *known.table, known.memory.first(first + drafts), first, noise); !why.ok())
    return why;
  const result<std::size_t> used = coder.finish();
  if (!used) return used.error();
  if (const status why = close_steady(begin + *used, format, message); !why.ok()) return why;
  return drafts;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
