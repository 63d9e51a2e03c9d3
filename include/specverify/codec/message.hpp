// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes all messages between edge and cloud: hello, draft, request, supply, feedback, text, refuse,
//! stop.
//!
//! docs/wire-format.md describes every field and shows example bytes. hello and refuse start with 8 bytes, which
//! include a CRC-32C. The other messages are packed bits. All of them except stop end with a check of 0, 8 or 16 bits,
//! computed from values that both sides have (`wire_place`).
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605) and Conformal Sparsification (arXiv 2510.09942) count the
//!             bits of a draft; the byte layout is ours.
//! Symbols:    V = vocab_size, l = resolution, K = support_size.
//! Guarantees: noexcept, no allocation, O(bytes). decode_draft is O(bytes + the block's max_entries), plus l + V per
//!             draft if a dense lattice has V < 8 l. A decoder never reads outside the input, and the caller's limits
//!             bound how much it writes. It accepts exactly the byte strings that the encoder writes. Bit-exact. On an
//!             error the outputs are unchanged, except that a received_draft_block becomes empty, and the entries of
//!             `prior_text::memory` that follow the text are unspecified.
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

//! Returns a size in bytes that is enough for any draft message of `draft_length` drafts in this format, with
//! attachments, padding and check. Returns 0 for a format that fails `check`. O(1).
[[nodiscard]] inline std::size_t max_draft_bytes(const wire_format& format, std::uint32_t draft_length) noexcept;
// Sizes saturate: a result above 2^64 - 1 is returned as 2^64 - 1. pad_to = 0 counts as 1.

//! Returns a size in bytes that is enough for any feedback, request, refuse, stop or hello message in this format.
[[nodiscard]] inline std::size_t max_control_bytes(const wire_format& format) noexcept;
//! Return the size in bytes of a text message of `count` ids (`count` <= `most`), and of a supply message with a
//! payload of `payload` bytes.
[[nodiscard]] inline std::size_t text_bytes(const wire_format& format, std::uint32_t most, std::size_t count) noexcept;
[[nodiscard]] inline std::size_t supply_bytes(const wire_format& format, std::uint32_t draft_length,
                                              std::size_t payload) noexcept;
//! Returns a size in bytes that is enough for a supply message with the hidden states of all `draft_length` drafts.
[[nodiscard]] inline std::size_t max_supply_bytes(const wire_format& format, std::uint32_t draft_length) noexcept;
//! Returns a size in bytes that is enough for any message of a session in this format, for any number of check bits.
//! Text messages have at most `text_chunk` ids.
[[nodiscard]] inline std::size_t longest_message(const wire_format& format, std::uint32_t text_chunk) noexcept;
//! Returns the maximum number of listed ids in one draft message, for the arena of a received_draft_block.
[[nodiscard]] inline std::uint64_t max_draft_entries(const wire_format& format, std::uint32_t draft_length) noexcept;
//! Returns the number of bytes of workspace that decode_draft needs at most. It needs less if the block has space for
//! fewer ids than a distribution can have.
[[nodiscard]] inline std::size_t decode_draft_workspace_size(const wire_format& format) noexcept;

//! Returns the kind, which is in the first byte. Errors: truncated; unknown_message; unknown_version (`where` as from
//! decode_hello) for a resume, which only version 2 has.
[[nodiscard]] inline result<message_kind> kind_of(std::span<const std::byte> message) noexcept;

// Encoders write the whole message to the front of `out` and return that part. Errors of all encoders: output_too_small
// (`where` = bytes needed, if known) and the errors of `check` for the format. Decoders take exactly one message.
// Errors of all decoders: unexpected_message (a different kind), unknown_message, checksum_mismatch (the check does not
// match the bytes and the receiver's state), truncated, trailing_bytes, padding_not_zero, message_too_large,
// not_canonical, field_out_of_range. `where` = the index of the byte if the message has fixed fields, otherwise the
// index of the draft, id or position, or a constant of the type (wire_format::at_resolution,
// feedback_message::at_stop).

[[nodiscard]] inline result<std::span<std::byte>> encode_hello(const hello_message& value,
                                                               std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<hello_message> decode_hello(std::span<const std::byte> message) noexcept;
//! Returns the session id and the nonce of a hello of any version. A host needs them if it serves several sessions over
//! new connections, or must refuse a hello that decode_hello rejects. Also reads a resume of version 2, and returns its
//! epoch as the nonce. The checksum must match. Errors: as for decode_hello; unexpected_message for every other kind.
[[nodiscard]] inline result<hello_name> name_of(std::span<const std::byte> message) noexcept;
//! Returns the hash in the field `stop_tokens`, or nothing if the field is absent. `value` must come from decode_hello.
[[nodiscard]] inline std::optional<std::uint64_t> stop_tokens_hash(const hello_message& value) noexcept;
//! Returns the field `last_verdict`, with round 0 if it is absent.
[[nodiscard]] inline verdict_notice last_verdict(const hello_message& value) noexcept;
//! Returns the field `noise`, with kind none if it is absent.
[[nodiscard]] inline coupling_noise noise_of(const hello_message& value) noexcept;
//! Returns the fingerprint in the field `prior`, or nothing if it is absent.
[[nodiscard]] inline std::optional<prior_fingerprint> prior_of(const hello_message& value) noexcept;
//! Returns a hash of the drafts of a round.
[[nodiscard]] inline std::uint32_t draft_digest(std::span<const token_id> drafts) noexcept;

//! Encodes 0..max_draft_length drafts with distributions and attachments. A distribution must have the format's
//! vocabulary size V. Except for top_k_tail, it must have no tail, and for lattices the resolution must be l. For
//! top_k_tail, counts must be multiples of V-K, and the resolution must be l (V-K), or l if K = V.
//! Errors: draft_too_long, vocabulary_mismatch, invalid_resolution, law_kind_mismatch (a tail; a format without
//!         distributions; a count that is not a half float or not a multiple of V-K), support_too_large,
//!         token_not_in_law and the errors of check(law); `where` = index of the draft. not_canonical (chance 2^-128):
//!         no decoder can follow the code (max_bytes_ahead in codec/range_coder.hpp). For attachments:
//!         message_too_large (more skipped ids than agreed), token_out_of_range (a skipped id), invalid_resolution,
//!         size_mismatch (not one vector or probability per draft), probability_out_of_range, and the errors of
//!         check_hidden (`where` = index of the draft) and encode_channel_report.
template <lawful_draft Draft>
[[nodiscard]] result<std::span<std::byte>> encode_draft(const wire_place& place, const wire_format& format,
                                                        std::span<const Draft> drafts,
                                                        const draft_attachments& attachments,
                                                        std::span<std::byte> out) noexcept;
//! Encodes drafts without attachments.
template <lawful_draft Draft>
[[nodiscard]] result<std::span<std::byte>> encode_draft(const wire_place& place, const wire_format& format,
                                                        std::span<const Draft> drafts,
                                                        std::span<std::byte> out) noexcept;
//! Returns the exact size in bytes of the message of encode_draft, without writing it. Uses only the number of skipped
//! ids and the resolution of the attachments. Errors: as for encode_draft, except for the attachments' contents.
template <lawful_draft Draft>
[[nodiscard]] result<std::size_t> draft_bytes(const wire_format& format, std::span<const Draft> drafts,
                                              const draft_attachments& attachments) noexcept;
//! Decodes into a block, which is emptied first, and returns the attachments. Skipped ids are written to the front of
//! `skipped`, to which attachments.skipped points; attachments.hidden points into the message. If the message exceeds
//! the capacity of the block, the call returns an error.
//! Errors: law_kind_mismatch, draft_too_long, support_too_large (`where` = draft), output_too_small (`skipped`),
//!         workspace_too_small, token_not_in_law, token_out_of_range, field_out_of_range (a half float outside [0, 1]),
//!         empty_support, invalid_resolution.
[[nodiscard]] inline result<draft_attachments> decode_draft(const wire_place& place, const wire_format& format,
                                                            std::span<const std::byte> message,
                                                            received_draft_block& block, std::span<token_id> skipped,
                                                            workspace& scratch) noexcept;
//! Decodes a message without skipped ids. If the message has skipped ids, it returns output_too_small.
[[nodiscard]] inline result<draft_attachments> decode_draft(const wire_place& place, const wire_format& format,
                                                            std::span<const std::byte> message,
                                                            received_draft_block& block, workspace& scratch) noexcept;
//! Encodes and decodes drafts in formats without distributions (token_only, token_and_count). Decoded claims are
//! written to the front of `claims`. Only coded ids use `known`: both sides must pass the same text, table and noise,
//! and each id takes the time that codec/token_prior.hpp states. On an error `known.memory` after the text
//! is unspecified.
//! Errors: also invalid_argument (`where` = at_ids: no table, or no noise for id_code::noise), vocabulary_mismatch
//!         (`where` = at_vocab_size: the table has another vocabulary), output_too_small (also if `known.memory` is too
//!         small), size_mismatch, draft_too_long, law_kind_mismatch (also a format with distributions), and for a claim
//!         token_out_of_range, invalid_resolution and field_out_of_range (`where` = index of the claim).
[[nodiscard]] inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                                std::span<const claimed_draft> claims,
                                                                const draft_attachments& attachments,
                                                                const prior_text& known,
                                                                std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                                std::span<const claimed_draft> claims,
                                                                const draft_attachments& attachments,
                                                                std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<std::span<std::byte>> encode_claims(const wire_place& place, const wire_format& format,
                                                                std::span<const claimed_draft> claims,
                                                                std::span<std::byte> out) noexcept;
//! Returns the exact size in bytes of a message with `claims` claims and `skipped` skipped ids. Returns 0 if a number
//! or the format is out of range, if the format has distributions, or if ids are not plain.
[[nodiscard]] inline std::size_t claims_bytes(const wire_format& format, std::size_t claims,
                                              std::size_t skipped) noexcept;
[[nodiscard]] inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                                          std::span<const std::byte> message,
                                                          std::span<claimed_draft> claims, std::span<token_id> skipped,
                                                          const prior_text& known) noexcept;
[[nodiscard]] inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                                          std::span<const std::byte> message,
                                                          std::span<claimed_draft> claims,
                                                          std::span<token_id> skipped) noexcept;
[[nodiscard]] inline result<claims_message> decode_claims(const wire_place& place, const wire_format& format,
                                                          std::span<const std::byte> message,
                                                          std::span<claimed_draft> claims) noexcept;

//! `draft_length`: number of drafts in the round, which both sides have, so the accepted count takes
//! ceil(log2(draft_length + 1)) bits.
[[nodiscard]] inline result<std::span<std::byte>> encode_feedback(const wire_place& place, const wire_format& format,
                                                                  std::uint32_t draft_length,
                                                                  const feedback_message& value,
                                                                  std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<feedback_message> decode_feedback(const wire_place& place, const wire_format& format,
                                                              std::uint32_t draft_length,
                                                              std::span<const std::byte> message) noexcept;

//! A text message has 0..most ids; both sides must pass the same `most`. Decoding writes the ids to the front of
//! `storage`.
//! Errors: output_too_small, token_out_of_range (`where` = index).
[[nodiscard]] inline result<std::span<std::byte>> encode_text(const wire_place& place, const wire_format& format,
                                                              std::uint32_t most, std::span<const token_id> tokens,
                                                              std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<std::span<const token_id>> decode_text(const wire_place& place, const wire_format& format,
                                                                   std::uint32_t most,
                                                                   std::span<const std::byte> message,
                                                                   std::span<token_id> storage) noexcept;

//! A request must name at least one position. Decoding writes the bitmap to the front of `words` (ceil(draft_length /
//! 64) words), and `positions` points there.
[[nodiscard]] inline result<std::span<std::byte>> encode_request(const wire_place& place, const wire_format& format,
                                                                 std::uint32_t draft_length,
                                                                 const request_message& value,
                                                                 std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<request_message> decode_request(const wire_place& place, const wire_format& format,
                                                            std::uint32_t draft_length,
                                                            std::span<const std::byte> message,
                                                            std::span<std::uint64_t> words) noexcept;
//! After decoding, `payload` points into the message. Errors if what = 1: size_mismatch, the errors of check_hidden
//! (`where` = index of the vector).
[[nodiscard]] inline result<std::span<std::byte>> encode_supply(const wire_place& place, const wire_format& format,
                                                                std::uint32_t draft_length, const supply_message& value,
                                                                std::span<std::byte> out) noexcept;
[[nodiscard]] inline result<supply_message> decode_supply(const wire_place& place, const wire_format& format,
                                                          std::uint32_t draft_length,
                                                          std::span<const std::byte> message,
                                                          std::span<std::uint64_t> words) noexcept;

//! `answered`: the last hello that the refusing side read or sent. Decoding with a different hello returns
//! checksum_mismatch.
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
