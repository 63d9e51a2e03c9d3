// SPDX-License-Identifier: Apache-2.0
//! Every byte of every message, made and read here: hello, draft, request, supply, feedback, text, refuse, stop.
//!
//! hello and refuse start with 8 bytes: kind, round mod 256, length mod 2^16, and a CRC-32C. The others start with
//! their kind in 4 bits and go on with their own bits. They end with a check of 0, 8 or 16 bits over what both sides
//! know; stop has none. Everything is little-endian; docs/wire-format.md has every field and golden bytes.
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605) and Conformal Sparsification (arXiv 2510.09942) count the
//!             bits of a draft; the bytes are ours.
//! Symbols:    V = vocab_size, l = resolution, K = support_size, L = drafts in a message.
//! Guarantees: noexcept, no allocation, O(bytes); decode_draft O(bytes + the block's max_entries), and where a dense
//!             lattice has V < 8 l also l + V for each draft. A decoder reads only inside the bytes it is given, sizes
//!             nothing by what they say, and accepts exactly the byte strings that the encoder writes: every accepted
//!             message encodes to the same bytes again. Bit-exact. On an error outputs stay as they were, except that a
//!             received_draft_block is left empty.
//! See:        docs/wire-format.md, docs/algorithms/message.md, tests/unit/codec/message_test.cpp, tests/wire/,
//!             tests/fuzz/
#ifndef SPECVERIFY_CODEC_MESSAGE_HPP
#define SPECVERIFY_CODEC_MESSAGE_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/distribution/draft_block.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

//! Bytes that hold any draft message of `draft_length` drafts in this format, attachments, padding and check included;
//! 0 for a format that does not check. O(1).
[[nodiscard]] inline std::size_t max_draft_bytes(const wire_format& format, std::uint32_t draft_length) noexcept;
// Sizes take any value: what exceeds 2^64 - 1 is 2^64 - 1, and pad_to = 0 counts as 1.

//! Bytes that hold any feedback, request, refuse, stop or hello message under this format.
[[nodiscard]] inline std::size_t max_control_bytes(const wire_format& format) noexcept;
//! Bytes of a text message with this many ids, `most` at most, and of a supply message with this many payload bytes.
[[nodiscard]] inline std::size_t text_bytes(const wire_format& format, std::uint32_t most, std::size_t count) noexcept;
[[nodiscard]] inline std::size_t supply_bytes(const wire_format& format, std::uint32_t draft_length,
                                              std::size_t payload) noexcept;
//! Bytes that hold a supply message with the hidden states of all of `draft_length` drafts.
[[nodiscard]] inline std::size_t max_supply_bytes(const wire_format& format, std::uint32_t draft_length) noexcept;
//! Bytes that hold any message of a session in this format, whatever its check is: the text messages have at most
//! `text_chunk` ids.
[[nodiscard]] inline std::size_t longest_message(const wire_format& format, std::uint32_t text_chunk) noexcept;
//! Listed ids that the laws of one draft message can have, for the arena of a received_draft_block.
[[nodiscard]] inline std::uint64_t max_draft_entries(const wire_format& format, std::uint32_t draft_length) noexcept;
//! Workspace of decode_draft; a block with room for fewer ids than a law can have needs less.
[[nodiscard]] inline std::size_t decode_draft_workspace_size(const wire_format& format) noexcept;

//! The kind, from the first byte alone. Errors: truncated; unknown_message; unknown_version, as decode_hello gives it,
//! for the kind of version 2 that is none of this version.
[[nodiscard]] inline result<message_kind> kind_of(std::span<const std::byte> message) noexcept;

// Encoders write the whole message to the front of `out` and return that part. Errors of all: output_too_small (`where`
// = bytes needed, where they are known), and what `check` says of the format. Decoders take exactly one message. Errors
// of all: unexpected_message (another kind), unknown_message; checksum_mismatch (the check does not fit the place);
// truncated, trailing_bytes, padding_not_zero, message_too_large; not_canonical, field_out_of_range. `where` is the
// index of what is wrong: the byte where a message has fixed fields, else the draft, id or position; or a constant of
// its type (wire_format::at_resolution, feedback_message::at_stop).

[[nodiscard]] inline result<std::span<std::byte>> encode_hello(const hello_message& value,
                                                               std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<hello_message> decode_hello(std::span<const std::byte> message) noexcept;
//! Session and nonce of a hello of any version, for a host that serves several sessions over new connections, and to
//! refuse a hello that decode_hello does not take. Of version 2 it also reads a resume, and the epoch is the nonce. The
//! checksum holds. Errors: as decode_hello; unexpected_message for every other kind.
[[nodiscard]] inline result<hello_name> name_of(std::span<const std::byte> message) noexcept;
//! The hash in the field `stop_tokens`; none: the sender lists none, or did not say. `value`: as decode_hello gave it.
[[nodiscard]] inline std::optional<std::uint64_t> stop_tokens_hash(const hello_message& value) noexcept;
//! The field `last_verdict`; round 0: there is none.
[[nodiscard]] inline verdict_notice last_verdict(const hello_message& value) noexcept;
//! Of the drafts of a round.
[[nodiscard]] inline std::uint32_t draft_digest(std::span<const token_id> drafts) noexcept;

//! Encodes 0..max_draft_length drafts with their laws, and their attachments. The laws must have the format's
//! vocabulary size and resolution (top_k_tail: l (V-K), l when K = V) and no tail (top_k_tail: counts that are
//! multiples of V-K).
//! Errors: draft_too_long, vocabulary_mismatch, invalid_resolution, law_kind_mismatch (tail; format without laws; a
//!         count that is no half float or no multiple), support_too_large, token_not_in_law and those of check(law);
//!         `where` = index of the draft. not_canonical (chance 2^-128): no decoder follows the code (max_bytes_ahead of
//!         codec/range_coder.hpp). Of the attachments: message_too_large (more skipped ids than agreed),
//!         token_out_of_range, size_mismatch (the vectors are not those of the drafts), and those of check_hidden
//!         (`where` = index of the draft) and encode_channel_report.
template <lawful_draft Draft>
[[nodiscard]] result<std::span<std::byte>> encode_draft(const wire_place& place, const wire_format& format,
                                                        std::span<const Draft> drafts,
                                                        const draft_attachments& attachments,
                                                        std::span<std::byte> out) noexcept;
//! Without attachments.
template <lawful_draft Draft>
[[nodiscard]] result<std::span<std::byte>> encode_draft(const wire_place& place, const wire_format& format,
                                                        std::span<const Draft> drafts,
                                                        std::span<std::byte> out) noexcept;
//! Exact bytes of that message, without writing it. Of the attachments, the skipped ids and the resolution count.
//! Errors: those of encode_draft, the attachments' own aside.
template <lawful_draft Draft>
[[nodiscard]] result<std::size_t> draft_bytes(const wire_format& format, std::span<const Draft> drafts,
                                              const draft_attachments& attachments) noexcept;
//! Decodes into a block, which is emptied first, and returns what came with the drafts. Skipped ids are written to the
//! front of `skipped`, where attachments.skipped points; attachments.hidden points into the message. Drafts
//! beyond the block's capacity, and a law with more ids than it has room for, are refused before they are read.
//! Errors: law_kind_mismatch, draft_too_long, support_too_large (`where` = draft), output_too_small (`skipped`),
//!         workspace_too_small, token_not_in_law, token_out_of_range, field_out_of_range (a half float outside [0, 1]),
//!         empty_support, invalid_resolution.
[[nodiscard]] inline result<draft_attachments> decode_draft(const wire_place& place, const wire_format& format,
                                                            std::span<const std::byte> message,
                                                            received_draft_block& block, std::span<token_id> skipped,
                                                            workspace& scratch) noexcept;
//! Without room for skipped ids; a message with some is output_too_small.
[[nodiscard]] inline result<draft_attachments> decode_draft(const wire_place& place, const wire_format& format,
                                                            std::span<const std::byte> message,
                                                            received_draft_block& block, workspace& scratch) noexcept;
//! The same for formats without laws (token_only, token_and_count). Decoding writes the claims to the front of
//! `claims`.
[[nodiscard]] inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                                std::span<const claimed_draft> claims,
                                                                const draft_attachments& attachments,
                                                                std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                                std::span<const claimed_draft> claims,
                                                                std::span<std::byte> out) noexcept;
//! Exact bytes of a message of that many claims and skipped ids; 0 where encode_claims gives an error.
[[nodiscard]] inline std::size_t claims_bytes(const wire_format& format, std::size_t claims,
                                              std::size_t skipped) noexcept;
[[nodiscard]] inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                                          std::span<const std::byte> message,
                                                          std::span<claimed_draft> claims,
                                                          std::span<token_id> skipped) noexcept;
[[nodiscard]] inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                                          std::span<const std::byte> message,
                                                          std::span<claimed_draft> claims) noexcept;

//! `draft_length`: the drafts of the round, which both sides know; the accepted count takes ceil(log2(draft_length +
//! 1)) bits.
[[nodiscard]] inline result<std::span<std::byte>> encode_feedback(const wire_place& place, const wire_format& format,
                                                                  std::uint32_t draft_length,
                                                                  const feedback_message& value,
                                                                  std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<feedback_message> decode_feedback(const wire_place& place, const wire_format& format,
                                                              std::uint32_t draft_length,
                                                              std::span<const std::byte> message) noexcept;

//! 0..most ids; both sides know `most`. Decoding writes them to the front of `storage`. Errors: output_too_small,
//! token_out_of_range (`where` = index).
[[nodiscard]] inline result<std::span<std::byte>> encode_text(const wire_place& place, const wire_format& format,
                                                              std::uint32_t most, std::span<const token_id> tokens,
                                                              std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<std::span<const token_id>> decode_text(const wire_place& place, const wire_format& format,
                                                                   std::uint32_t most,
                                                                   std::span<const std::byte> message,
                                                                   std::span<token_id> storage) noexcept;

//! Decoding writes the bitmap to the front of `words` (ceil(draft_length / 64) of them), where `positions` points. At
//! least one position must be named.
[[nodiscard]] inline result<std::span<std::byte>> encode_request(const wire_place& place, const wire_format& format,
                                                                 std::uint32_t draft_length,
                                                                 const request_message& value,
                                                                 std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<request_message> decode_request(const wire_place& place, const wire_format& format,
                                                            std::uint32_t draft_length,
                                                            std::span<const std::byte> message,
                                                            std::span<std::uint64_t> words) noexcept;
//! Decoding points `payload` into the message. Errors of what = 1: size_mismatch, those of check_hidden (`where` =
//! place among the vectors).
[[nodiscard]] inline result<std::span<std::byte>> encode_supply(const wire_place& place, const wire_format& format,
                                                                std::uint32_t draft_length, const supply_message& value,
                                                                std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<supply_message> decode_supply(const wire_place& place, const wire_format& format,
                                                          std::uint32_t draft_length,
                                                          std::span<const std::byte> message,
                                                          std::span<std::uint64_t> words) noexcept;

//! `answered`: the last hello that who refuses has read, or sent. Decoding under another one is checksum_mismatch.
[[nodiscard]] inline result<std::span<std::byte>> encode_refuse(const hello_name& answered, status reason,
                                                                std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<refuse_message> decode_refuse(const hello_name& answered,
                                                          std::span<const std::byte> message) noexcept;
[[nodiscard]] inline result<std::span<std::byte>> encode_stop(const stop_message& value,
                                                              std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<stop_message> decode_stop(std::span<const std::byte> message) noexcept;

SPECVERIFY_NAMESPACE_END

#include <specverify/codec/detail/message_claims.hpp>
#include <specverify/codec/detail/message_payload.hpp>

#endif
