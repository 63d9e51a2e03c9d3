// SPDX-License-Identifier: Apache-2.0
//! The bodies of the fuzz targets: each decodes its input as one kind of message and, when that is accepted, encodes it
//! again and demands the same bytes. `raw` gives the bytes as they are; `body` gives them with a good header and
//! checksum, so that the decoder behind the checksum is reached. The first byte of an input picks one of a few formats;
//! the rest is the message. The same bodies are libFuzzer entries and, in replay_test.cpp, run over the committed
//! corpus.
#ifndef SPECVERIFY_TESTS_FUZZ_MESSAGE_FUZZ_HPP
#define SPECVERIFY_TESTS_FUZZ_MESSAGE_FUZZ_HPP

#include <specverify/codec/message.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace specverify_fuzz {

using namespace specverify;

[[noreturn]] inline void finding(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}
inline void demand(bool holds, const char* what) {
  if (!holds) finding(what);
}

inline constexpr wire_context context{0x1122334455667788u, 3, 0x10203, 70000, 0x99aabbccddeeff00u, 0};
inline constexpr std::uint32_t draft_length = 7;

//! Formats of drafts with laws, small enough that a block holds any message.
inline constexpr std::array<wire_format, 20> law_formats{{
    {law_format::sparse_drop_zero, 128256, 100, 0, 8, 1},
    {law_format::sparse_drop_zero, 37, 12, 0, 4, 1},
    {law_format::sparse_drop_zero, 50257, 300, 20, 8, 16},
    {law_format::sparse_paper, 128256, 100, 16, 8, 1},
    {law_format::sparse_paper, 40, 9, 0, 3, 1},
    {law_format::dense_lattice, 50272, 240, 0, 4, 1},
    {law_format::dense_lattice, 9, 5, 0, 8, 8},
    {law_format::fp16_row, 11, 0, 0, 4, 1},
    {law_format::fp16_row, 3, 0, 0, 2, 32},
    {law_format::sparse_drop_zero, 16777216, 65536, 40, 2, 1},
    {law_format::top_k_tail, 32000, 255, 64, 2, 1},
    {law_format::top_k_tail, 6, 5, 0, 3, 1},
    {law_format::top_k_tail, 16777216, 256, 12, 2, 16},
    {law_format::sparse_drop_zero, 37, 12, 0, 4, 1, {3, hidden_format::int8, true, true, 9}},
    {law_format::fp16_row, 5, 0, 0, 2, 1, {2, hidden_format::float16, true, false, 3}},
    {law_format::top_k_tail, 40, 9, 8, 3, 8, {0, hidden_format::none, false, true, 65536}},
    {law_format::dense_lattice, 30, 12, 0, 4, 1, {0, hidden_format::none, false, false, 0, true}},
    {law_format::sparse_drop_zero, 500, 40, 6, 4, 1, {1, hidden_format::float16, true, true, 5, true}},
    {law_format::top_k_tail, 32000, 255, 31, 1, 1, {0, hidden_format::none, false, false, 63, false, true}},
    {law_format::top_k_tail, 60, 30, 6, 3, 8, {2, hidden_format::int8, true, true, 5, true, true}},
}};
inline constexpr std::array<wire_format, 8> claim_formats{{
    {law_format::token_only, 128256, 0, 0, 8, 1},
    {law_format::token_only, 5, 0, 0, 2, 16},
    {law_format::token_and_count, 32000, 100, 0, 8, 1},
    {law_format::token_and_count, 1, 3, 0, 4, 1},
    {law_format::token_only, 128256, 0, 0, 8, 1, {4, hidden_format::float16, true, true, 100}},
    {law_format::token_only, 1000, 0, 0, 8, 1, {5, hidden_format::int8, true, false, 0}},
    {law_format::token_and_count, 50, 7, 0, 3, 16, {0, hidden_format::none, false, true, 2}},
    {law_format::token_only, 1, 0, 0, 4, 1, {1, hidden_format::int8, false, false, 65536}},
}};
//! Room for skipped ids; a message may hold more, and is then refused.
inline constexpr std::size_t skipped_room = 300;

//! What a decoder works on, made once per format.
struct bench {
  explicit bench(const wire_format& with)
      : format(with),
        memory(decode_draft_workspace_size(with)),
        block(std::move(
            received_draft_block::make(
                {with.max_draft_length, std::max<std::uint64_t>(1, max_draft_entries(with, with.max_draft_length))})
                .value())) {}
  wire_format format;
  std::vector<std::byte> memory;
  received_draft_block block;
};

struct again {
  std::vector<std::byte> bytes;
  explicit again(std::size_t size) : bytes(size) {}
  static void same(const result<std::span<std::byte>>& made, std::span<const std::byte> message) {
    demand(made.ok(), "an accepted message does not encode");
    demand(std::equal(message.begin(), message.end(), made->begin(), made->end()),
           "an accepted message encodes to other bytes");
  }
};

//! The context with the transmission number that the message carries: the only part that is not checked.
inline wire_context context_of(std::span<const std::byte> message) {
  wire_context with = context;
  if (!message.empty()) with.transmission = static_cast<std::uint8_t>(std::to_integer<unsigned>(message[0]) >> 4);
  return with;
}

inline void take_draft(unsigned choice, std::span<const std::byte> message) {
  static std::vector<std::unique_ptr<bench>> benches(law_formats.size());
  auto& slot = benches[choice % law_formats.size()];
  if (!slot) slot = std::make_unique<bench>(law_formats[choice % law_formats.size()]);
  workspace scratch(slot->memory);
  std::array<token_id, skipped_room> skipped{};
  const auto attachments = decode_draft(context, slot->format, message, slot->block, skipped, scratch);
  demand(attachments || slot->block.empty(), "a refused message left drafts behind");
  if (!attachments) return;
  for (const received_draft& drafted : slot->block.drafts()) {
    demand(check(drafted.source_law()).ok(), "a law that does not check");
    demand(drafted.source_law().count(drafted.token()) > 0, "a token without mass");
  }
  again second(message.size());
  second.same(encode_draft(context_of(message), slot->format, slot->block.drafts(), *attachments, second.bytes),
              message);
  const auto exact = draft_bytes(slot->format, slot->block.drafts(), *attachments);
  demand(exact && *exact == message.size(), "draft_bytes is not exact");
  demand(message.size() <= max_draft_bytes(slot->format, slot->block.size()), "longer than the predictor says");
}

inline void take_claims(unsigned choice, std::span<const std::byte> message) {
  const wire_format& format = claim_formats[choice % claim_formats.size()];
  std::array<claimed_draft, 8> claims{};
  std::array<token_id, skipped_room> skipped{};
  const auto read = decode_claims(context, format, message, claims, skipped);
  if (!read) return;
  again second(message.size());
  second.same(encode_claims(context_of(message), format, read->claims, read->attachments, second.bytes), message);
  demand(claims_bytes(format, read->claims.size(), read->attachments.skipped.size()) == message.size(),
         "claims_bytes is not exact");
}

inline void take_hello(unsigned, std::span<const std::byte> message) {
  const auto value = decode_hello(message);
  if (!value) return;
  again second(message.size());
  second.same(encode_hello(*value, second.bytes), message);
}

inline void take_resume(unsigned, std::span<const std::byte> message) {
  const auto value = decode_resume(message);
  if (!value) return;
  again second(message.size());
  second.same(encode_resume(*value, second.bytes), message);
}

inline void take_feedback(unsigned choice, std::span<const std::byte> message) {
  const wire_format& format = law_formats[choice % 3];
  const std::uint32_t length = choice / 3 % (format.max_draft_length + 1);
  const auto value = decode_feedback(context, format, length, message);
  if (!value) return;
  again second(message.size());
  second.same(encode_feedback(context_of(message), format, length, *value, second.bytes), message);
}

inline void take_text(unsigned choice, std::span<const std::byte> message) {
  const wire_format& format = law_formats[choice % 3];
  std::array<token_id, 64> storage{};
  const auto value = decode_text(context, format, message, storage);
  if (!value) return;
  again second(message.size());
  second.same(encode_text(context_of(message), format, *value, second.bytes), message);
}

inline void take_request(unsigned choice, std::span<const std::byte> message) {
  wire_format format = law_formats[choice % 3];
  format.max_draft_length = 200;
  if (choice >= 128) format.attachments = {3, choice % 2 == 0 ? hidden_format::float16 : hidden_format::int8};
  const std::uint32_t length = choice % 7 * 31;
  std::array<std::uint64_t, 4> words{};
  const auto value = decode_request(context, format, length, message, words);
  if (!value) return;
  again second(message.size());
  second.same(encode_request(context_of(message), format, length, *value, second.bytes), message);
}

inline void take_supply(unsigned choice, std::span<const std::byte> message) {
  wire_format format = law_formats[choice % 3];
  format.max_draft_length = 200;
  if (choice >= 128) format.attachments = {3, choice % 2 == 0 ? hidden_format::float16 : hidden_format::int8};
  const std::uint32_t length = choice % 7 * 31;
  std::array<std::uint64_t, 4> words{};
  const auto value = decode_supply(context, format, length, message, words);
  if (!value) return;
  again second(message.size());
  second.same(encode_supply(context_of(message), format, length, *value, second.bytes), message);
}

inline void take_refuse(unsigned, std::span<const std::byte> message) {
  const auto value = decode_refuse(context, message);
  if (!value) return;
  again second(message.size());
  second.same(encode_refuse(context_of(message), *value, second.bytes), message);
}

inline void take_stop(unsigned, std::span<const std::byte> message) {
  const auto value = decode_stop(context, message);
  if (!value) return;
  again second(message.size());
  second.same(encode_stop(context_of(message), *value, second.bytes), message);
}

//! A vector alone, without a message around it.
inline void take_hidden(unsigned choice, std::span<const std::byte> bytes) {
  const hidden_format format = choice % 2 == 0 ? hidden_format::float16 : hidden_format::int8;
  const std::size_t size = format == hidden_format::float16 ? bytes.size() / 2
                           : bytes.size() < 4               ? 0
                                                            : bytes.size() - 4;
  std::vector<float> values(size);
  if (!decode_hidden(bytes, format, values).ok()) return;
  for (const float value : values) demand(numeric::is_finite(value), "a number that is not finite");
  std::vector<std::byte> second(bytes.size());
  demand(encode_hidden(values, format, second).ok() && std::equal(bytes.begin(), bytes.end(), second.begin()),
         "an accepted vector encodes to other bytes");
}

using take_message = void (*)(unsigned, std::span<const std::byte>);

inline void raw_input(take_message take, std::span<const std::byte> input) {
  if (input.empty()) return;
  // A copy of its own size, so that the sanitizer sees a read beyond the message.
  const std::vector<std::byte> message(input.begin() + 1, input.end());
  take(std::to_integer<unsigned>(input[0]), message);
}

inline void body_input(take_message take, message_kind kind, std::span<const std::byte> input) {
  if (input.empty()) return;
  std::vector<std::byte> message(message_header_bytes);
  message.insert(message.end(), input.begin() + 1, input.end());
  wire_context agreed = context;
  const std::size_t at = kind == message_kind::hello ? 10 : 8;
  if ((kind == message_kind::hello || kind == message_kind::resume) && message.size() >= at + detail::context_bytes)
    agreed = detail::load_context(message, at);
  specverify::numeric::store_le(message.data(), static_cast<std::uint64_t>(kind), 1);
  specverify::numeric::store_le(message.data() + 1, agreed.round, 1);
  specverify::numeric::store_le(message.data() + 2, agreed.base_length, 2);
  specverify::numeric::store_le(message.data() + 4, message_checksum(agreed, message), 4);
  take(std::to_integer<unsigned>(input[0]), message);
}

//! Every target by its name; replay_test.cpp walks over them.
struct target {
  const char* name;
  take_message take;
  message_kind kind;
};
inline constexpr std::array<target, 10> targets{{
    {"hello", take_hello, message_kind::hello},
    {"draft", take_draft, message_kind::draft},
    {"claims", take_claims, message_kind::draft},
    {"request", take_request, message_kind::request},
    {"supply", take_supply, message_kind::supply},
    {"feedback", take_feedback, message_kind::feedback},
    {"resume", take_resume, message_kind::resume},
    {"text", take_text, message_kind::text},
    {"refuse", take_refuse, message_kind::refuse},
    {"stop", take_stop, message_kind::stop},
}};

}  // namespace specverify_fuzz

// One line makes a libFuzzer target: SPECVERIFY_FUZZ_RAW(draft) or SPECVERIFY_FUZZ_BODY(draft, draft).
#define SPECVERIFY_FUZZ_RAW(name)                                                         \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {     \
    specverify_fuzz::raw_input(specverify_fuzz::take_##name,                              \
                               std::as_bytes(std::span<const std::uint8_t>(data, size))); \
    return 0;                                                                             \
  }
#define SPECVERIFY_FUZZ_BODY(name, kind)                                                      \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {         \
    specverify_fuzz::body_input(specverify_fuzz::take_##name, specverify::message_kind::kind, \
                                std::as_bytes(std::span<const std::uint8_t>(data, size)));    \
    return 0;                                                                                 \
  }

#endif
