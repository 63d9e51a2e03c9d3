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
  hello.session_id = 0x1122334455667788u;
  hello.nonce = 0xfedcba98u;
  hello.round = 0x10203;
  hello.length = 70000;
  hello.prefix_hash = 0x99aabbccddeeff00u;
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

// Writes `value` at a byte of a hello and seals it again: what a forger sends.
void forge_hello(std::vector<std::byte>& message, std::size_t at, std::uint64_t value, unsigned bytes) {
  specverify::numeric::store_le(message.data() + at, value, bytes);
  seal_hello(message);
}

// The same for a steady message.
void forge(const wire_format& format, message_kind kind, std::vector<std::byte>& message, std::size_t at,
           std::uint64_t value, unsigned bytes) {
  specverify::numeric::store_le(message.data() + at, value, bytes);
  seal(format, kind, message);
}

}  // namespace

TEST_CASE("hello: every field comes back, and a second encoding gives the same bytes") {
  const hello_message hello = some_hello();
  const auto bytes = encoded(hello);
  CHECK(bytes.size() == 139);
  hello_message read;
  REQUIRE(into(read, decode_hello(bytes)).ok());
  CHECK(read.session_id == hello.session_id);
  CHECK(read.nonce == hello.nonce);
  CHECK(read.round == hello.round);
  CHECK(read.length == hello.length);
  CHECK(read.prefix_hash == hello.prefix_hash);
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
    forge_hello(forged, 116, std::bit_cast<std::uint64_t>(wrong), 8);
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
    forge_hello(bytes, at.at, at.value, at.bytes);
    hello_message read;
    read.prompt_length = 99;
    CHECK(decode_hello(bytes).error().code == at.code);
    CHECK(read.prompt_length == 99);
  }
  hello_message hello = some_hello();
  std::array<std::byte, 200> out{};
  hello.version = 1;
  CHECK(encode_hello(hello, out).error() == status{errc::unknown_version, part::codec, 1u << 16 | 3});
  hello = some_hello();
  hello.temperature = std::bit_cast<double>(std::uint64_t{0x7ff8} << 48);
  CHECK(encode_hello(hello, out).error().code == errc::invalid_temperature);
  hello = some_hello();
  CHECK(encode_hello(hello, std::span(out).first(138)).error() == status{errc::output_too_small, part::codec, 139});
  CHECK(out == std::array<std::byte, 200>{});  // nothing was written
  auto bytes = encoded(hello);
  bytes.push_back(std::byte{0});
  seal_hello(bytes);
  CHECK(decode_hello(bytes).error() == status{errc::field_out_of_range, part::codec, 139});  // half a field
  bytes.resize(138);
  seal_hello(bytes);
  CHECK(decode_hello(bytes).error().code == errc::truncated);
  for (std::size_t size = 0; size < 38; ++size) {
    CHECK(decode_hello(std::span(bytes).first(size)).error().code == errc::truncated);
    CHECK(name_of(std::span(bytes).first(size)).error().code == errc::truncated);
  }
}

namespace {
std::vector<std::byte> bytes_of(const std::vector<unsigned>& numbers) {
  std::vector<std::byte> made;
  for (const unsigned number : numbers) made.push_back(static_cast<std::byte>(number));
  return made;
}
//! A hello with these fields behind the others.
std::vector<std::byte> with_fields(const std::vector<unsigned>& fields) {
  std::vector<std::byte> message = encoded(some_hello());
  for (const std::byte byte : bytes_of(fields)) message.push_back(byte);
  seal_hello(message);
  return message;
}
}  // namespace

TEST_CASE("hello: fields that a reader need not know are skipped, those that it must know are refused by their type") {
  hello_message read;
  const auto optional = with_fields({4, 2, 0, 0xAA, 0xBB, 127, 0, 0});
  REQUIRE(into(read, decode_hello(optional)).ok());
  CHECK(read.fields.size() == 8);
  CHECK(read.format == some_hello().format);
  CHECK(encoded(read) == optional);
  CHECK(decode_hello(with_fields({130, 0, 0})).error() == status{errc::unknown_field, part::codec, 130});
  CHECK(decode_hello(with_fields({4, 0, 0, 200, 1, 0, 9})).error() == status{errc::unknown_field, part::codec, 200});
  const auto broken = [](const std::vector<unsigned>& fields, std::uint32_t where) {
    CHECK(decode_hello(with_fields(fields)).error() == status{errc::field_out_of_range, part::codec, where});
    const std::vector<std::byte> same = bytes_of(fields);
    hello_message hello = some_hello();
    hello.fields = same;
    std::array<std::byte, 200> out{};
    CHECK(encode_hello(hello, out).error().code == errc::field_out_of_range);
  };
  broken({4}, 139);
  broken({4, 0}, 139);
  broken({4, 1, 0}, 139);
  broken({4, 0, 0, 4, 0, 0}, 142);     // twice
  broken({5, 0, 0, 4, 0, 0}, 142);     // not ascending
  broken({255, 255, 255, 1, 1}, 139);  // longer than the message
  broken({1, 1, 0, 1}, 139);           // known fields of another length
  broken({2, 7, 0, 1, 2, 3, 4, 5, 6, 7}, 139);
  broken({3, 0, 0}, 139);
}

TEST_CASE("hello: the last verdict, the hash of the stop tokens and the bits of the check travel as fields") {
  hello_message hello = some_hello(), read;
  REQUIRE(into(read, decode_hello(encoded(hello))).ok());
  CHECK(last_verdict(read) == verdict_notice{});
  CHECK(!stop_tokens_hash(read).has_value());
  CHECK(read.format.check_bits == 8);
  const verdict_notice last{0x01020304, 0x0506, 4, 2, 0xfffefdfcu};
  for (const std::uint8_t bits : check_widths) {
    hello_fields fields;
    fields.add(last);
    fields.add_stop_tokens(0x1112131415161718u);
    fields.add_check(bits);
    CHECK(fields.bytes().size() == hello_fields::most_bytes - 13 - 20);  // without noise and prior
    hello.fields = fields.bytes();
    hello.format.check_bits = bits;
    const auto bytes = encoded(hello);
    CHECK(bytes.size() == 139 + 15 + 11 + 4);
    CHECK(bytes.size() <= max_control_bytes(hello.format));
    REQUIRE(into(read, decode_hello(bytes)).ok());
    CHECK(last_verdict(read) == last);
    CHECK(stop_tokens_hash(read) == 0x1112131415161718u);
    CHECK(read.format == hello.format);
    CHECK(encoded(read) == bytes);
    // A format that says something else than the field is no hello.
    hello.format.check_bits = bits == 8 ? 16 : 8;
    std::array<std::byte, 200> out{};
    CHECK(encode_hello(hello, out).error() == status{errc::field_out_of_range, part::codec, 139});
  }
  hello.fields = {};
  hello.format.check_bits = 16;
  std::array<std::byte, 200> out{};
  CHECK(encode_hello(hello, out).error() == status{errc::field_out_of_range, part::codec, 139});
  for (const unsigned bits : {1u, 7u, 24u, 255u})
    CHECK(decode_hello(with_fields({3, 1, 0, bits})).error() ==
          status{errc::invalid_argument, part::codec, wire_format::at_check_bits});
  const std::array<token_id, 3> drafts{7, 0, 128255}, others{7, 0, 128254};
  CHECK(draft_digest(drafts) == (prefix_hash(drafts) & 0xffffffffu));
  CHECK(draft_digest(drafts) != draft_digest(others));
  CHECK(draft_digest(drafts) != draft_digest(std::span(drafts).first(2)));
}

TEST_CASE("hello: shared noise travels as a field that a reader must know") {
  hello_message hello = some_hello(), read;
  hello.rule = wire_rule::greedy;
  hello.noise = noise_kind::philox;
  std::array<std::byte, 200> out{};
  const status wrong{errc::field_out_of_range, part::codec, 139};
  CHECK(encode_hello(hello, out).error() == wrong);  // without its field
  hello_fields fields;
  fields.add(coupling_noise{noise_kind::philox, 0x0102030405060708u});
  hello.fields = fields.bytes();
  const auto bytes = encoded(hello);
  CHECK(bytes.size() == 139 + 13);
  CHECK(bytes.size() <= max_control_bytes(hello.format));
  for (const noise_kind kind : {noise_kind::vllm_fp32, noise_kind::vllm_fp64, noise_kind::sglang}) {
    hello_fields of_engine;
    of_engine.add(coupling_noise{kind, 0x0102030405060708u});
    hello.noise = kind;
    CHECK(encode_hello(hello, out).error() == wrong);  // the field states another kind
    hello.fields = of_engine.bytes();
    const auto of_kind = encoded(hello);  // the fields of `read` are in these bytes
    REQUIRE(into(read, decode_hello(of_kind)).ok());
    CHECK(noise_of(read) == coupling_noise{kind, 0x0102030405060708u});
    hello.fields = fields.bytes();
  }
  hello.noise = noise_kind::philox;
  REQUIRE(into(read, decode_hello(bytes)).ok());
  CHECK(read.noise == noise_kind::philox);
  CHECK(noise_of(read) == coupling_noise{noise_kind::philox, 0x0102030405060708u});
  CHECK(encoded(read) == bytes);
  hello.noise = noise_kind::none;  // a field without noise
  CHECK(encode_hello(hello, out).error() == wrong);
  hello.noise = noise_kind::philox;
  hello.rule = wire_rule::token;
  CHECK(encode_hello(hello, out).error() == wrong);
  // Another meaning of the field, a kind that is unknown, or none.
  for (const auto& [meaning, kind] : {std::pair{2u, 1u}, std::pair{0u, 1u}, std::pair{1u, 0u}, std::pair{1u, 5u}}) {
    auto changed = bytes;
    changed[142] = static_cast<std::byte>(meaning);
    changed[143] = static_cast<std::byte>(kind);
    seal_hello(changed);
    CHECK(decode_hello(changed).error() == wrong);
  }
  CHECK(noise_of(some_hello()) == coupling_noise{noise_kind::none, 0});
}

TEST_CASE("hello: the fingerprint of a prior travels as a field that a reader must know") {
  hello_message hello = some_hello(), read;
  hello.format = {.format = law_format::token_only, .vocab_size = 4096, .max_draft_length = 8, .ids = id_code::prior};
  std::array<std::byte, 200> out{};
  const status wrong{errc::field_out_of_range, part::codec, 139};
  CHECK(encode_hello(hello, out).error() == wrong);  // without its field
  hello_fields fields;
  const prior_fingerprint table{0x1112131415161718u, 0x2122232425262728u};
  fields.add(table, id_code::prior);
  hello.fields = fields.bytes();
  const auto bytes = encoded(hello);
  CHECK(bytes.size() == 139 + 20);
  CHECK(bytes.size() <= max_control_bytes(hello.format));
  REQUIRE(into(read, decode_hello(bytes)).ok());
  CHECK(read.format.ids == id_code::prior);
  CHECK(prior_of(read) == table);
  CHECK(encoded(read) == bytes);
  hello.format.ids = id_code::plain;  // a field that the format denies
  CHECK(encode_hello(hello, out).error() == wrong);
  // a code that is not by a prior, one that needs shared noise, or one that nobody knows
  for (const unsigned code : {0u, 2u, 3u, 255u}) {
    auto changed = bytes;
    changed[158] = static_cast<std::byte>(code);
    seal_hello(changed);
    CHECK(decode_hello(changed).error() == wrong);
  }
  // Only drafts of ids alone are coded so.
  for (const law_format other : {law_format::sparse_drop_zero, law_format::token_and_count, law_format::fp16_row}) {
    auto changed = bytes;
    changed[57] = static_cast<std::byte>(other);
    if (other != law_format::fp16_row) changed[62] = std::byte{9};  // resolution
    seal_hello(changed);
    CHECK(decode_hello(changed).error() == status{errc::invalid_argument, part::codec, wire_format::at_ids});
  }
  CHECK_FALSE(prior_of(some_hello()).has_value());
}

TEST_CASE("hello: a code of ids with noise needs the field of shared noise") {
  hello_message hello = some_hello(), read;
  hello.rule = wire_rule::greedy;
  hello.noise = noise_kind::vllm_fp32;
  hello.format = {.format = law_format::token_only, .vocab_size = 4096, .max_draft_length = 8, .ids = id_code::noise};
  hello_fields fields;
  fields.add(coupling_noise{hello.noise, 7});
  fields.add(prior_fingerprint{1, 2}, id_code::noise);
  hello.fields = fields.bytes();
  const auto bytes = encoded(hello);
  REQUIRE(into(read, decode_hello(bytes)).ok());
  CHECK(read.format.ids == id_code::noise);
  CHECK(noise_of(read) == coupling_noise{hello.noise, 7});
  CHECK(encoded(read) == bytes);
  CHECK(bytes.size() <= max_control_bytes(hello.format));
  hello.noise = noise_kind::none;
  hello.fields = hello.fields.subspan(13);
  std::array<std::byte, 200> out{};
  CHECK(encode_hello(hello, out).error() == status{errc::field_out_of_range, part::codec, 139});
}

TEST_CASE(
    "NET-3 hello and refuse: 8 bytes of header, every flipped bit is seen, and a forger cannot change its copies") {
  const hello_name answered{0x1122334455667788u, 0xfedcba98u};
  std::vector<std::byte> refusal(16);
  REQUIRE(encode_refuse(answered, {errc::busy, part::session, 7}, refusal).ok());
  const auto hello = encoded(some_hello());
  const auto reads = [&](std::span<const std::byte> message) {
    return message.size() == 16 ? decode_refuse(answered, message).error() : decode_hello(message).error();
  };
  for (const auto& message : {hello, refusal}) {
    CHECK(reads(message).ok());
    auto changed = message;
    for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
      changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      CHECK(!reads(changed).ok());
      if (message.size() > 16) CHECK(!name_of(changed).ok());
      changed[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    for (std::size_t size = 0; size < message.size(); ++size) CHECK(!reads(std::span(message).first(size)).ok());
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      changed[at] ^= std::byte{0x10};
      const detail::hello_head head =
          message.size() == 16 ? detail::hello_head{answered} : detail::load_head(message, 10);
      specverify::numeric::store_le(changed.data() + 4, detail::checksum_of(head, changed), 4);
      CHECK(reads(changed) ==
            status{errc::not_canonical, part::codec, static_cast<std::uint32_t>(std::min(at, std::size_t{2}))});
      changed = message;
    }
  }
  for (const hello_name other : {hello_name{}, hello_name{answered.session_id, 1}, hello_name{1, answered.nonce}})
    CHECK(decode_refuse(other, refusal).error() == status{errc::checksum_mismatch, part::codec, 4});
  hello_name name;
  REQUIRE(into(name, name_of(hello)).ok());
  CHECK(name == answered);
  CHECK(name_of(refusal).error().code == errc::unexpected_message);
}

TEST_CASE("the kind is the low half of the first byte") {
  std::array<std::byte, 3> message{};
  CHECK(kind_of({}).error() == status{errc::truncated, part::codec, 0});
  for (unsigned first = 0; first < 256; ++first) {
    message[0] = static_cast<std::byte>(first);
    const unsigned kind = first & 15u;
    message_kind read{};
    const status outcome = into(read, kind_of(message));
    if (kind == 6) {
      CHECK(outcome == status{errc::unknown_version, part::codec, 2u << 16 | 3});
    } else if (kind == 0 || kind > 9) {
      CHECK(outcome == status{errc::unknown_message, part::codec, 0});
    } else {
      CHECK(outcome.ok());
      CHECK(static_cast<unsigned>(read) == kind);
      if (kind != 5)
        CHECK(decode_feedback(some_place, some_format, 4, message).error().code == errc::unexpected_message);
    }
  }
}

TEST_CASE("NET-3 check of a steady message: 0, 8 or 16 bits over prefix hash, round and kind, its last bytes") {
  std::mt19937_64 random(3);
  for (const std::uint8_t bits : check_widths) {
    wire_format format = some_format;
    format.check_bits = bits;
    const feedback_message value{3, 128000, 1, 0};
    std::array<std::byte, 8> out{};
    std::size_t written = 0;
    REQUIRE(into(written, encode_feedback(some_place, format, 4, value, out)).ok());
    CHECK(written == 4 + bits / 8u);
    const auto message = std::span(out).first(written);
    CHECK(decode_feedback(some_place, format, 4, message).ok());
    const std::uint64_t check =
        extend_prefix_hash(extend_prefix_hash(some_place.prefix_hash, static_cast<token_id>(some_place.round)), 5);
    CHECK(specverify::numeric::load_le(out.data() + 4, bits / 8u) == (check & ((1u << bits) - 1)));
    // Each bit of the check counts.
    for (std::size_t bit = 32; bit < 8 * written; ++bit) {
      out[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      CHECK(decode_feedback(some_place, format, 4, message).error() == status{errc::checksum_mismatch, part::codec, 4});
      out[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    }
    // Of 65536 other places, about one in 2^bits has this check.
    const auto fitting = [&](auto&& other) {
      int fits = 0;
      for (std::uint32_t i = 1; i <= 65536; ++i) fits += decode_feedback(other(i), format, 4, message).ok() ? 1 : 0;
      return fits;
    };
    const int by_hash = fitting([&](std::uint32_t) { return wire_place{random(), some_place.round}; });
    const int by_round = fitting([](std::uint32_t i) {
      return wire_place{some_place.prefix_hash, some_place.round + i};
    });
    const int by_high_round = fitting([](std::uint32_t i) {
      return wire_place{some_place.prefix_hash, some_place.round + (i << 8)};
    });
    const int most = bits == 0 ? 65536 : bits == 8 ? 256 + 80 : 1 + 6;
    const int least = bits == 0 ? 65536 : bits == 8 ? 256 - 80 : 0;
    CHECK(by_hash <= most);
    CHECK(by_round <= most);
    CHECK(by_high_round <= most);
    CHECK(std::min({by_hash, by_round, by_high_round}) >= least);
  }
}

TEST_CASE("the check of a kind does not fit another kind") {
  std::array<std::uint64_t, 16> checks{};
  for (unsigned kind = 0; kind < 16; ++kind)
    checks[kind] = detail::check_of(some_place, static_cast<message_kind>(kind)) & 0xffffu;
  for (const unsigned kind : {2u, 3u, 4u, 5u, 7u}) CHECK(std::count(checks.begin(), checks.end(), checks[kind]) == 1);
}

TEST_CASE("bytes of ids alone with a vocabulary of 128256") {
  for (const std::uint8_t bits : check_widths) {
    wire_format format{law_format::token_only, 128256, 0, 0, 8, 1};
    format.check_bits = bits;
    const std::size_t check = bits / 8u;
    const std::vector<claimed_draft> drafts(8, claimed_draft{128255, 0, 0});
    std::array<std::byte, 32> out{};
    for (const auto& [length, bytes] : {std::pair(1u, 4u), {4u, 10u}, {8u, 18u}}) {
      std::size_t written = 0;
      REQUIRE(into(written, encode_claims(some_place, format, std::span(drafts).first(length), out)).ok());
      CHECK(written == bytes + check);
      CHECK(claims_bytes(format, length, 0) == written);
      CHECK(max_draft_bytes(format, length) == written);
    }
    std::size_t written = 0;
    REQUIRE(into(written, encode_feedback(some_place, format, 4, {4, 128255, 2, 0}, out)).ok());
    CHECK(written == 4 + check);
  }
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

TEST_CASE("feedback: ceil(log2(L + 1)) bits, 5 bits and a token; ranges") {
  for (const std::uint32_t length : {0u, 1u, 4u, 7u, 8u}) {
    for (std::uint32_t accepted = 0; accepted <= length; ++accepted) {
      for (std::uint8_t source = 0; source < feedback_source_count; ++source) {
        const feedback_message value{accepted, source == 0 ? no_token : 128255 - static_cast<token_id>(accepted),
                                     source, static_cast<std::uint8_t>(source % 3)};
        std::array<std::byte, 32> out{};
        std::size_t written = 0;
        REQUIRE(into(written, encode_feedback(some_place, some_format, length, value, out)).ok());
        CHECK(written == (4 + ceil_log2(length + 1) + 5 + (source != 0 ? 17 : 0) + 7) / 8 + 1);
        feedback_message read;
        REQUIRE(into(read, decode_feedback(some_place, some_format, length, std::span(out).first(written))).ok());
        CHECK(read == value);
        CHECK(!into(read, decode_feedback(some_place, some_format, length, std::span(out).first(written - 1))).ok());
      }
    }
  }
  std::array<std::byte, 32> out{};
  std::size_t written = 0;
  CHECK(encode_feedback(some_place, some_format, 4, {5, 1, 1, 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_place, some_format, 4, {1, 1, 5, 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_place, some_format, 4, {1, 1, 1, 3}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_place, some_format, 4, {1, 1, 0, 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_feedback(some_place, some_format, 4, {1, 128256, 1, 0}, out).error().code == errc::token_out_of_range);
  CHECK(encode_feedback(some_place, some_format, 4, {1, no_token, 1, 0}, out).error().code == errc::token_out_of_range);
  CHECK(encode_feedback(some_place, some_format, 9, {1, 1, 1, 0}, out).error().code == errc::draft_too_long);
  // All messages of two bytes and a check, L = 2, V = 5: 4 + 2 + 3 + 2 = 11 bits, and 3 of a token. Exactly the values
  // of an encoder are accepted.
  const wire_format tiny{law_format::sparse_drop_zero, 5, 10, 0, 8, 1};
  int accepted = 0, refused_tokens = 0, refused_padding = 0;
  for (std::uint32_t body = 0; body < 4096; ++body) {
    std::array<std::byte, 3> message{};
    specverify::numeric::store_le(message.data(), body << 4, 2);
    seal(tiny, message_kind::feedback, message);
    feedback_message read;
    const status outcome = into(read, decode_feedback(some_place, tiny, 2, message));
    refused_tokens += outcome.code == errc::token_out_of_range ? 1 : 0;
    refused_padding += outcome.code == errc::padding_not_zero ? 1 : 0;
    if (!outcome.ok()) continue;
    ++accepted;
    REQUIRE(into(written, encode_feedback(some_place, tiny, 2, read, out)).ok());
    REQUIRE(written == 3);
    REQUIRE(std::equal(message.begin(), message.end(), out.begin()));
  }
  CHECK(accepted == 3 * 3 * (4 * 5 + 1));  // 3 counts, 3 reasons to stop, 4 sources with a token and one without
  CHECK(refused_tokens > 0);
  CHECK(refused_padding > 0);
}

TEST_CASE("text: a count of ceil(log2(most + 1)) bits, ids of ceil(log2 V), and its errors") {
  const std::array<token_id, 5> tokens{0, 128255, 7, 65536, 1};
  for (const std::uint32_t most : {5u, 256u, 0xffffffffu}) {
    for (std::size_t count = 0; count <= 5; ++count) {
      std::array<std::byte, 64> out{};
      std::size_t written = 0;
      REQUIRE(into(written, encode_text(some_place, some_format, most, std::span(tokens).first(count), out)).ok());
      CHECK(written == (4 + (most == 5 ? 3 : most == 256 ? 9 : 32) + 17 * count + 7) / 8 + 1);
      CHECK(written == text_bytes(some_format, most, count));
      std::array<token_id, 5> storage{};
      std::span<const token_id> read;
      REQUIRE(into(read, decode_text(some_place, some_format, most, std::span(out).first(written), storage)).ok());
      CHECK(std::equal(read.begin(), read.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count)));
      if (count > 0)
        CHECK(decode_text(some_place, some_format, most, std::span(out).first(written),
                          std::span(storage).first(count - 1))
                  .error()
                  .code == errc::output_too_small);
    }
  }
  std::vector<std::byte> out(64);
  std::size_t written = 0;
  const std::array<token_id, 1> bad{128256}, ended{no_token};
  CHECK(encode_text(some_place, some_format, 5, bad, out).error().code == errc::token_out_of_range);
  CHECK(encode_text(some_place, some_format, 5, ended, out).error().code == errc::token_out_of_range);
  CHECK(encode_text(some_place, some_format, 4, tokens, out).error() ==
        status{errc::message_too_large, part::codec, 5});
  // 4 + 3 + 5 * 17 = 92 bits: 12 bytes, 4 bits of filling.
  REQUIRE(into(written, encode_text(some_place, some_format, 5, tokens, out)).ok());
  CHECK(written == 13);
  out.resize(written);
  std::array<token_id, 5> storage{};
  const auto forged = [&](std::size_t bit, unsigned width, std::uint64_t value) {
    auto bytes = out;
    put_bits(bytes, bit, width, value);
    seal(some_format, message_kind::text, bytes);
    const status why = decode_text(some_place, some_format, 5, bytes, storage).error();
    CHECK(storage == std::array<token_id, 5>{});
    return why;
  };
  CHECK(forged(4, 3, 6) == status{errc::message_too_large, part::codec, 6});
  CHECK(forged(4, 3, 4).code == errc::trailing_bytes);
  CHECK(forged(92, 4, 8) == status{errc::padding_not_zero, part::codec, 11});
  CHECK(forged(7 + 17, 17, 128256) == status{errc::token_out_of_range, part::codec, 1});
  for (std::size_t size = 2; size < 13; ++size) {
    auto bytes = out;
    bytes.resize(size);
    seal(some_format, message_kind::text, bytes);
    CHECK(decode_text(some_place, some_format, 5, bytes, storage).error().code == errc::truncated);
  }
  // One id needs no bits in a vocabulary of one: the count alone must not size anything.
  const wire_format single{law_format::token_only, 1, 0, 0, 8, 1};
  std::vector<std::byte> none(6);
  put_bits(none, 4, 32, 0xffffffffu);
  seal(single, message_kind::text, none);
  CHECK(decode_text(some_place, single, 0xffffffffu, none, storage).error().code == errc::output_too_small);
}

TEST_CASE("request and supply: a bitmap of positions, a payload, and their errors") {
  const std::array<std::uint64_t, 2> words{0x8000000000000001u, 0x21u};
  wire_format format = some_format;
  format.max_draft_length = 70;
  std::vector<std::byte> out(64);
  std::size_t written = 0;
  REQUIRE(into(written, encode_request(some_place, format, 70, {0, words}, out)).ok());
  CHECK(written == 1 + 9 + 1);
  out.resize(written);
  std::array<std::uint64_t, 2> storage{5, 5};
  request_message read;
  REQUIRE(into(read, decode_request(some_place, format, 70, out, storage)).ok());
  CHECK(std::equal(words.begin(), words.end(), read.positions.begin(), read.positions.end()));
  CHECK(decode_request(some_place, format, 70, out, std::span(storage).first(1)).error().code ==
        errc::output_too_small);
  CHECK(decode_request(some_place, format, 56, out, storage).error().code == errc::trailing_bytes);
  CHECK(decode_request(some_place, format, 66, out, storage).error().code == errc::field_out_of_range);
  auto bytes = out;
  forge(format, message_kind::request, bytes, 0, 0x10, 1);  // hidden states, without any agreed on
  CHECK(decode_request(some_place, format, 70, bytes, storage).error() ==
        status{errc::field_out_of_range, part::codec, 0});
  bytes.assign(11, std::byte{0});
  seal(format, message_kind::request, bytes);
  CHECK(decode_request(some_place, format, 70, bytes, storage).error() ==
        status{errc::field_out_of_range, part::codec, 1});
  CHECK(encode_request(some_place, format, 69, {0, words}, bytes).error().code == errc::field_out_of_range);
  CHECK(encode_request(some_place, format, 64, {0, words}, bytes).error().code == errc::size_mismatch);
  const std::array<std::uint64_t, 2> none{};
  CHECK(encode_request(some_place, format, 70, {0, none}, bytes).error().code == errc::field_out_of_range);
  CHECK(encode_request(some_place, format, 70, {1, words}, bytes).error().code == errc::field_out_of_range);

  const std::array<std::byte, 5> payload{std::byte{1}, std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}};
  for (const std::uint32_t pad_to : {1u, 16u}) {
    format.pad_to = pad_to;
    std::vector<std::byte> supply(64);
    REQUIRE(into(written, encode_supply(some_place, format, 70, {0, words, payload}, supply)).ok());
    CHECK(written == (pad_to == 1 ? 1 + 9 + 4 + 5 + 1 : 32));
    CHECK(written == supply_bytes(format, 70, 5));
    supply.resize(written);
    supply_message back;
    REQUIRE(into(back, decode_supply(some_place, format, 70, supply, storage)).ok());
    CHECK(std::equal(payload.begin(), payload.end(), back.payload.begin(), back.payload.end()));
    CHECK(back.positions[1] == 0x21u);
    bytes = supply;
    forge(format, message_kind::supply, bytes, 10, 0xfffffff0u, 4);
    CHECK(decode_supply(some_place, format, 70, bytes, storage).error().code == errc::truncated);
    bytes = supply;
    if (pad_to == 1) {
      forge(format, message_kind::supply, bytes, 10, 4, 4);
      CHECK(decode_supply(some_place, format, 70, bytes, storage).error().code == errc::trailing_bytes);
      bytes.resize(12);
      seal(format, message_kind::supply, bytes);
      CHECK(decode_supply(some_place, format, 70, bytes, storage).error().code == errc::truncated);
    } else {
      forge(format, message_kind::supply, bytes, 30, 1, 1);
      CHECK(decode_supply(some_place, format, 70, bytes, storage).error() ==
            status{errc::padding_not_zero, part::codec, 30});
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
    REQUIRE(into(written, encode_request(some_place, format, length, {1, words}, out)).ok());
    CHECK(written <= max_control_bytes(format));
    request_message asks;
    REQUIRE(into(asks, decode_request(some_place, format, length, std::span(out).first(written), storage)).ok());
    CHECK(asks.what == 1);
    CHECK(asks.positions[0] == words[0]);
    REQUIRE(into(written, encode_supply(some_place, format, length, {1, words, payload}, out)).ok());
    CHECK(written == supply_bytes(format, length, payload.size()));
    supply_message read;
    REQUIRE(into(read, decode_supply(some_place, format, length, std::span(out).first(written), storage)).ok());
    CHECK(read.what == 1);
    CHECK(std::equal(read.payload.begin(), read.payload.end(), payload.begin(), payload.end()));
    CHECK(encode_supply(some_place, format, length, {1, words, std::span(payload).first(payload.size() - 1)}, out)
              .error()
              .code == errc::size_mismatch);
  }
  // Forged: 2 positions of 3, int8 vectors of 4 numbers; the payload begins at byte 6.
  format.attachments.hidden = hidden_format::int8;
  words[0] = 5;
  const std::array<float, 4> state{1, 2, 3, -4};
  payload.assign(16, std::byte{0});
  for (std::size_t i = 0; i < 2; ++i)
    REQUIRE(encode_hidden(state, hidden_format::int8, std::span(payload).subspan(8 * i, 8)).ok());
  out.assign(max_supply_bytes(format, 3), std::byte{0});
  REQUIRE(into(written, encode_supply(some_place, format, 3, {1, words, payload}, out)).ok());
  out.resize(written);
  CHECK(written == 1 + 1 + 4 + 16 + 1);
  storage[0] = 99;
  supply_message read;
  const auto forged = [&](std::size_t at, std::uint64_t value, unsigned bytes) {
    auto message = out;
    forge(format, message_kind::supply, message, at, value, bytes);
    return into(read, decode_supply(some_place, format, 3, message, storage));
  };
  CHECK(forged(1, 7, 1) == status{errc::size_mismatch, part::codec, 16});
  CHECK(forged(1, 1, 1) == status{errc::size_mismatch, part::codec, 16});
  CHECK(forged(0, 0x20, 1) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(forged(14, 0x7fc00000u, 4) == status{errc::value_not_finite, part::codec, 1});
  CHECK(forged(9, 0x80, 1) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(forged(10, 128, 1) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(forged(14, 0x3f800001u, 4) == status{errc::not_canonical, part::codec, 1});
  CHECK(storage[0] == 99);
  CHECK(read.payload.empty());
  payload[15] = std::byte{128};
  CHECK(encode_supply(some_place, format, 3, {1, words, payload}, out).error() ==
        status{errc::field_out_of_range, part::codec, 1});
}

TEST_CASE("refuse: the hello that it answers is in its checksum, and its fields have ranges") {
  const hello_name answered{42, 7};
  std::vector<std::byte> out(16);
  std::size_t written = 0;
  for (const errc code : {errc::invalid_argument, errc::unknown_session, errc::busy}) {
    const status reason{code, part::session, 0xdeadbeefu};
    REQUIRE(into(written, encode_refuse(answered, reason, out)).ok());
    CHECK(written == 16);
    refuse_message read;
    REQUIRE(into(read, decode_refuse(answered, out)).ok());
    CHECK(read.reason == reason);
  }
  CHECK(encode_refuse({}, status{}, out).error().code == errc::field_out_of_range);
  CHECK(encode_refuse({}, {static_cast<errc>(9999), part::codec, 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_refuse({}, {errc::busy, static_cast<part>(99), 0}, out).error().code == errc::field_out_of_range);
  CHECK(encode_refuse({}, {errc::busy, part::codec, 0}, std::span(out).first(15)).error() ==
        status{errc::output_too_small, part::codec, 16});
  const auto forged = [&](std::size_t at, std::uint64_t value) {
    auto bytes = out;
    specverify::numeric::store_le(bytes.data() + at, value, 2);
    seal_refuse(answered, bytes);
    return decode_refuse(answered, bytes).error();
  };
  for (const std::uint64_t code : {std::uint64_t{0}, std::uint64_t{19}, std::uint64_t{0xffff}})
    CHECK(forged(8, code) == status{errc::field_out_of_range, part::codec, 8});
  CHECK(forged(10, 14) == status{errc::field_out_of_range, part::codec, 10});
  auto bytes = out;
  bytes.push_back(std::byte{0});
  seal_refuse(answered, bytes);
  CHECK(decode_refuse(answered, bytes).error().code == errc::trailing_bytes);
  CHECK(decode_refuse(answered, std::span(out).first(15)).error().code == errc::truncated);
}

TEST_CASE("stop: 13 bytes, without a check: length and hash are one") {
  std::vector<std::byte> out(13);
  for (unsigned cause = 0; cause < 16; ++cause) {
    const stop_message value{static_cast<stop_cause>(cause), 70000, 0x99aabbccddeeff00u};
    if (cause >= stop_cause_count) {
      CHECK(encode_stop(value, out).error() == status{errc::field_out_of_range, part::codec, 0});
      put_bits(out, 4, 4, cause);
      CHECK(decode_stop(out).error() == status{errc::field_out_of_range, part::codec, 0});
      continue;
    }
    std::size_t written = 0;
    REQUIRE(into(written, encode_stop(value, out)).ok());
    CHECK(written == 13);
    stop_message read;
    REQUIRE(into(read, decode_stop(out)).ok());
    CHECK(read.cause == value.cause);
    CHECK(read.length == value.length);
    CHECK(read.prefix_hash == value.prefix_hash);
  }
  CHECK(encode_stop({}, std::span(out).first(12)).error() == status{errc::output_too_small, part::codec, 13});
  for (std::size_t size = 0; size < 13; ++size)
    CHECK(decode_stop(std::span(out).first(size)).error().code == errc::truncated);
  out.push_back(std::byte{0});
  CHECK(decode_stop(out).error().code == errc::trailing_bytes);
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
      REQUIRE(into(written, encode_claims(some_place, format, std::span(given).first(length), out)).ok());
      CHECK(written == max_draft_bytes(format, static_cast<std::uint32_t>(length)));
      out.resize(written);
      std::array<claimed_draft, 3> read{};
      std::uint32_t count = 99;
      REQUIRE(into(count, decode_claims(some_place, format, out, read)).ok());
      CHECK(count == length);
      for (std::size_t i = 0; i < length; ++i) {
        CHECK(read[i].token == given[i].token);
        CHECK(read[i].count == given[i].count);
        CHECK(read[i].resolution == given[i].resolution);
      }
      if (length > 0)
        CHECK(decode_claims(some_place, format, out, std::span(read).first(length - 1)).error().code ==
              errc::output_too_small);
    }
  }
  std::vector<std::byte> out(32);
  std::uint32_t count = 0;
  std::array<claimed_draft, 5> read{};
  CHECK(encode_claims(some_place, only, std::span(counts), out).error().code == errc::invalid_resolution);
  CHECK(encode_claims(some_place, some_format, std::span(ids), out).error().code == errc::law_kind_mismatch);
  const std::array<claimed_draft, 1> zero{claimed_draft{5, 0, 100}}, outside{claimed_draft{1000, 1, 100}},
      ended{claimed_draft{no_token, 1, 100}};
  CHECK(encode_claims(some_place, counted, std::span(zero), out).error().code == errc::field_out_of_range);
  CHECK(encode_claims(some_place, counted, std::span(outside), out).error().code == errc::token_out_of_range);
  CHECK(encode_claims(some_place, counted, std::span(ended), out).error().code == errc::token_out_of_range);
  CHECK(encode_claims(some_place, only, std::span<const claimed_draft>(std::array<claimed_draft, 6>{}), out)
            .error()
            .code == errc::draft_too_long);
  // All messages of two bytes and a check: 4 bits of the kind, 3 of length (0..5), 8 an id.
  const wire_format tiny{law_format::token_only, 200, 0, 0, 5, 1};
  int accepted = 0, too_long = 0;
  for (std::uint32_t body = 0; body < 4096; ++body) {
    std::array<std::byte, 3> message{};
    specverify::numeric::store_le(message.data(), body << 4, 2);
    seal(tiny, message_kind::draft, message);
    const status outcome = into(count, decode_claims(some_place, tiny, message, read));
    accepted += outcome.ok() ? 1 : 0;
    too_long += outcome.code == errc::draft_too_long ? 1 : 0;
  }
  CHECK(accepted == 200);
  CHECK(too_long == 2 * 512);
}

TEST_CASE("T29 drafts: what the encoder refuses, and the decoder with the check right") {
  const wire_format format{law_format::sparse_drop_zero, 50, 10, 3, 2, 1};
  const auto attempt = [](const wire_format& with, const owned_law& from, std::size_t drafts = 1) {
    std::vector<draft> list(drafts, draw(from.view(), uniforms{philox{}, 0, 0}.at(purpose::draft_draw)));
    std::array<std::byte, 400> out{};
    const status outcome = encode_draft(some_place, with, std::span<const draft>(list), out).error();
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
    CHECK(encode_draft(some_place, {law_format::sparse_drop_zero, 50, 58, 0, 2, 1}, std::span(&drafted, 1), out)
              .error()
              .code == errc::law_kind_mismatch);
  }

  const wire_format row{law_format::fp16_row, 4, 0, 0, 2, 1};
  auto block = make_block(row);
  std::vector<std::byte> memory(decode_draft_workspace_size(row));
  const auto read = [&](std::initializer_list<unsigned> halves, unsigned length, unsigned tokens) {
    std::vector<std::byte> message(frame_bytes + 2 + 2 * halves.size() + 1);
    std::size_t at = 3;
    for (const unsigned half : halves) {
      specverify::numeric::store_le(message.data() + at, half, 2);
      at += 2;
    }
    specverify::numeric::store_le(message.data() + 1, length, 2);
    specverify::numeric::store_le(message.data() + at, tokens, 1);
    seal(row, message_kind::draft, message);
    workspace scratch(memory);
    return decode_draft(some_place, row, message, block, scratch).error().code;
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
  std::array<std::byte, frame_bytes + 1> bytes{};
  std::vector<std::byte> paper_memory(decode_draft_workspace_size(paper));
  int refused = 0;
  for (unsigned value = 0; value < 256; ++value) {
    bytes[1] = static_cast<std::byte>(value);
    seal(paper, message_kind::draft, bytes);
    workspace scratch(paper_memory);
    refused +=
        decode_draft(some_place, paper, bytes, paper_block, scratch).error().code == errc::token_not_in_law ? 1 : 0;
  }
  CHECK(refused > 0);
  // The bits next to the kind are zero.
  put_bits(bytes, 4, 4, 8);
  workspace again(paper_memory);
  CHECK(decode_draft(some_place, paper, bytes, paper_block, again).error() ==
        status{errc::padding_not_zero, part::codec, 0});
  put_bits(bytes, 4, 4, 0);
  workspace none;
  CHECK(decode_draft(some_place, paper, bytes, paper_block, none).error().code == errc::workspace_too_small);
  auto small = std::move(received_draft_block::make({1, 1}).value());
  draft_list list;
  list.add({{0, 1}, {1, 0}, 4}, 0);
  std::array<std::byte, 32> out{};
  std::size_t written = 0;
  REQUIRE(into(written, encode_draft(some_place, paper, list.view(), out)).ok());
  workspace scratch(paper_memory);
  CHECK(decode_draft(some_place, paper, std::span(out).first(written), small, scratch).error().code ==
        errc::support_too_large);
  CHECK(scratch.used() == 0);
  static_assert(noexcept(decode_draft(some_place, paper, bytes, paper_block, none)));
}
