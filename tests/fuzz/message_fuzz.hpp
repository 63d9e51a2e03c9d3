// SPDX-License-Identifier: Apache-2.0
//! The bodies of the fuzz targets. Each decodes an input as one kind of message; if the decoder accepts it, encodes it
//! again and demands the same bytes. `raw` gives the bytes as they are. `body` gives them with the right kind and a
//! good check, or with header and checksum, so that they can reach the decoder behind. The first byte of an input picks
//! the width of the check and one of a few formats; the rest is the message. The same bodies are libFuzzer entries and,
//! in replay_test.cpp, run over the committed corpus.
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

#include "unit/codec/prior_kit.hpp"

namespace specverify_fuzz {

using namespace specverify;

[[noreturn]] inline void finding(const char* what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}
inline void demand(bool holds, const char* what) {
  if (!holds) finding(what);
}

inline constexpr wire_place place{0x99aabbccddeeff00u, 0x10203};
inline constexpr hello_name answered{0x1122334455667788u, 0xfedcba98u};

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

//! The first byte of an input: 32 choices of a format, for each width of the check.
inline constexpr unsigned formats_of_choice = 32;
inline std::uint8_t check_bits_of(unsigned choice) {
  constexpr std::array<std::uint8_t, 3> widths{8, 0, 16};
  return widths[choice / formats_of_choice % widths.size()];
}
template <std::size_t N>
wire_format chosen(const std::array<wire_format, N>& formats, unsigned choice) {
  wire_format made = formats[choice % formats_of_choice % N];
  made.check_bits = check_bits_of(choice);
  return made;
}
//! Returns a format of messages without drafts.
inline wire_format control_format(unsigned choice) {
  wire_format made = law_formats[choice % 3];
  made.check_bits = check_bits_of(choice);
  return made;
}
//! Returns a format of requests and supplies: long drafts, half of them with hidden states.
inline wire_format supply_format(unsigned choice) {
  wire_format made = control_format(choice);
  made.max_draft_length = 200;
  if (choice % formats_of_choice >= 16)
    made.attachments = {3, choice % 2 == 0 ? hidden_format::float16 : hidden_format::int8};
  return made;
}
inline std::uint32_t supply_length(unsigned choice) { return choice % 7 * 31; }
inline std::uint32_t most_ids(unsigned choice) { return choice % 2 == 0 ? 64 : 5; }

//! Room for skipped ids. A message may hold more, but the decoder must refuse it.
inline constexpr std::size_t skipped_room = 300;

//! The storage of a decoder, made once per format.
struct bench {
  explicit bench(const wire_format& with)
      : memory(decode_draft_workspace_size(with)),
        block(std::move(
            received_draft_block::make(
                {with.max_draft_length, std::max<std::uint64_t>(1, max_draft_entries(with, with.max_draft_length))})
                .value())) {}
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

inline void take_draft(unsigned choice, std::span<const std::byte> message) {
  static std::vector<std::unique_ptr<bench>> benches(law_formats.size());
  const wire_format format = chosen(law_formats, choice);
  auto& slot = benches[choice % formats_of_choice % law_formats.size()];
  if (!slot) slot = std::make_unique<bench>(format);
  workspace scratch(slot->memory);
  std::array<token_id, skipped_room> skipped{};
  const auto attachments = decode_draft(place, format, message, slot->block, skipped, scratch);
  demand(attachments || slot->block.empty(), "a refused message left drafts behind");
  if (!attachments) return;
  for (const received_draft& drafted : slot->block.drafts()) {
    demand(check(drafted.source_law()).ok(), "a law that does not check");
    demand(drafted.source_law().count(drafted.token()) > 0, "a token without mass");
  }
  again second(message.size());
  second.same(encode_draft(place, format, slot->block.drafts(), *attachments, second.bytes), message);
  const auto exact = draft_bytes(format, slot->block.drafts(), *attachments);
  demand(exact && *exact == message.size(), "draft_bytes is not exact");
  demand(message.size() <= max_draft_bytes(format, slot->block.size()), "longer than the predictor says");
}

inline void take_claims(unsigned choice, std::span<const std::byte> message) {
  const wire_format format = chosen(claim_formats, choice);
  std::array<claimed_draft, 8> claims{};
  std::array<token_id, skipped_room> skipped{};
  const auto read = decode_claims(place, format, message, claims, skipped);
  if (!read) return;
  again second(message.size());
  second.same(encode_claims(place, format, read->claims, read->attachments, second.bytes), message);
  demand(claims_bytes(format, read->claims.size(), read->attachments.skipped.size()) == message.size(),
         "claims_bytes is not exact");
}

//! Formats of drafts whose ids a table codes, each by a table of its own after a text of its own.
inline constexpr std::array<wire_format, 6> coded_formats{{
    {law_format::token_only, 300, 0, 0, 8, 1, {}, 8, id_code::prior},
    {law_format::token_only, 5, 0, 0, 3, 16, {}, 8, id_code::prior},
    {law_format::token_only, 60, 0, 0, 8, 1, {4, hidden_format::float16, true, true, 2}, 8, id_code::prior},
    {law_format::token_only, 1, 0, 0, 4, 1, {0, hidden_format::none, false, false, 2}, 8, id_code::prior},
    {law_format::token_only, 300, 0, 0, 8, 1, {}, 8, id_code::noise},
    {law_format::token_only, 60, 0, 0, 8, 1, {4, hidden_format::float16, true, true, 2}, 8, id_code::noise},
}};
struct coded_world {
  explicit coded_world(const wire_format& format)
      : table([&] {
          std::mt19937_64 random(format.vocab_size);
          return specverify_test::read_prior(specverify_test::random_prior(random, format.vocab_size));
        }()) {
    std::mt19937_64 random(format.vocab_size + 1);
    memory = specverify_test::random_text(random, format.vocab_size, length);
    memory.resize(length + format.attachments.max_skipped + format.max_draft_length);
  }
  [[nodiscard]] prior_text known() { return {&table, memory, length, {noise_kind::philox, 5}}; }

  static constexpr std::size_t length = 40;
  prior_table table;
  std::vector<token_id> memory;
};
inline coded_world& coded_world_of(unsigned choice) {
  static std::array<std::unique_ptr<coded_world>, coded_formats.size()> worlds;
  auto& slot = worlds[choice % formats_of_choice % coded_formats.size()];
  if (!slot) slot = std::make_unique<coded_world>(chosen(coded_formats, choice));
  return *slot;
}

inline void take_coded(unsigned choice, std::span<const std::byte> message) {
  const wire_format format = chosen(coded_formats, choice);
  const prior_text known = coded_world_of(choice).known();
  std::array<claimed_draft, 8> claims{};
  std::array<token_id, skipped_room> skipped{};
  const auto read = decode_claims(place, format, message, claims, skipped, known);
  if (!read) return;
  again second(message.size() + 16);
  second.same(encode_claims(place, format, read->claims, read->attachments, known, second.bytes), message);
  demand(message.size() <= max_draft_bytes(format, static_cast<std::uint32_t>(read->claims.size())),
         "longer than the predictor says");
}

inline void take_hello(unsigned, std::span<const std::byte> message) {
  const auto value = decode_hello(message);
  const auto name = name_of(message);
  if (name) {  // of any version: a receiver must be able to refuse the sender
    std::array<std::byte, detail::refuse_bytes> refusal{};
    const status reason{errc::unknown_version, part::codec, 0};
    const auto written = encode_refuse(*name, reason, refusal);
    demand(written && decode_refuse(*name, *written)->reason == reason, "a name that takes no refusal");
  }
  if (!value) return;
  demand(name && *name == hello_name{value->session_id, value->nonce}, "a hello with another name");
  again second(message.size());
  second.same(encode_hello(*value, second.bytes), message);
}

inline void take_feedback(unsigned choice, std::span<const std::byte> message) {
  const wire_format format = control_format(choice);
  const std::uint32_t length = choice % formats_of_choice / 3 % (format.max_draft_length + 1);
  const auto value = decode_feedback(place, format, length, message);
  if (!value) return;
  again second(message.size());
  second.same(encode_feedback(place, format, length, *value, second.bytes), message);
}

inline void take_text(unsigned choice, std::span<const std::byte> message) {
  const wire_format format = control_format(choice);
  const std::uint32_t most = most_ids(choice);
  std::array<token_id, 64> storage{};
  const auto value = decode_text(place, format, most, message, storage);
  if (!value) return;
  demand(text_bytes(format, most, value->size()) == message.size(), "text_bytes is not exact");
  again second(message.size());
  second.same(encode_text(place, format, most, *value, second.bytes), message);
}

inline void take_request(unsigned choice, std::span<const std::byte> message) {
  const wire_format format = supply_format(choice);
  const std::uint32_t length = supply_length(choice);
  std::array<std::uint64_t, 4> words{};
  const auto value = decode_request(place, format, length, message, words);
  if (!value) return;
  again second(message.size());
  second.same(encode_request(place, format, length, *value, second.bytes), message);
}

inline void take_supply(unsigned choice, std::span<const std::byte> message) {
  const wire_format format = supply_format(choice);
  const std::uint32_t length = supply_length(choice);
  std::array<std::uint64_t, 4> words{};
  const auto value = decode_supply(place, format, length, message, words);
  if (!value) return;
  again second(message.size());
  second.same(encode_supply(place, format, length, *value, second.bytes), message);
}

inline void take_refuse(unsigned, std::span<const std::byte> message) {
  const auto value = decode_refuse(answered, message);
  if (!value) return;
  again second(message.size());
  second.same(encode_refuse(answered, value->reason, second.bytes), message);
}

inline void take_stop(unsigned, std::span<const std::byte> message) {
  const auto value = decode_stop(message);
  if (!value) return;
  again second(message.size());
  second.same(encode_stop(*value, second.bytes), message);
}

//! Decodes a vector alone, without a message around it.
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
  // A copy of exactly this size, so that the sanitizer sees a read beyond the message.
  const std::vector<std::byte> message(input.begin() + 1, input.end());
  take(std::to_integer<unsigned>(input[0]), message);
}

inline void body_input(take_message take, message_kind kind, std::span<const std::byte> input) {
  if (input.empty()) return;
  const unsigned choice = std::to_integer<unsigned>(input[0]);
  const bool headed = kind == message_kind::hello || kind == message_kind::refuse;
  std::vector<std::byte> message(headed ? message_header_bytes : 0);
  message.insert(message.end(), input.begin() + 1, input.end());
  if (headed) {
    detail::hello_head head{answered};
    // A resume of version 2 has a name, too, but the head comes first.
    const bool is_resume = kind == message_kind::hello && choice % 8 == 7;
    const std::size_t at = is_resume ? message_header_bytes : detail::hello_head_at;
    if (kind == message_kind::hello && message.size() >= at + detail::hello_head_bytes)
      head = detail::load_head(message, at);
    const auto sent = static_cast<message_kind>(is_resume ? detail::resume_of_version_2 : static_cast<unsigned>(kind));
    detail::end_headed(sent, head, message.size(), message);
  } else {
    const std::size_t check = kind == message_kind::stop ? 0 : check_bits_of(choice) / 8u;
    if (message.empty()) message.push_back({});
    message[0] = (message[0] & std::byte{0xf0}) | static_cast<std::byte>(kind);
    message.resize(message.size() + check);
    numeric::store_le(message.data() + message.size() - check, detail::check_of(place, kind),
                      static_cast<unsigned>(check));
  }
  take(choice, message);
}

//! Every target by name. replay_test.cpp walks over them.
struct target {
  const char* name;
  take_message take;
  message_kind kind;
};
inline constexpr std::array<target, 10> targets{{
    {"hello", take_hello, message_kind::hello},
    {"draft", take_draft, message_kind::draft},
    {"claims", take_claims, message_kind::draft},
    {"coded", take_coded, message_kind::draft},
    {"request", take_request, message_kind::request},
    {"supply", take_supply, message_kind::supply},
    {"feedback", take_feedback, message_kind::feedback},
    {"text", take_text, message_kind::text},
    {"refuse", take_refuse, message_kind::refuse},
    {"stop", take_stop, message_kind::stop},
}};

}  // namespace specverify_fuzz

#endif
