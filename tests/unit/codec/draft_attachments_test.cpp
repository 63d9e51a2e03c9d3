// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/message.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "support/alloc_guard.hpp"
#include "unit/codec/message_kit.hpp"

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::array<law_format, 5> with_laws{law_format::sparse_drop_zero, law_format::sparse_paper,
                                              law_format::dense_lattice, law_format::fp16_row, law_format::top_k_tail};

attachment_format random_attachments(std::mt19937_64& random) {
  attachment_format made;
  made.hidden = static_cast<hidden_format>(random() % 3);
  made.hidden_size = made.hidden == hidden_format::none ? 0 : 1 + static_cast<std::uint32_t>(random() % 9);
  made.hidden_with_draft = made.hidden != hidden_format::none && random() % 2 == 0;
  made.channel_report = random() % 2 == 0;
  made.max_skipped = random() % 3 == 0 ? 0 : 1 + static_cast<std::uint32_t>(random() % 40);
  return made;
}

//! Attachments with their own memory.
struct owned_side {
  std::vector<token_id> skipped;
  std::vector<std::byte> hidden;
  channel_report channel{};
  std::uint32_t resolution = 0;
  std::vector<std::byte> probabilities;
  [[nodiscard]] draft_attachments view() const { return {skipped, channel, hidden, resolution, probabilities}; }
};

owned_side side_for(const wire_format& format, std::mt19937_64& random, std::uint32_t drafts) {
  owned_side made;
  made.skipped.resize(format.attachments.max_skipped == 0 ? 0 : random() % (format.attachments.max_skipped + 1));
  for (token_id& token : made.skipped) token = static_cast<token_id>(random() % format.vocab_size);
  std::uniform_real_distribution<float> unit(0, 1);
  if (format.attachments.channel_report)
    made.channel = {1e7f * unit(random), 1e7f * unit(random), unit(random), 0.5f * unit(random), 3 * unit(random)};
  made.probabilities.resize(format.attachments.drafted_probability ? 4 * drafts : 0);
  for (std::size_t at = 0; at < made.probabilities.size(); at += 4)
    specverify::numeric::store_le(made.probabilities.data() + at, 1 + random() % drafted_probability_unit, 4);
  const std::size_t each = hidden_bytes(format.attachments);
  if (!format.attachments.hidden_with_draft) return made;
  made.hidden.resize(drafts * each);
  std::vector<float> values(format.attachments.hidden_size);
  for (std::uint32_t i = 0; i < drafts; ++i) {
    for (float& value : values) value = 8 * unit(random) - 4;
    REQUIRE(encode_hidden(values, format.attachments.hidden, std::span(made.hidden).subspan(i * each, each)).ok());
  }
  return made;
}

//! A draft message of so many bits and bytes of attachments, counted from the page of the wire format.
struct counted_side {
  std::size_t bits, bytes;
  bool has_bytes;  // was agreed on; a message without drafts may have none
  //! Bits of claims follow at once, unless whole bytes were agreed on; laws begin with a byte.
  [[nodiscard]] std::size_t with_claims(std::size_t claims) const {
    return !has_bytes ? (bits + claims + 7) / 8 : (bits + 7) / 8 + bytes + (claims + 7) / 8;
  }
  [[nodiscard]] std::size_t with_laws(std::size_t laws) const { return (bits + 7) / 8 + bytes + laws; }
};

std::size_t width(double values) { return static_cast<std::size_t>(std::ceil(std::log2(values))); }

counted_side side_of(const wire_format& format, std::size_t skipped, std::size_t drafts) {
  const attachment_format& attachments = format.attachments;
  const std::size_t vector = attachments.hidden == hidden_format::float16 ? 2 * attachments.hidden_size
                             : attachments.hidden == hidden_format::int8  ? 4 + attachments.hidden_size
                                                                          : 0;
  const bool counts_drafts = attachments.hidden_with_draft || attachments.drafted_probability;
  const std::size_t bits =
      4 + width(attachments.max_skipped + 1.0) + (counts_drafts ? width(format.max_draft_length + 1.0) : 0) +
      (attachments.resolution_with_draft ? width(format.resolution) : 0) + skipped * width(format.vocab_size);
  const std::size_t each = (attachments.hidden_with_draft ? vector : 0) + (attachments.drafted_probability ? 4 : 0);
  return {bits, (attachments.channel_report ? 10 : 0) + drafts * each, counts_drafts || attachments.channel_report};
}

wire_format some_law_format(law_format kind, std::mt19937_64& random) {
  wire_format made{kind, 37, 12, 0, 4, 1};
  if (kind == law_format::fp16_row) made.resolution = 0;
  if (kind == law_format::sparse_paper) made.support_size = 5;
  if (random() % 4 == 0) made.pad_to = 16;
  return made;
}

void add_draft(draft_list& list, const wire_format& format, std::mt19937_64& random, std::uint32_t number) {
  if (format.format == law_format::fp16_row) {
    list.add({{0, 2}, {1u << 23, 1023}, format.vocab_size}, number);
  } else if (format.format == law_format::top_k_tail) {
    const auto size =
        static_cast<std::uint32_t>(1 + random() % (format.support_size != 0 ? format.support_size : format.vocab_size));
    list.add_top_k_tail(random, format.vocab_size, format.resolution, size, number);
  } else {
    list.add(random_law(random, format.vocab_size, format.resolution, 5, format.format == law_format::sparse_paper),
             number);
  }
}

bool same_attachments(const draft_attachments& a, const draft_attachments& b) {
  std::array<std::byte, channel_report_bytes> first{}, second{};
  REQUIRE(encode_channel_report(a.channel, first).ok());
  REQUIRE(encode_channel_report(b.channel, second).ok());
  return std::equal(a.skipped.begin(), a.skipped.end(), b.skipped.begin(), b.skipped.end()) &&
         std::equal(a.hidden.begin(), a.hidden.end(), b.hidden.begin(), b.hidden.end()) &&
         std::equal(a.probabilities.begin(), a.probabilities.end(), b.probabilities.begin(), b.probabilities.end()) &&
         first == second;
}

//! Claims of a small format and attachments of every kind, and the bits of its message.
struct full_claims {
  wire_format format{law_format::token_only, 1000, 0, 0, 5, 1, {3, hidden_format::int8, true, true, 12}};
  std::array<claimed_draft, 2> claims{claimed_draft{5, 0, 0}, {999, 0, 0}};
  std::array<token_id, 3> skipped{7, 998, 7};
  std::vector<std::byte> hidden;
  draft_attachments attachments;
  std::vector<std::byte> bytes;
  full_claims() : hidden(2 * hidden_bytes(format.attachments)) {
    const std::array<float, 3> state{1, -2, 0.5f};
    for (std::size_t i = 0; i < 2; ++i)
      REQUIRE(encode_hidden(state, format.attachments.hidden, std::span(hidden).subspan(7 * i, 7)).ok());
    attachments = {skipped, {1e6f, 2e6f, 0.25f, 0, 0.05f}, hidden};
    bytes.resize(claims_bytes(format, 2, 3));
    std::size_t written = 0;
    REQUIRE(into(written, encode_claims(some_place, format, std::span<const claimed_draft>(claims), attachments, bytes))
                .ok());
    REQUIRE(written == bytes.size());
  }
  status encode(const draft_attachments& other) const {
    std::array<std::byte, 200> out{};
    std::size_t written = 0;
    const status outcome =
        into(written, encode_claims(some_place, format, std::span<const claimed_draft>(claims), other, out));
    if (!outcome.ok()) CHECK(out == std::array<std::byte, 200>{});
    return outcome;
  }
  //! What a forger gets who writes `value` at a bit and seals the message.
  status forged(std::size_t bit, unsigned width, std::uint64_t value, std::size_t size = 0) const {
    auto message = bytes;
    put_bits(message, bit, width, value);
    if (size != 0) message.resize(size);
    return decoded(message);
  }
  status decoded(std::vector<std::byte> message, std::size_t room = 6) const {
    seal(format, message_kind::draft, message);
    std::array<claimed_draft, 5> read{};
    std::array<token_id, 6> storage{};
    storage.fill(-9);
    std::uint32_t count = 77;
    draft_attachments attached;
    const status outcome =
        into(count, attached, decode_claims(some_place, format, message, read, std::span(storage).first(room)));
    if (!outcome.ok()) {
      CHECK(count == 77);
      CHECK(storage[0] == -9);
      CHECK(attached.skipped.empty());
      CHECK(attached.hidden.empty());
      CHECK(read[0].token == no_token);
    }
    return outcome;
  }
};

}  // namespace

TEST_CASE("drafts of every format with every kind of side: sizes to the byte, and all of it comes back") {
  std::mt19937_64 random(11);
  const int runs = std::getenv("SPECVERIFY_LONG") != nullptr ? 100000 : 4000;
  for (int run = 0; run < runs; ++run) {
    wire_format format = some_law_format(with_laws[static_cast<std::size_t>(run) % with_laws.size()], random);
    format.check_bits = check_widths[static_cast<std::size_t>(run / 5 % 3)];
    format.attachments = random_attachments(random);
    format.attachments.resolution_with_draft = format.format != law_format::fp16_row && random() % 2 == 0;
    format.attachments.drafted_probability = format.format == law_format::top_k_tail && random() % 2 == 0;
    wire_format laws = format;  // of this message
    if (format.attachments.resolution_with_draft) laws.resolution = 6 + static_cast<std::uint32_t>(random() % 7);
    const auto length = static_cast<std::uint32_t>(random() % (format.max_draft_length + 1));
    draft_list list;
    for (std::uint32_t i = 0; i < length; ++i) add_draft(list, laws, random, i);
    owned_side given = side_for(format, random, length);
    given.resolution = format.attachments.resolution_with_draft ? laws.resolution : 0;
    std::vector<std::byte> out(max_draft_bytes(format, length));
    std::size_t written = 0, exact = 0, plain = 0;
    REQUIRE(into(written, encode_draft(some_place, format, list.view(), given.view(), out)).ok());
    REQUIRE(into(exact, draft_bytes(format, list.view(), given.view())).ok());
    REQUIRE(written == exact);
    REQUIRE(written <= max_draft_bytes(format, length));
    wire_format bare = laws;
    bare.attachments = {};
    bare.pad_to = 1;
    bare.check_bits = 8;
    REQUIRE(into(plain, draft_bytes(bare, list.view(), {})).ok());
    const std::size_t total =
        side_of(format, given.skipped.size(), length).with_laws(plain - frame_bytes) + format.check_bits / 8u;
    REQUIRE(written == (total + format.pad_to - 1) / format.pad_to * format.pad_to);
    out.resize(written);
    auto block = make_block(format);
    std::vector<std::byte> memory(decode_draft_workspace_size(format)), again(written);
    std::vector<token_id> room(format.attachments.max_skipped);
    workspace scratch(memory);
    draft_attachments attachments;
    REQUIRE(into(attachments, decode_draft(some_place, format, out, block, room, scratch)).ok());
    REQUIRE(block.size() == length);
    for (std::uint32_t i = 0; i < length; ++i) REQUIRE(block[i].token() == list.drafts[i].token());
    REQUIRE(same_attachments(attachments, given.view()));
    REQUIRE(attachments.resolution == given.resolution);
    for (std::uint32_t i = 0; i < length; ++i)
      REQUIRE(block[i].source_law().resolution == list.drafts[i].source_law().resolution);
    REQUIRE(into(written, encode_draft(some_place, format, block.drafts(), attachments, again)).ok());
    REQUIRE(again == out);
    CHECK(encode_draft(some_place, format, list.view(), given.view(), std::span(again).first(out.size() - 1)).error() ==
          status{errc::output_too_small, part::codec, static_cast<std::uint32_t>(out.size())});
    // Without room for ids: only a message without them is taken.
    CHECK(decode_draft(some_place, format, out, block, scratch).error().code ==
          (given.skipped.empty() ? errc::ok : errc::output_too_small));
  }
}

TEST_CASE("claims with every kind of side: sizes to the byte, and all of it comes back") {
  std::mt19937_64 random(12);
  const int runs = std::getenv("SPECVERIFY_LONG") != nullptr ? 100000 : 4000;
  for (int run = 0; run < runs; ++run) {
    const bool counted = run % 2 != 0;
    wire_format format{counted ? law_format::token_and_count : law_format::token_only,
                       1 + static_cast<std::uint32_t>(random() % 5000),
                       counted ? 100u : 0,
                       0,
                       7,
                       run % 5 == 0 ? 32u : 1};
    format.check_bits = check_widths[static_cast<std::size_t>(run / 2 % 3)];
    format.attachments = random_attachments(random);
    const auto length = static_cast<std::uint32_t>(random() % 8);
    std::array<claimed_draft, 7> claims{}, read{};
    for (std::uint32_t i = 0; i < length; ++i)
      claims[i] = {static_cast<token_id>(random() % format.vocab_size),
                   counted ? 1 + static_cast<std::uint32_t>(random() % 100) : 0, format.resolution};
    const owned_side given = side_for(format, random, length);
    const auto list = std::span<const claimed_draft>(claims).first(length);
    std::vector<std::byte> out(claims_bytes(format, length, given.skipped.size()));
    std::size_t written = 0;
    REQUIRE(into(written, encode_claims(some_place, format, list, given.view(), out)).ok());
    REQUIRE(written == out.size());
    REQUIRE(written <= max_draft_bytes(format, length));
    const std::size_t bits = 3 + length * (width(format.vocab_size) + (counted ? 7 : 0));
    const std::size_t total = side_of(format, given.skipped.size(), length).with_claims(bits) + format.check_bits / 8u;
    REQUIRE(written == (total + format.pad_to - 1) / format.pad_to * format.pad_to);
    std::vector<token_id> room(format.attachments.max_skipped);
    std::uint32_t count = 0;
    draft_attachments attachments;
    REQUIRE(into(count, attachments, decode_claims(some_place, format, out, read, room)).ok());
    REQUIRE(count == length);
    REQUIRE(same_attachments(attachments, given.view()));
    std::vector<std::byte> again(out.size());
    REQUIRE(into(written, encode_claims(some_place, format, std::span<const claimed_draft>(read).first(count),
                                        attachments, again))
                .ok());
    REQUIRE(again == out);
  }
}

TEST_CASE(
    "max_draft_bytes is exact for claims with a full side, and claims_bytes is 0 where there is no such message") {
  const full_claims of;
  CHECK(max_draft_bytes(of.format, 5) == claims_bytes(of.format, 5, 12));
  CHECK(claims_bytes(of.format, 6, 12) == 0);
  CHECK(claims_bytes(of.format, 5, 13) == 0);
  CHECK(claims_bytes({law_format::fp16_row, 10, 0, 0, 1, 1}, 1, 0) == 0);
}

TEST_CASE("side: what the encoder refuses, by name") {
  const full_claims of;
  CHECK(of.encode(of.attachments).ok());
  draft_attachments wrong = of.attachments;
  const std::array<token_id, 13> many{};
  wrong.skipped = many;
  CHECK(of.encode(wrong) == status{errc::message_too_large, part::codec, 13});
  for (const token_id outside : {-1, 1000}) {
    const std::array<token_id, 2> ids{3, outside};
    wrong.skipped = ids;
    CHECK(of.encode(wrong) == status{errc::token_out_of_range, part::codec, 1});
  }
  wrong = of.attachments;
  wrong.hidden = of.attachments.hidden.first(7);
  CHECK(of.encode(wrong) == status{errc::size_mismatch, part::codec, 7});
  wrong.hidden = {};
  CHECK(of.encode(wrong) == status{errc::size_mismatch, part::codec, 0});
  auto damaged = of.hidden;
  damaged[7] = std::byte{1};  // the scale of the second vector
  wrong.hidden = damaged;
  CHECK(of.encode(wrong) == status{errc::not_canonical, part::codec, 1});
  wrong = of.attachments;
  wrong.channel.downlink_loss = 1;
  CHECK(of.encode(wrong) == status{errc::field_out_of_range, part::codec, 3});
  wrong.channel.downlink_loss = std::numeric_limits<float>::quiet_NaN();
  CHECK(of.encode(wrong) == status{errc::value_not_finite, part::codec, 3});
  // A format without a side takes none.
  std::array<std::byte, 100> out{};
  wire_format bare = of.format;
  bare.attachments = {};
  const auto claims = std::span<const claimed_draft>(of.claims);
  CHECK(encode_claims(some_place, bare, claims, {of.skipped, {}, {}}, out).error().code == errc::message_too_large);
  CHECK(encode_claims(some_place, bare, claims, {{}, {}, of.hidden}, out).error().code == errc::size_mismatch);
}

TEST_CASE("T29 side: what the decoder refuses with the check right, by name") {
  // Bits: 4 of the kind, 4 of the skipped count (0..12), 3 of the vectors (0..5), 3 ids of 10, 7 of filling. Then the
  //       report; 2 vectors of 7 bytes; the claims; the check.
  const full_claims of;
  constexpr std::size_t report = 48, vectors = report + 80, claims = vectors + 112;
  CHECK(of.bytes.size() == claims / 8 + 3 + 1);
  CHECK(of.decoded(of.bytes).ok());
  CHECK(of.decoded(of.bytes, 3).ok());
  CHECK(of.decoded(of.bytes, 2) == status{errc::output_too_small, part::codec, 3});
  CHECK(of.forged(4, 4, 13) == status{errc::message_too_large, part::codec, 13});
  CHECK(of.forged(8, 3, 6) == status{errc::draft_too_long, part::codec, 6});
  CHECK(of.forged(8, 3, 5) == status{errc::truncated, part::codec, static_cast<std::uint32_t>(of.bytes.size())});
  CHECK(!of.forged(8, 3, 1).ok());
  CHECK(of.forged(21, 10, 1000) == status{errc::token_out_of_range, part::codec, 1});
  CHECK(of.forged(41, 7, 1) == status{errc::padding_not_zero, part::codec, 5});
  CHECK(of.forged(claims + 23, 1, 1) == status{errc::padding_not_zero, part::codec, claims / 8 + 2});
  for (unsigned field = 0; field < 5; ++field) {
    CHECK(of.forged(report + 16 * field, 16, 0x7c00) == status{errc::value_not_finite, part::codec, field});
    CHECK(of.forged(report + 16 * field, 16, 0x7e01) == status{errc::value_not_finite, part::codec, field});
    CHECK(of.forged(report + 16 * field, 16, 0x8000) == status{errc::field_out_of_range, part::codec, field});
    CHECK(of.forged(report + 16 * field, 16, 0xb800) == status{errc::field_out_of_range, part::codec, field});
  }
  CHECK(of.forged(report + 32, 16, 0x3c00) == status{errc::field_out_of_range, part::codec, 2});
  CHECK(of.forged(report, 16, 0x50c1) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(of.forged(vectors + 56, 32, 0x7f800000) == status{errc::value_not_finite, part::codec, 1});
  CHECK(of.forged(vectors + 32, 8, 128) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(of.forged(vectors + 56, 1, 1) == status{errc::not_canonical, part::codec, 1});
  // One claim and two vectors; the message is as long as it says.
  CHECK(of.forged(claims, 3, 1, of.bytes.size() - 1) == status{errc::size_mismatch, part::codec, 2});
  for (std::size_t size = 2; size < of.bytes.size(); ++size) {
    auto shorter = of.bytes;
    shorter.resize(size);
    CHECK(of.decoded(shorter).code == errc::truncated);
  }
  auto longer = of.bytes;
  longer.push_back(std::byte{0});
  CHECK(of.decoded(longer).code == errc::trailing_bytes);
  // The same for a range code, which says only at its end how many drafts it holds.
  wire_format format{law_format::sparse_drop_zero, 37, 12, 0, 4, 1, {1, hidden_format::float16, true}};
  std::mt19937_64 random(13);
  draft_list list;
  list.add(random_law(random, 37, 12, 3, false), 0);
  const std::array<std::byte, 2> zero{};
  std::vector<std::byte> message(100), memory(decode_draft_workspace_size(format));
  std::size_t written = 0;
  REQUIRE(into(written, encode_draft(some_place, format, list.view(), {{}, {}, zero}, message)).ok());
  message.resize(written);
  auto block = make_block(format);
  workspace scratch(memory);
  REQUIRE(decode_draft(some_place, format, message, block, scratch).ok());
  put_bits(message, 4, 3, 0);
  message.erase(message.begin() + 1, message.begin() + 3);
  seal(format, message_kind::draft, message);
  CHECK(decode_draft(some_place, format, message, block, scratch).error() ==
        status{errc::size_mismatch, part::codec, 0});
  CHECK(block.empty());
}

TEST_CASE("T29 of all messages of two bytes and a check, those are accepted that hold ids of the vocabulary") {
  // V = 5: 4 bits of the kind, 2 of the count (0..2), 3 an id, then 1 bit of length and 3 a claim: 7, 10, 13, 16 bits.
  const wire_format format{law_format::token_only, 5, 0, 0, 1, 1, {0, hidden_format::none, false, false, 2}};
  int accepted = 0;
  for (std::uint32_t body = 0; body < 4096; ++body) {
    std::array<std::byte, 3> message{};
    specverify::numeric::store_le(message.data(), body << 4, 2);
    seal(format, message_kind::draft, message);
    std::array<claimed_draft, 1> read{};
    std::array<token_id, 2> storage{};
    std::uint32_t count = 0;
    draft_attachments attachments;
    if (!into(count, attachments, decode_claims(some_place, format, message, read, storage)).ok()) continue;
    ++accepted;
    for (const token_id token : attachments.skipped) REQUIRE(token >= 0);
    for (const token_id token : attachments.skipped) REQUIRE(token < 5);
    std::array<std::byte, 3> again{};
    std::size_t written = 0;
    REQUIRE(into(written, encode_claims(some_place, format, std::span<const claimed_draft>(read).first(count),
                                        attachments, again))
                .ok());
    REQUIRE(written == 3);
    REQUIRE(again == message);
  }
  CHECK(accepted == (1 + 5 + 25) * (1 + 5) - 1);  // without ids it has one byte and a check
}

TEST_CASE("sides neither allocate nor throw") {
  const full_claims of;
  std::array<std::byte, 200> out{};
  std::array<claimed_draft, 5> read{};
  std::array<token_id, 6> storage{};
  std::uint32_t count = 0;
  std::size_t written = 0;
  draft_attachments attachments;
  const specverify_test::alloc_guard guard;
  const bool good =
      into(written,
           encode_claims(some_place, of.format, std::span<const claimed_draft>(of.claims), of.attachments, out))
          .ok() &&
      into(count, attachments, decode_claims(some_place, of.format, std::span(out).first(written), read, storage)).ok();
  const std::uint64_t allocations = guard.count();
  CHECK(good);
  CHECK(allocations == 0);
}

TEST_CASE("channel report: every pattern of a field comes back as the same half") {
  std::array<std::byte, channel_report_bytes> bytes{}, again{};
  std::array<int, 5> accepted{};
  for (std::uint32_t field = 0; field < 5; ++field) {
    for (unsigned half = 0; half < 65536; ++half) {
      bytes.fill(std::byte{0});
      specverify::numeric::store_le(bytes.data() + 2 * field, half, 2);
      channel_report value;
      const status outcome = into(value, decode_channel_report(bytes));
      if (!outcome.ok()) {
        REQUIRE(outcome.where == field);
        REQUIRE(outcome.code == ((half & 0x7c00u) == 0x7c00u ? errc::value_not_finite : errc::field_out_of_range));
        continue;
      }
      ++accepted[field];
      REQUIRE(encode_channel_report(value, again).ok());
      REQUIRE(again == bytes);
    }
  }
  // Rates: 0 to 38; losses: 0 to the half below 1; seconds: every half without a sign that is finite.
  CHECK(accepted == std::array<int, 5>{0x50c1, 0x50c1, 0x3c00, 0x3c00, 0x7c00});
}

TEST_CASE("channel report: values come back within their bounds") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<float> unit(0, 1);
  for (int run = 0; run < 20000; ++run) {
    const channel_report value{std::pow(10.0f, 12 * unit(random)), std::pow(10.0f, 12 * unit(random)),
                               unit(random) * 0.999999f, unit(random) * unit(random), unit(random) * 100};
    std::array<std::byte, channel_report_bytes> bytes{};
    REQUIRE(encode_channel_report(value, bytes).ok());
    channel_report read;
    REQUIRE(into(read, decode_channel_report(bytes)).ok());
    const auto close = [](float a, float b, double log10_step) {
      return std::fabs(std::log10((1.0 + a) / (1.0 + b))) <= log10_step;
    };
    REQUIRE(close(read.uplink_rate, value.uplink_rate, 13 * 0x1p-11));
    REQUIRE(close(read.downlink_rate, value.downlink_rate, 13 * 0x1p-11));
    REQUIRE(std::fabs(read.uplink_loss - value.uplink_loss) <= 0x1p-11f);
    REQUIRE(read.uplink_loss < 1.0f);
    REQUIRE(std::fabs(read.downlink_loss - value.downlink_loss) <= 0x1p-11f);
    REQUIRE(std::fabs(read.round_trip - value.round_trip) <= value.round_trip * 0x1p-11f + 0x1p-25f);
  }
}

TEST_CASE("channel report: what is refused, by name") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const channel_report good{4e6f, 8e6f, 0.1f, 0.0f, 0.05f};
  std::array<std::byte, channel_report_bytes> out{};
  const auto with = [&](unsigned field, float wrong) {
    channel_report value = good;
    float* const fields[] = {&value.uplink_rate, &value.downlink_rate, &value.uplink_loss, &value.downlink_loss,
                             &value.round_trip};
    *fields[field] = wrong;
    return encode_channel_report(value, out).error();
  };
  for (unsigned field = 0; field < 5; ++field) {
    CHECK(with(field, nan) == status{errc::value_not_finite, part::codec, field});
    CHECK(with(field, infinity) == status{errc::value_not_finite, part::codec, field});
    CHECK(with(field, -0.25f) == status{errc::field_out_of_range, part::codec, field});
    CHECK(with(field, -1e-40f) == status{errc::field_out_of_range, part::codec, field});
    CHECK(with(field, -0.0f).ok());
    CHECK(with(field, 0.0f).ok());
  }
  CHECK(with(0, 2e38f) == status{errc::field_out_of_range, part::codec, 0});
  CHECK(with(2, 1.0f) == status{errc::field_out_of_range, part::codec, 2});
  CHECK(with(3, std::nextafter(1.0f, 0.0f)).ok());
  CHECK(specverify::numeric::load_le(out.data() + 6, 2) == 0x3bff);
  CHECK(with(4, 65520.0f) == status{errc::field_out_of_range, part::codec, 4});
  CHECK(encode_channel_report(good, std::span(out).first(9)).error() ==
        status{errc::output_too_small, part::codec, 10});
  CHECK(decode_channel_report(std::span(out).first(9)).error().code == errc::size_mismatch);
}

TEST_CASE("a resolution announced with each draft: its range, its format, its laws") {
  wire_format format{law_format::dense_lattice, 40, 12, 0, 4, 1};
  format.attachments.resolution_with_draft = true;
  CHECK(check(format).ok());
  draft_list list;
  list.add({{3, 7}, {4, 3}, 40}, 0);
  std::vector<std::byte> out(max_draft_bytes(format, 1));
  std::size_t written = 0, exact = 0;
  const auto encode = [&](std::uint32_t resolution) {
    draft_attachments attachments;
    attachments.resolution = resolution;
    return into(written, encode_draft(some_place, format, list.view(), attachments, out)).code;
  };
  CHECK(encode(7) == errc::ok);
  CHECK(into(exact, draft_bytes(format, list.view(), {{}, {}, {}, 7})).ok());
  CHECK(exact == written);
  auto message = std::vector<std::byte>(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
  CHECK(encode(6) == errc::invalid_resolution);  // the law's is 7
  CHECK(encode(0) == errc::invalid_resolution);  // the format's is 12
  CHECK(encode(13) == errc::invalid_resolution);
  auto block = make_block(format);
  std::vector<std::byte> memory(decode_draft_workspace_size(format));
  workspace scratch(memory);
  draft_attachments attachments;
  put_bits(message, 4, 4, 6);
  seal(format, message_kind::draft, message);
  REQUIRE(into(attachments, decode_draft(some_place, format, message, block, {}, scratch)).ok());
  CHECK(attachments.resolution == 7);
  put_bits(message, 4, 4, 12);  // 13 of 12
  seal(format, message_kind::draft, message);
  CHECK(decode_draft(some_place, format, message, block, {}, scratch).error().code == errc::invalid_resolution);
  format = {law_format::fp16_row, 40, 0, 0, 4, 1};
  format.attachments.resolution_with_draft = true;
  CHECK(check(format) == status{errc::invalid_argument, part::codec, 11});
}

TEST_CASE("the probability of a draft in its row: what travels, and what is refused by name") {
  std::array<std::byte, 4> out{};
  const auto sent = [&](std::uint32_t count, std::uint32_t resolution) -> std::uint64_t {
    REQUIRE(encode_drafted_probability(count, resolution, out).ok());
    return *decode_drafted_probability(out);
  };
  CHECK(sent(1, 1) == drafted_probability_unit);
  CHECK(sent(0xffffffffu, 0xffffffffu) == drafted_probability_unit);
  CHECK(sent(1, 3) == 715827883);    // 2^31 / 3, to the nearest
  CHECK(sent(0, 7) == 1);            // a token that was drawn has one unit at least
  CHECK(sent(1, 0xffffffffu) == 1);  // half a unit
  CHECK(encode_drafted_probability(4, 3, out).error() == status{errc::invalid_resolution, part::codec, 3});
  CHECK(encode_drafted_probability(0, 0, out).error() == status{errc::invalid_resolution, part::codec, 0});
  CHECK(encode_drafted_probability(1, 3, std::span(out).first(3)).error() ==
        status{errc::output_too_small, part::codec, 4});
  CHECK(decode_drafted_probability(std::span(out).first(3)).error() == status{errc::size_mismatch, part::codec, 3});
}

TEST_CASE("T29 side: probabilities that are 0, above 1, too few or too many are refused by name") {
  wire_format format{law_format::top_k_tail, 37, 12, 0, 4, 1};
  format.attachments.drafted_probability = true;
  CHECK(check(format).ok());
  std::mt19937_64 random(17);
  draft_list list;
  for (std::uint32_t i = 0; i < 2; ++i) list.add_top_k_tail(random, 37, 12, 3, i);
  std::array<std::byte, 8> probabilities{};
  draft_attachments attachments;
  attachments.probabilities = probabilities;
  std::vector<std::byte> out(max_draft_bytes(format, 2));
  std::size_t written = 0;
  const auto store = [&](std::uint64_t first, std::uint64_t second) {
    specverify::numeric::store_le(probabilities.data(), first, 4);
    specverify::numeric::store_le(probabilities.data() + 4, second, 4);
  };
  const auto encode = [&] { return into(written, encode_draft(some_place, format, list.view(), attachments, out)); };
  store(1, drafted_probability_unit);
  REQUIRE(encode().ok());
  const std::vector<std::byte> good(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(written));
  auto block = make_block(format);
  std::vector<std::byte> memory(decode_draft_workspace_size(format));
  workspace scratch(memory);
  const auto decode = [&](std::vector<std::byte> message) {
    seal(format, message_kind::draft, message);
    const status why = decode_draft(some_place, format, message, block, {}, scratch).error();
    CHECK(block.empty() == !why.ok());
    return why;
  };
  CHECK(decode(good).ok());
  // whole numbers: no pattern is NaN or infinite, and those of floats are a number in range or above 1
  for (const std::uint64_t wrong : {0x0u, 0x80000001u, 0xffffffffu, 0xff800000u, 0xffc00000u}) {
    for (std::uint32_t which = 0; which < 2; ++which) {
      store(which == 0 ? wrong : 1, which == 0 ? 1 : wrong);
      CHECK(encode() == status{errc::probability_out_of_range, part::codec, which});
      auto message = good;
      specverify::numeric::store_le(message.data() + 1 + 4 * which, wrong, 4);
      CHECK(decode(message) == status{errc::probability_out_of_range, part::codec, which});
    }
  }
  store(1, 1);
  for (const std::size_t size : {0u, 4u, 7u}) {
    attachments.probabilities = std::span<const std::byte>(probabilities).first(size);
    CHECK(encode() == status{errc::size_mismatch, part::codec, static_cast<std::uint32_t>(size)});
  }
  auto message = good;
  put_bits(message, 4, 3, 5);  // of a message of four drafts
  CHECK(decode(message) == status{errc::draft_too_long, part::codec, 5});
  for (std::size_t size = 2; size < 10; ++size)
    CHECK(decode({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}).code == errc::truncated);
  message = good;
  message.erase(message.begin() + 5, message.begin() + 9);
  put_bits(message, 4, 3, 1);  // one for two drafts
  CHECK(decode(message) == status{errc::size_mismatch, part::codec, 1});
  // A format without them takes none, and only laws with a tail have them.
  format.attachments.drafted_probability = false;
  attachments.probabilities = probabilities;
  CHECK(encode() == status{errc::size_mismatch, part::codec, 8});
  for (const law_format other : with_laws) {
    wire_format made{other, 37, other == law_format::fp16_row ? 0u : 12u, 0, 4, 1};
    made.attachments.drafted_probability = true;
    CHECK(check(made) ==
          (other == law_format::top_k_tail ? status{} : status{errc::invalid_argument, part::codec, 12}));
  }
}
