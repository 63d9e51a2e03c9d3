// SPDX-License-Identifier: Apache-2.0
// Every message but the draft, and every way in which a message can be wrong, each with its own error code.
#include <specverify/codec/message.hpp>

#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <limits>

#include "unit/codec/message_kit.hpp"

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr wire_format some_format{law_format::sparse_drop_zero, 128256, 100, 0, 8, 1};

hello_message some_hello() {
  hello_message hello;
  hello.context = some_context;
  hello.fingerprint_low = 0x0102030405060708u;
  hello.fingerprint_high = 0x1112131415161718u;
  hello.strength = guarantee::unconditional;
  hello.rule = wire_rule::greedy;
  hello.mode = session_mode::stream;
  hello.prompt_length = 17;
  hello.token_budget = 256;
  hello.format = {law_format::sparse_paper, 50257, 240, 16, 5, 32, {2048, hidden_format::int8, true, true, 300}};
  hello.temperature = 0.75;
  hello.truncation = {40, 0.9, 0.05, truncation_order::joint};
  return hello;
}

std::vector<std::byte> encoded(const hello_message& hello) {
  std::vector<std::byte> out(200);
  std::size_t written = 0;
  REQUIRE(into(written, encode_hello(hello, out)).ok());
  out.resize(written);
  return out;
}

// Writes `value` at a byte of a message and seals it again: what a forger sends.
void forge(std::vector<std::byte>& message, message_kind kind, std::size_t at, std::uint64_t value, unsigned bytes,
           const wire_context& context = some_context) {
  specverify::numeric::store_le(message.data() + at, value, bytes);
  seal(context, kind, message);
}

}  // namespace

TEST_CASE("hello: every field comes back, and a second encoding gives the same bytes") {
  const hello_message hello = some_hello();
  const auto bytes = encoded(hello);
  CHECK(bytes.size() == 139);
  hello_message read;
  REQUIRE(into(read, decode_hello(bytes)).ok());
  CHECK(read.context == hello.context);
  CHECK(read.fingerprint_low == hello.fingerprint_low);
  CHECK(read.fingerprint_high == hello.fingerprint_high);
  CHECK(read.strength == hello.strength);
  CHECK(read.rule == hello.rule);
  CHECK(read.mode == session_mode::stream);
  CHECK(read.prompt_length == 17);
  CHECK(read.token_budget == 256);
  CHECK(read.format == hello.format);
  CHECK(read.temperature == 0.75);
  CHECK(read.truncation.top_k == 40);
  CHECK(read.truncation.top_p == 0.9);
  CHECK(read.truncation.min_p == 0.05);
  CHECK(read.truncation.order == truncation_order::joint);
  CHECK(read.bonus);
  CHECK(read.threshold == 0.0);
  CHECK(encoded(read) == bytes);
  hello_message semantic = hello;
  semantic.rule = wire_rule::semantic;
  semantic.threshold = 0.375;
  semantic.bonus = false;
  REQUIRE(into(read, decode_hello(encoded(semantic))).ok());
  CHECK(read.rule == wire_rule::semantic);
  CHECK(read.threshold == 0.375);
  CHECK(!read.bonus);
  for (const double wrong :
       {-1.0, -0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    auto forged = encoded(semantic);
    forge(forged, message_kind::hello, 116, std::bit_cast<std::uint64_t>(wrong), 8);
    CHECK(decode_hello(forged).error() == status{errc::field_out_of_range, part::codec, 116});
  }
}

TEST_CASE("hello: each field out of its range has its error, in the encoder and in the decoder") {
  struct line {
    std::size_t at;
    unsigned bytes;
    std::uint64_t value;
    errc code;
  };
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  const line lines[] = {
      {8, 2, 1, errc::unknown_version},
      {54, 1, 3, errc::field_out_of_range},
      {55, 1, 3, errc::field_out_of_range},
      {56, 1, 2, errc::field_out_of_range},
      {57, 1, 7, errc::invalid_argument},
      {58, 4, 0, errc::empty_vocabulary},
      {58, 4, (1u << 24) + 1, errc::vocabulary_too_large},
      {62, 4, 0, errc::invalid_resolution},
      {62, 4, (1u << 16) + 1, errc::invalid_resolution},
      {66, 4, 50258, errc::invalid_argument},
      {70, 4, 0, errc::invalid_argument},
      {70, 4, 4097, errc::invalid_argument},
      {74, 4, 0, errc::invalid_argument},
      {74, 4, (1u << 16) + 1, errc::invalid_argument},
      {86, 8, bits(-1.0), errc::invalid_temperature},
      {86, 8, bits(-0.0), errc::invalid_temperature},
      {86, 8, bits(std::numeric_limits<double>::infinity()), errc::invalid_temperature},
      {86, 8, bits(0x1.0000000000001p120), errc::invalid_temperature},
      {86, 8, bits(std::numeric_limits<double>::quiet_NaN()), errc::invalid_temperature},
      {98, 8, bits(0.0), errc::invalid_truncation},
      {98, 8, bits(1.0) + 1, errc::invalid_truncation},
      {98, 8, bits(-0.5), errc::invalid_truncation},
      {106, 8, bits(1.5), errc::invalid_truncation},
      {106, 8, bits(-0.0), errc::invalid_truncation},
      {114, 1, 3, errc::invalid_truncation},
      {115, 1, 2, errc::field_out_of_range},
      {116, 8, bits(0.5), errc::field_out_of_range},  // a threshold without the semantic rule
      {124, 4, 0, errc::invalid_argument},
      {124, 4, (1u << 16) + 1, errc::invalid_argument},
      {128, 1, 0, errc::invalid_argument},
      {128, 1, 3, errc::invalid_argument},
      {129, 1, 2, errc::field_out_of_range},
      {130, 1, 8, errc::field_out_of_range},
      {131, 4, (1u << 16) + 1, errc::invalid_argument},
      {135, 4, 0, errc::field_out_of_range},
  };
  for (const line& at : lines) {
    CAPTURE(at.at);
    auto bytes = encoded(some_hello());
    forge(bytes, message_kind::hello, at.at, at.value, at.bytes);
    hello_message read;
    read.prompt_length = 99;
    CHECK(decode_hello(bytes).error().code == at.code);
    CHECK(read.prompt_length == 99);
  }
  hello_message hello = some_hello();
  std::array<std::byte, 200> out{};
  hello.version = 1;
  CHECK(encode_hello(hello, out).error() == status{errc::unknown_version, part::codec, 1u << 16 | 2});
  hello = some_hello();
  hello.context.epoch = max_wire_epoch + 1;
  CHECK(encode_hello(hello, out).error() == status{errc::field_out_of_range, part::codec, 18});
  auto forged = encoded(some_hello());
  forge(forged, message_kind::hello, 18, max_wire_epoch + 1, 4, hello.context);
  CHECK(decode_hello(forged).error() == status{errc::field_out_of_range, part::codec, 18});
  hello = some_hello();
  hello.temperature = std::bit_cast<double>(std::uint64_t{0x7ff8} << 48);
  CHECK(encode_hello(hello, out).error().code == errc::invalid_temperature);
  hello = some_hello();
  hello.context.transmission = 16;
  CHECK(encode_hello(hello, out).error().code == errc::field_out_of_range);
  hello = some_hello();
  CHECK(encode_hello(hello, std::span(out).first(138)).error() == status{errc::output_too_small, part::codec, 139});
  CHECK(out == std::array<std::byte, 200>{});  // nothing was written
  auto bytes = encoded(hello);
  bytes.push_back(std::byte{0});
  seal(some_context, message_kind::hello, bytes);
  CHECK(decode_hello(bytes).error() == status{errc::field_out_of_range, part::codec, 139});  // half a field
  bytes.resize(138);
  seal(some_context, message_kind::hello, bytes);
  CHECK(decode_hello(bytes).error().code == errc::truncated);
  bytes.resize(37);
  CHECK(decode_hello(bytes).error().code == errc::truncated);
}

namespace {
//! A hello with these fields behind the others.
std::vector<std::byte> with_fields(const std::vector<unsigned>& bytes) {
  std::vector<std::byte> message = encoded(some_hello());
  for (const unsigned byte : bytes) message.push_back(static_cast<std::byte>(byte));
  seal(some_context, message_kind::hello, message);
  return message;
}
}  // namespace

TEST_CASE("hello: fields that a reader need not know are skipped, those that it must know are refused by their type") {
  hello_message read;
  const auto optional = with_fields({3, 2, 0, 0xAA, 0xBB, 127, 0, 0});
  REQUIRE(into(read, decode_hello(optional)).ok());
  CHECK(read.fields.size() == 8);
  CHECK(read.format == some_hello().format);
  CHECK(encoded(read) == optional);
  CHECK(decode_hello(with_fields({128, 0, 0})).error() == status{errc::unknown_field, part::codec, 128});
  CHECK(decode_hello(with_fields({3, 0, 0, 200, 1, 0, 9})).error() == status{errc::unknown_field, part::codec, 200});
  const auto broken = [](const std::vector<unsigned>& fields, std::uint32_t where) {
    CHECK(decode_hello(with_fields(fields)).error() == status{errc::field_out_of_range, part::codec, where});
    std::vector<std::byte> same;
    for (const unsigned byte : fields) same.push_back(static_cast<std::byte>(byte));
    hello_message hello = some_hello();
    hello.fields = same;
    std::array<std::byte, 200> out{};
    CHECK(encode_hello(hello, out).error().code == errc::field_out_of_range);
  };
  broken({3}, 139);
  broken({3, 0}, 139);
  broken({3, 1, 0}, 139);
  broken({3, 0, 0, 3, 0, 0}, 142);     // twice
  broken({3, 0, 0, 2, 0, 0}, 142);     // not ascending
  broken({255, 255, 255, 1, 1}, 139);  // longer than the message
}

TEST_CASE("NET-3 header: 8 bytes, and the errors of what every message begins with") {
  std::array<std::byte, 40> out{};
  std::size_t written = 0;
  REQUIRE(into(written, encode_stop(some_context, {stop_cause::budget, 70000, 5}, out)).ok());
  CHECK(written == 21);
  const auto message = std::span(out).first(written);
  message_header header;
  REQUIRE(into(header, peek_header(message)).ok());
  CHECK(header.kind == message_kind::stop);
  CHECK(header.flags == 5);
  CHECK(header.round_low == 0x03);
  CHECK(header.base_length_low == (70000 & 0xffff));
  CHECK(header.checksum == message_checksum(some_context, message));
  CHECK(check_message(some_context, message).ok());
  for (std::size_t size = 0; size < 8; ++size)
    CHECK(check_message(some_context, message.first(size)).code == errc::truncated);

  stop_message stop;
  for (const auto& change : {+[](wire_context& c) { ++c.session_id; }, +[](wire_context& c) { ++c.epoch; },
                             +[](wire_context& c) { c.round += 256; }, +[](wire_context& c) { c.base_length += 65536; },
                             +[](wire_context& c) { c.prefix_hash ^= 1; }}) {
    wire_context other = some_context;
    change(other);
    CHECK(decode_stop(other, message).error().code == errc::checksum_mismatch);
  }
  wire_context again = some_context;
  again.transmission = 9;
  CHECK(into(stop, decode_stop(again, message)).ok());
  CHECK(stop.cause == stop_cause::budget);
  CHECK(stop.length == 70000);
  CHECK(stop.prefix_hash == 5);
  // Every flipped bit of the message is seen.
  for (std::size_t bit = 0; bit < 8 * written; ++bit) {
    out[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    CHECK(!into(stop, decode_stop(some_context, message)).ok());
    out[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  }
  for (const unsigned kind : {0u, 10u, 15u}) {
    specverify::numeric::store_le(out.data(), kind, 1);
    CHECK(decode_stop(some_context, message).error().code == errc::unknown_message);
  }
  seal(some_context, message_kind::stop, message);
  CHECK(decode_refuse(some_context, message).error().code == errc::unexpected_message);
  // A forger who knows the context cannot give the short copies other values.
  specverify::numeric::store_le(out.data() + 1, 0x04, 1);
  specverify::numeric::store_le(out.data() + 4, message_checksum(some_context, message), 4);
  CHECK(decode_stop(some_context, message).error() == status{errc::not_canonical, part::codec, 1});
  seal(some_context, message_kind::stop, message);
  specverify::numeric::store_le(out.data() + 2, 7, 2);
  specverify::numeric::store_le(out.data() + 4, message_checksum(some_context, message), 4);
  CHECK(decode_stop(some_context, message).error() == status{errc::not_canonical, part::codec, 2});
  specverify::numeric::store_le(out.data() + 8, 5, 1);
  seal(some_context, message_kind::stop, message);
  CHECK(decode_stop(some_context, message).error().code == errc::field_out_of_range);
}

TEST_CASE("the checksum is CRC-32C") {
  // The check value of the catalogue: "123456789".
  std::array<std::byte, 9> digits{};
  for (std::size_t i = 0; i < 9; ++i) digits[i] = static_cast<std::byte>('1' + i);
  CHECK(~detail::crc_update(~0u, digits) == 0xe3069283u);
  CHECK(~detail::crc_update(detail::crc_update(~0u, std::span(digits).first(4)), std::span(digits).subspan(4)) ==
        0xe3069283u);
  std::array<std::byte, 32> zeros{};
  CHECK(~detail::crc_update(~0u, zeros) == 0x8a9136aau);
}

TEST_CASE("the checksum by tables and by what the processor has is one") {
  std::array<std::byte, 75> bytes{};
  std::uint32_t state = ~0u;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(37 * i * i + 11 * i);
  for (std::size_t first = 0; first < 9; ++first) {
    for (std::size_t size = 0; first + size <= bytes.size(); ++size) {
      const auto part = std::span<const std::byte>(bytes).subspan(first, size);
      const std::uint32_t by_tables = detail::crc_by_tables(state, part);
      REQUIRE(detail::crc_update(state, part) == by_tables);
      state = by_tables;
    }
  }
}

TEST_CASE("resume: the context in full") {
  std::array<std::byte, 40> out{};
  std::size_t written = 0;
  REQUIRE(into(written, encode_resume({some_context}, out)).ok());
  CHECK(written == 36);
  resume_message read;
  REQUIRE(into(read, decode_resume(std::span(out).first(written))).ok());
  CHECK(read.context == some_context);
  CHECK(decode_resume(std::span(out).first(35)).error().code == errc::truncated);
  wire_context last = some_context;
  last.epoch = max_wire_epoch;
  std::array<std::byte, 40> other{};
  CHECK(encode_resume({last}, other).ok());
  last.epoch += 1;
  CHECK(encode_resume({last}, other).error() == status{errc::field_out_of_range, part::codec, 16});
  std::vector<std::byte> beyond(out.begin(), out.begin() + 36);
  forge(beyond, message_kind::resume, 16, last.epoch, 4, last);
  CHECK(decode_resume(beyond).error() == status{errc::field_out_of_range, part::codec, 16});
  std::vector<std::byte> longer(out.begin(), out.begin() + 37);
  seal(some_context, message_kind::resume, longer);
  CHECK(decode_resume(longer).error().code == errc::trailing_bytes);
}

TEST_CASE("feedback: ceil(log2(L + 1)) bits, 5 bits and a token; ranges") {
  for (const std::uint32_t length : {0u, 1u, 4u, 7u, 8u}) {
    for (std::uint32_t accepted = 0; accepted <= length; ++accepted) {
      for (std::uint8_t source = 0; source < feedback_source_count; ++source) {
        const feedback_message value{accepted, source == 0 ? no_token : 128255 - static_cast<token_id>(accepted),
                                     source, static_cast<std::uint8_t>(source % 3)};
        std::array<std::byte, 32> out{};
        std::size_t written = 0;
        REQUIRE(into(written, encode_feedback(some_context, some_format, length, value, out)).ok());
        CHECK(written == 8 + (ceil_log2(length + 1) + 5 + (source != 0 ? 17 : 0) + 7) / 8);
        feedback_message read;
        REQUIRE(into(read, decode_feedback(some_context, some_format, length, std::span(out).first(written))).ok());
        CHECK(read == value);
        CHECK(!into(read, decode_feedback(some_context, some_format, length, std::span(out).first(written - 1))).ok());
      }
    }
  }
  std::array<std::byte, 32> out{};
  std::size_t written = 0;
  CHECK(encode_feedback(some_context, some_format, 4, {5, 1, 1, 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_context, some_format, 4, {1, 1, 5, 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_context, some_format, 4, {1, 1, 1, 3}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_context, some_format, 4, {1, 1, 0, 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_context, some_format, 4, {1, 128256, 1, 0}, out).error().code == errc::token_out_of_range);
  CHECK(encode_feedback(some_context, some_format, 4, {1, no_token, 1, 0}, out).error().code ==
        errc::token_out_of_range);
  CHECK(encode_feedback(some_context, some_format, 9, {1, 1, 1, 0}, out).error().code == errc::draft_too_long);
  // All 2^16 bodies of two bytes, L = 2, V = 40: 2 + 3 + 2 + 6 = 13 bits. Exactly the values of an encoder are
  // accepted.
  const wire_format tiny{law_format::sparse_drop_zero, 40, 10, 0, 8, 1};
  int accepted = 0, refused_tokens = 0, refused_padding = 0;
  for (std::uint32_t body = 0; body < 65536; ++body) {
    std::array<std::byte, 10> message{};
    specverify::numeric::store_le(message.data() + 8, body, 2);
    seal(some_context, message_kind::feedback, message);
    feedback_message read;
    const status outcome = into(read, decode_feedback(some_context, tiny, 2, message));
    refused_tokens += outcome.code == errc::token_out_of_range ? 1 : 0;
    refused_padding += outcome.code == errc::padding_not_zero ? 1 : 0;
    if (!outcome.ok()) continue;
    ++accepted;
    REQUIRE(into(written, encode_feedback(some_context, tiny, 2, read, out)).ok());
    REQUIRE(written == 10);
    REQUIRE(std::equal(message.begin(), message.end(), out.begin()));
  }
  CHECK(accepted == 3 * 4 * 3 * 40);  // 3 counts, 4 sources with a token, 3 reasons to stop
  CHECK(refused_tokens > 0);
  CHECK(refused_padding > 0);
}

TEST_CASE("text: ids of ceil(log2 V) bits, and its errors") {
  const std::array<token_id, 5> tokens{0, 128255, 7, 65536, 1};
  for (std::size_t count = 0; count <= 5; ++count) {
    const text_message value{123456, std::span(tokens).first(count)};
    std::array<std::byte, 64> out{};
    std::size_t written = 0;
    REQUIRE(into(written, encode_text(some_context, some_format, value, out)).ok());
    CHECK(written == 16 + (17 * count + 7) / 8);
    CHECK(written == text_bytes(some_format, count));
    std::array<token_id, 5> storage{};
    text_message read;
    REQUIRE(into(read, decode_text(some_context, some_format, std::span(out).first(written), storage)).ok());
    CHECK(read.position == 123456);
    CHECK(std::equal(read.tokens.begin(), read.tokens.end(), tokens.begin(),
                     tokens.begin() + static_cast<std::ptrdiff_t>(count)));
    if (count > 0)
      CHECK(decode_text(some_context, some_format, std::span(out).first(written), std::span(storage).first(count - 1))
                .error()
                .code == errc::output_too_small);
  }
  std::vector<std::byte> out(64);
  std::size_t written = 0;
  const std::array<token_id, 1> bad{128256};
  CHECK(encode_text(some_context, some_format, {0, bad}, out).error().code == errc::token_out_of_range);
  REQUIRE(into(written, encode_text(some_context, some_format, {0, tokens}, out)).ok());
  out.resize(written);
  std::array<token_id, 5> storage{};
  auto bytes = out;
  forge(bytes, message_kind::text, 12, 0xffffffffu, 4);
  CHECK(decode_text(some_context, some_format, bytes, storage).error().code == errc::truncated);
  bytes = out;
  forge(bytes, message_kind::text, 12, 4, 4);
  CHECK(decode_text(some_context, some_format, bytes, storage).error().code == errc::trailing_bytes);
  bytes = out;
  forge(bytes, message_kind::text, written - 1, 0xff, 1);
  CHECK(decode_text(some_context, some_format, bytes, storage).error().code == errc::padding_not_zero);
  bytes = out;
  forge(bytes, message_kind::text, 16, 0xffffffu, 3);
  CHECK(decode_text(some_context, some_format, bytes, storage).error() ==
        status{errc::token_out_of_range, part::codec, 0});
  CHECK(storage == std::array<token_id, 5>{});
  // One id needs no bits in a vocabulary of one: the count alone must not size anything.
  const wire_format single{law_format::token_only, 1, 0, 0, 8, 1};
  std::vector<std::byte> none(16);
  forge(none, message_kind::text, 12, 0xffffffffu, 4);
  CHECK(decode_text(some_context, single, none, storage).error().code == errc::output_too_small);
}

TEST_CASE("request and supply: a bitmap of positions, a payload, and their errors") {
  const std::array<std::uint64_t, 2> words{0x8000000000000001u, 0x21u};
  wire_format format = some_format;
  format.max_draft_length = 70;
  std::vector<std::byte> out(64);
  std::size_t written = 0;
  REQUIRE(into(written, encode_request(some_context, format, 70, {0, words}, out)).ok());
  CHECK(written == 8 + 1 + 9);
  out.resize(written);
  std::array<std::uint64_t, 2> storage{5, 5};
  request_message read;
  REQUIRE(into(read, decode_request(some_context, format, 70, out, storage)).ok());
  CHECK(std::equal(words.begin(), words.end(), read.positions.begin(), read.positions.end()));
  CHECK(decode_request(some_context, format, 70, out, std::span(storage).first(1)).error().code ==
        errc::output_too_small);
  CHECK(decode_request(some_context, format, 56, out, storage).error().code == errc::trailing_bytes);
  CHECK(decode_request(some_context, format, 66, out, storage).error().code == errc::field_out_of_range);
  auto bytes = out;
  forge(bytes, message_kind::request, 8, 1, 1);  // hidden states, without any agreed on
  CHECK(decode_request(some_context, format, 70, bytes, storage).error() ==
        status{errc::field_out_of_range, part::codec, 0});
  bytes.assign(18, std::byte{0});
  seal(some_context, message_kind::request, bytes);
  CHECK(decode_request(some_context, format, 70, bytes, storage).error() ==
        status{errc::field_out_of_range, part::codec, 1});
  CHECK(encode_request(some_context, format, 69, {0, words}, bytes).error().code == errc::field_out_of_range);
  CHECK(encode_request(some_context, format, 64, {0, words}, bytes).error().code == errc::size_mismatch);
  const std::array<std::uint64_t, 2> none{};
  CHECK(encode_request(some_context, format, 70, {0, none}, bytes).error().code == errc::field_out_of_range);
  CHECK(encode_request(some_context, format, 70, {1, words}, bytes).error().code == errc::field_out_of_range);

  const std::array<std::byte, 5> payload{std::byte{1}, std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}};
  for (const std::uint32_t pad_to : {1u, 16u}) {
    format.pad_to = pad_to;
    std::vector<std::byte> supply(64);
    REQUIRE(into(written, encode_supply(some_context, format, 70, {0, words, payload}, supply)).ok());
    CHECK(written == (pad_to == 1 ? 8 + 1 + 9 + 4 + 5 : 32));
    CHECK(written == supply_bytes(format, 70, 5));
    supply.resize(written);
    supply_message back;
    REQUIRE(into(back, decode_supply(some_context, format, 70, supply, storage)).ok());
    CHECK(std::equal(payload.begin(), payload.end(), back.payload.begin(), back.payload.end()));
    CHECK(back.positions[1] == 0x21u);
    bytes = supply;
    forge(bytes, message_kind::supply, 18, 0xfffffff0u, 4);
    CHECK(decode_supply(some_context, format, 70, bytes, storage).error().code == errc::truncated);
    bytes = supply;
    if (pad_to == 1) {
      forge(bytes, message_kind::supply, 18, 4, 4);
      CHECK(decode_supply(some_context, format, 70, bytes, storage).error().code == errc::trailing_bytes);
      bytes.resize(20);
      seal(some_context, message_kind::supply, bytes);
      CHECK(decode_supply(some_context, format, 70, bytes, storage).error().code == errc::truncated);
    } else {
      forge(bytes, message_kind::supply, 31, 1, 1);
      CHECK(decode_supply(some_context, format, 70, bytes, storage).error() ==
            status{errc::padding_not_zero, part::codec, 31});
    }
  }
}

TEST_CASE("hidden states on request: one vector a position, ascending, each one checked") {
  wire_format format{law_format::token_only, 1000, 0, 0, 9, 1, {4, hidden_format::float16}};
  std::mt19937_64 random(5);
  std::vector<std::byte> out, payload;
  std::array<std::uint64_t, 1> words{}, storage{};
  std::size_t written = 0;
  for (int run = 0; run < 2000; ++run) {
    format.attachments.hidden = run % 2 == 0 ? hidden_format::float16 : hidden_format::int8;
    const auto length = static_cast<std::uint32_t>(1 + random() % 9);
    words[0] = 1 + random() % ((std::uint64_t{1} << length) - 1);
    const std::size_t each = hidden_bytes(format.attachments),
                      asked = static_cast<std::size_t>(std::popcount(words[0]));
    payload.assign(asked * each, std::byte{0});
    for (std::size_t i = 0; i < asked; ++i) {
      std::array<float, 4> state{};
      for (float& value : state) value = static_cast<float>(random() % 1000) - 500;
      REQUIRE(encode_hidden(state, format.attachments.hidden, std::span(payload).subspan(i * each, each)).ok());
    }
    out.assign(max_supply_bytes(format, length), std::byte{0});
    REQUIRE(into(written, encode_request(some_context, format, length, {1, words}, out)).ok());
    CHECK(written <= max_control_bytes(format));
    request_message asks;
    REQUIRE(into(asks, decode_request(some_context, format, length, std::span(out).first(written), storage)).ok());
    CHECK(asks.what == 1);
    CHECK(asks.positions[0] == words[0]);
    REQUIRE(into(written, encode_supply(some_context, format, length, {1, words, payload}, out)).ok());
    CHECK(written == supply_bytes(format, length, payload.size()));
    supply_message read;
    REQUIRE(into(read, decode_supply(some_context, format, length, std::span(out).first(written), storage)).ok());
    CHECK(read.what == 1);
    CHECK(std::equal(read.payload.begin(), read.payload.end(), payload.begin(), payload.end()));
    CHECK(encode_supply(some_context, format, length, {1, words, std::span(payload).first(payload.size() - 1)}, out)
              .error()
              .code == errc::size_mismatch);
  }
  // Forged: 2 positions of 3, int8 vectors of 4 numbers; the payload begins at byte 14.
  format.attachments.hidden = hidden_format::int8;
  words[0] = 5;
  const std::array<float, 4> state{1, 2, 3, -4};
  payload.assign(16, std::byte{0});
  for (std::size_t i = 0; i < 2; ++i)
    REQUIRE(encode_hidden(state, hidden_format::int8, std::span(payload).subspan(8 * i, 8)).ok());
  out.assign(max_supply_bytes(format, 3), std::byte{0});
  REQUIRE(into(written, encode_supply(some_context, format, 3, {1, words, payload}, out)).ok());
  out.resize(written);
  CHECK(written == 8 + 1 + 1 + 4 + 16);
  storage[0] = 99;
  supply_message read;
  const auto forged = [&](std::size_t at, std::uint64_t value, unsigned bytes) {
    auto message = out;
    forge(message, message_kind::supply, at, value, bytes);
    return into(read, decode_supply(some_context, format, 3, message, storage));
  };
  CHECK(forged(9, 7, 1) == status{errc::size_mismatch, part::codec, 16});
  CHECK(forged(9, 1, 1) == status{errc::size_mismatch, part::codec, 16});
  CHECK(forged(8, 2, 1) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(forged(22, 0x7fc00000u, 4) == status{errc::value_not_finite, part::codec, 1});
  CHECK(forged(17, 0x80, 1) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(forged(18, 128, 1) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(forged(22, 0x3f800001u, 4) == status{errc::not_canonical, part::codec, 1});
  CHECK(storage[0] == 99);
  CHECK(read.payload.empty());
  payload[15] = std::byte{128};
  CHECK(encode_supply(some_context, format, 3, {1, words, payload}, out).error() ==
        status{errc::field_out_of_range, part::codec, 1});
}

TEST_CASE("refuse and stop") {
  std::vector<std::byte> out(16);
  std::size_t written = 0;
  for (const errc code : {errc::invalid_argument, errc::unknown_session, errc::busy}) {
    const refuse_message value{{code, part::session, 0xdeadbeefu}};
    REQUIRE(into(written, encode_refuse({}, value, out)).ok());
    CHECK(written == 16);
    refuse_message read;
    REQUIRE(into(read, decode_refuse({}, out)).ok());
    CHECK(read.reason == value.reason);
  }
  CHECK(encode_refuse({}, {status{}}, out).error().code == errc::field_out_of_range);
  CHECK(encode_refuse({}, {{static_cast<errc>(9999), part::codec, 0}}, out).error().code == errc::field_out_of_range);
  CHECK(encode_refuse({}, {{errc::busy, static_cast<part>(99), 0}}, out).error().code == errc::field_out_of_range);
  for (const std::uint64_t code : {std::uint64_t{0}, std::uint64_t{19}, std::uint64_t{0xffff}}) {
    auto bytes = out;
    forge(bytes, message_kind::refuse, 8, code, 2, {});
    CHECK(decode_refuse({}, bytes).error() == status{errc::field_out_of_range, part::codec, 8});
  }
  auto bytes = out;
  forge(bytes, message_kind::refuse, 10, 14, 2, {});
  CHECK(decode_refuse({}, bytes).error() == status{errc::field_out_of_range, part::codec, 10});
  bytes.push_back(std::byte{0});
  seal({}, message_kind::refuse, bytes);
  CHECK(decode_refuse({}, bytes).error().code == errc::trailing_bytes);
}

TEST_CASE("claims: ids and counts without laws") {
  const wire_format only{law_format::token_only, 1000, 0, 0, 5, 1},
      counted{law_format::token_and_count, 1000, 100, 0, 5, 1};
  const std::array<claimed_draft, 3> ids{claimed_draft{5, 0, 0}, {999, 0, 0}, {0, 0, 0}},
      counts{claimed_draft{5, 1, 100}, {999, 100, 100}, {0, 37, 100}};
  for (const auto& [format, given] : {std::pair(only, ids), std::pair(counted, counts)}) {
    for (std::size_t length = 0; length <= 3; ++length) {
      std::vector<std::byte> out(max_draft_bytes(format, 3));
      std::size_t written = 0;
      REQUIRE(into(written, encode_claims(some_context, format, std::span(given).first(length), out)).ok());
      CHECK(written == max_draft_bytes(format, static_cast<std::uint32_t>(length)));
      out.resize(written);
      std::array<claimed_draft, 3> read{};
      std::uint32_t count = 99;
      REQUIRE(into(count, decode_claims(some_context, format, out, read)).ok());
      CHECK(count == length);
      for (std::size_t i = 0; i < length; ++i) {
        CHECK(read[i].token == given[i].token);
        CHECK(read[i].count == given[i].count);
        CHECK(read[i].resolution == given[i].resolution);
      }
      if (length > 0)
        CHECK(decode_claims(some_context, format, out, std::span(read).first(length - 1)).error().code ==
              errc::output_too_small);
    }
  }
  std::vector<std::byte> out(32);
  std::uint32_t count = 0;
  std::array<claimed_draft, 5> read{};
  CHECK(encode_claims(some_context, only, std::span(counts), out).error().code == errc::invalid_resolution);
  CHECK(encode_claims(some_context, some_format, std::span(ids), out).error().code == errc::law_kind_mismatch);
  const std::array<claimed_draft, 1> zero{claimed_draft{5, 0, 100}}, outside{claimed_draft{1000, 1, 100}},
      ended{claimed_draft{no_token, 1, 100}};
  CHECK(encode_claims(some_context, counted, std::span(zero), out).error().code == errc::field_out_of_range);
  CHECK(encode_claims(some_context, counted, std::span(outside), out).error().code == errc::token_out_of_range);
  CHECK(encode_claims(some_context, counted, std::span(ended), out).error().code == errc::token_out_of_range);
  CHECK(encode_claims(some_context, only, std::span<const claimed_draft>(std::array<claimed_draft, 6>{}), out)
            .error()
            .code == errc::draft_too_long);
  // All bodies of two bytes: 3 bits of length (0..5), 10 bits an id.
  int accepted = 0;
  for (std::uint32_t body = 0; body < 65536; ++body) {
    std::array<std::byte, 10> message{};
    specverify::numeric::store_le(message.data() + 8, body, 2);
    seal(some_context, message_kind::draft, message);
    accepted += into(count, decode_claims(some_context, only, message, read)).ok() ? 1 : 0;
  }
  CHECK(accepted == 1000);
}

TEST_CASE("T29 drafts: what the encoder refuses, and the decoder with the checksum right") {
  const wire_format format{law_format::sparse_drop_zero, 50, 10, 3, 2, 1};
  const auto attempt = [](const wire_format& with, const owned_law& from, std::size_t drafts = 1) {
    std::vector<draft> list(drafts, draw(from.view(), uniforms{philox{}, 0, 0}.at(purpose::draft_draw)));
    std::array<std::byte, 400> out{};
    const status outcome = encode_draft(some_context, with, std::span<const draft>(list), out).error();
    CHECK(out == std::array<std::byte, 400>{});  // nothing was written
    return outcome.code;
  };
  CHECK(attempt(format, {{1, 2}, {5, 5}, 50}, 3) == errc::draft_too_long);
  CHECK(attempt(format, {{1, 2}, {5, 5}, 51}) == errc::vocabulary_mismatch);
  CHECK(attempt(format, {{1, 2}, {5, 6}, 50}) == errc::invalid_resolution);
  CHECK(attempt(format, {{2, 1}, {5, 5}, 50}) == errc::ids_not_ascending);
  CHECK(attempt(format, {{1, 50}, {5, 5}, 50}) == errc::token_out_of_range);
  CHECK(attempt(format, {{1, 2, 3, 4}, {4, 4, 1, 1}, 50}) == errc::support_too_large);
  CHECK(attempt({law_format::sparse_paper, 50, 10, 3, 2, 1}, {{1, 2}, {5, 5}, 50}) == errc::support_too_large);
  CHECK(attempt({law_format::token_only, 50, 0, 0, 2, 1}, {{1, 2}, {5, 5}, 50}) == errc::law_kind_mismatch);
  CHECK(attempt({law_format::fp16_row, 50, 0, 0, 2, 1}, {{1, 2}, {5, 2049}, 50}) == errc::law_kind_mismatch);
  {
    owned_law from{{1, 2}, {5, 5}, 50};
    law with_tail = from.view();
    with_tail.tail_count = 1;
    with_tail.resolution = 58;
    const draft drafted = draw(with_tail, uniforms{philox{}, 0, 0}.at(purpose::draft_draw));
    std::array<std::byte, 100> out{};
    CHECK(encode_draft(some_context, {law_format::sparse_drop_zero, 50, 58, 0, 2, 1}, std::span(&drafted, 1), out)
              .error()
              .code == errc::law_kind_mismatch);
  }

  const wire_format row{law_format::fp16_row, 4, 0, 0, 2, 1};
  auto block = make_block(row);
  std::vector<std::byte> memory(decode_draft_workspace_size(row));
  const auto read = [&](std::initializer_list<unsigned> halves, unsigned length, unsigned tokens) {
    std::vector<std::byte> message(8 + 2 + 2 * halves.size() + 1);
    std::size_t at = 10;
    for (const unsigned half : halves) {
      specverify::numeric::store_le(message.data() + at, half, 2);
      at += 2;
    }
    specverify::numeric::store_le(message.data() + 8, length, 2);
    specverify::numeric::store_le(message.data() + at, tokens, 1);
    seal(some_context, message_kind::draft, message);
    workspace scratch(memory);
    return decode_draft(some_context, row, message, block, scratch).error().code;
  };
  CHECK(read({0, 0x3c00, 0, 1}, 1, 1) == errc::ok);
  CHECK(block[0].source_law().resolution == (1u << 24) + 1);
  CHECK(read({0, 0x3c00, 0, 0}, 1, 2) == errc::token_not_in_law);
  CHECK(block.empty());
  CHECK(read({0, 0x3c01, 0, 0}, 1, 1) == errc::field_out_of_range);
  CHECK(read({0, 0x7e00, 0, 0}, 1, 1) == errc::field_out_of_range);
  CHECK(read({0, 0x3c00, 0x8000, 0}, 1, 1) == errc::field_out_of_range);
  CHECK(read({0, 0, 0, 0}, 1, 1) == errc::empty_support);
  CHECK(read({0, 0x3c00, 0, 0}, 1, 5) == errc::padding_not_zero);
  CHECK(read({0, 0x3c00, 0, 0}, 2, 1) == errc::truncated);
  CHECK(read({0, 0x3c00, 0, 0}, 0, 1) == errc::trailing_bytes);
  CHECK(read({0, 0x3c00, 0, 0}, 3, 1) == errc::draft_too_long);

  // The papers' sparse code can name a token whose count is zero; a law is refused, not verified.
  const wire_format paper{law_format::sparse_paper, 4, 1, 2, 1, 1};
  auto paper_block = make_block(paper);
  std::array<std::byte, 9> bytes{};
  std::vector<std::byte> paper_memory(decode_draft_workspace_size(paper));
  int refused = 0;
  for (unsigned value = 0; value < 256; ++value) {
    bytes[8] = static_cast<std::byte>(value);
    seal(some_context, message_kind::draft, bytes);
    workspace scratch(paper_memory);
    refused +=
        decode_draft(some_context, paper, bytes, paper_block, scratch).error().code == errc::token_not_in_law ? 1 : 0;
  }
  CHECK(refused > 0);
  workspace none;
  CHECK(decode_draft(some_context, paper, bytes, paper_block, none).error().code == errc::workspace_too_small);
  auto small = std::move(received_draft_block::make({1, 1}).value());
  draft_list list;
  list.add({{0, 1}, {1, 0}, 4}, 0);
  std::array<std::byte, 32> out{};
  std::size_t written = 0;
  REQUIRE(into(written, encode_draft(some_context, paper, list.view(), out)).ok());
  workspace scratch(paper_memory);
  CHECK(decode_draft(some_context, paper, std::span(out).first(written), small, scratch).error().code ==
        errc::support_too_large);
  CHECK(scratch.used() == 0);
  static_assert(noexcept(decode_draft(some_context, paper, bytes, paper_block, none)));
}
