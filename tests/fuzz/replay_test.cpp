// SPDX-License-Identifier: Apache-2.0
// Runs the committed corpus through the bodies of the fuzz targets. SPECVERIFY_WRITE_CORPUS=1 writes the seeds (valid
// messages) anew.
#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "fuzz/corpus.hpp"
#include "fuzz/message_fuzz.hpp"
#include "unit/codec/message_kit.hpp"

using namespace specverify;

namespace {

std::string target_of(const char* name, bool raw) { return std::string(name) + (raw ? "_raw" : "_body"); }

//! `before` and `behind`: bytes at the front and at the end of the message that the body does not have.
void write_seed(const char* name, const std::string& label, unsigned choice, std::span<const std::byte> message,
                std::size_t before, std::size_t behind) {
  for (const bool raw : {true, false}) {
    const auto part = raw ? message : message.subspan(before, message.size() - before - behind);
    std::vector<std::byte> input{static_cast<std::byte>(choice)};
    input.insert(input.end(), part.begin(), part.end());
    specverify_fuzz::keep_input(target_of(name, raw), label, input);
  }
}

// Attachments of this many drafts.
struct attached {
  std::vector<std::byte> hidden;
  std::array<token_id, 2> skipped{0, 0};
  attachment_format format;
  std::uint32_t resolution = 0;
  std::vector<std::byte> probabilities;
  attached(const attachment_format& with, std::size_t drafts) : hidden(drafts * hidden_bytes(with)), format(with) {
    std::vector<float> state(with.hidden_size);
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = static_cast<float>(i) - 1.5f;
    for (std::size_t i = 0; i < drafts && with.drafted_probability; ++i) {
      probabilities.resize(probabilities.size() + drafted_probability_bytes);
      REQUIRE(encode_drafted_probability(1, static_cast<std::uint32_t>(i + 1),
                                         std::span(probabilities).last(drafted_probability_bytes))
                  .ok());
    }
    for (std::size_t i = 0; i < drafts && !state.empty(); ++i)
      REQUIRE(encode_hidden(state, with.hidden, std::span(hidden).subspan(i * hidden_bytes(with), hidden_bytes(with)))
                  .ok());
  }
  [[nodiscard]] draft_attachments attachments(std::size_t drafts) const {
    draft_attachments made;
    if (format.max_skipped > 0) made.skipped = skipped;
    made.resolution = resolution;
    made.channel = {4e6f, 0.0f, 0.125f, 0.0f, 0.05f};
    if (format.drafted_probability) made.probabilities = std::span(probabilities).first(4 * drafts);
    if (format.hidden_with_draft) made.hidden = std::span(hidden).first(drafts * hidden_bytes(format));
    return made;
  }
};

void write_seeds() {
  using namespace specverify_test;
  const wire_place& place = specverify_fuzz::place;
  std::vector<std::byte> out(1 << 16);
  const auto keep = [&](const char* name, const std::string& label, unsigned choice,
                        const result<std::span<std::byte>>& made) {
    REQUIRE(made.ok());
    const message_kind kind = kind_of(*made).value();
    const bool headed = kind == message_kind::hello || kind == message_kind::refuse;
    const bool checked = !headed && kind != message_kind::stop;
    write_seed(name, label, choice, *made, headed ? message_header_bytes : 0,
               checked ? specverify_fuzz::check_bits_of(choice) / 8u : 0);
  };
  std::mt19937_64 random(1);
  for (unsigned choice = 0; choice < specverify_fuzz::law_formats.size(); ++choice) {
    const wire_format& format = specverify_fuzz::law_formats[choice];
    draft_list list;
    const std::uint32_t length = std::min(format.max_draft_length, 2u);
    for (std::uint32_t i = 0; i < length; ++i) {
      if (format.format == law_format::fp16_row) {
        list.add({{0, 2}, {1u << 23, 1023}, format.vocab_size}, i);
      } else if (format.format == law_format::top_k_tail) {
        const std::uint32_t resolution =
            format.attachments.resolution_with_draft ? format.resolution - 5 : format.resolution;
        list.add_top_k_tail(random, format.vocab_size, resolution, 3 + i, i);
      } else {
        const bool zeros = format.format == law_format::sparse_paper;
        const std::uint32_t size = format.support_size != 0 ? format.support_size : 3;
        const std::uint32_t resolution =
            format.attachments.resolution_with_draft ? format.resolution - 5 : format.resolution;
        list.add(random_law(random, format.vocab_size, resolution, size, zeros), i);
      }
    }
    attached with(format.attachments, list.view().size());
    if (format.attachments.resolution_with_draft) with.resolution = format.resolution - 5;
    keep("draft", "seed" + std::to_string(choice), choice,
         encode_draft(place, format, list.view(), with.attachments(length), out));
    keep("draft", "empty" + std::to_string(choice), choice,
         encode_draft(place, format, list.view().first(0), with.attachments(0), out));
  }
  for (unsigned choice = 0; choice < specverify_fuzz::claim_formats.size(); ++choice) {
    const wire_format& format = specverify_fuzz::claim_formats[choice];
    const bool counted = format.format == law_format::token_and_count;
    const std::array<claimed_draft, 2> claims{
        claimed_draft{0, counted ? 2u : 0, format.resolution},
        {static_cast<token_id>(format.vocab_size - 1), counted ? 1u : 0, format.resolution}};
    const attached with(format.attachments, claims.size());
    keep("claims", "seed" + std::to_string(choice), choice,
         encode_claims(place, format, std::span(claims), with.attachments(2), out));
  }
  for (unsigned choice = 0; choice < specverify_fuzz::coded_formats.size(); ++choice) {
    const wire_format& format = specverify_fuzz::coded_formats[choice];
    specverify_fuzz::coded_world& world = specverify_fuzz::coded_world_of(choice);
    const std::array<claimed_draft, 2> claims{claimed_draft{0, 0, 0},
                                              {static_cast<token_id>(format.vocab_size - 1), 0, 0}};
    const attached with(format.attachments, claims.size());
    keep("coded", "seed" + std::to_string(choice), choice,
         encode_claims(place, format, std::span(claims), with.attachments(2), world.known(), out));
  }
  hello_message hello;
  hello.session_id = specverify_fuzz::answered.session_id;
  hello.nonce = specverify_fuzz::answered.nonce;
  hello.round = place.round;
  hello.length = 70000;
  hello.prefix_hash = place.prefix_hash;
  hello.format = specverify_fuzz::law_formats[3];
  hello.truncation = {40, 0.5, 0.25, truncation_order::joint};
  keep("hello", "seed", 0, encode_hello(hello, out));
  hello_fields every;
  every.add({7, 3, 1, 0, 0x12345678u});
  every.add_stop_tokens(42);
  every.add_check(16);
  hello.fields = every.bytes();
  hello.format.check_bits = 16;
  keep("hello", "cloud", 0, encode_hello(hello, out));
  every.add(coupling_noise{noise_kind::philox, 0x1020304050607080u});
  hello.fields = every.bytes();
  hello.rule = wire_rule::greedy;
  hello.noise = noise_kind::philox;
  keep("hello", "noise", 0, encode_hello(hello, out));
  hello.noise = noise_kind::none;
  hello.format = specverify_fuzz::law_formats[13];
  hello.rule = wire_rule::semantic;
  hello.threshold = 0.5;
  hello.bonus = false;
  constexpr std::array<std::byte, 8> unknown{std::byte{4}, std::byte{2}, {}, std::byte{9}, std::byte{9}, std::byte{5}};
  hello.fields = unknown;
  keep("hello", "semantic", 0, encode_hello(hello, out));
  // The first messages of a connection of version 2.
  std::ifstream recorded("tests/wire/version_2.txt");
  for (std::string name, hex; recorded >> name >> hex;) {
    if (name != "hello" && name != "resume") continue;
    std::vector<std::byte> message;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      message.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    write_seed("hello", name + "_of_version_2", name == "resume" ? 7 : 0, message, message_header_bytes, 0);
  }
  for (const unsigned width : {0u, 32u, 64u}) {  // of the check
    wire_format token = specverify_fuzz::law_formats[0], stop = specverify_fuzz::law_formats[1];
    token.check_bits = stop.check_bits = specverify_fuzz::check_bits_of(width);
    const std::string label = width == 0 ? "" : std::to_string(width);
    keep("feedback", "token" + label, 24 + width, encode_feedback(place, token, 8, {5, 128000, 1, 0}, out));
    keep("feedback", "stop" + label, 7 + width, encode_feedback(place, stop, 2, {2, no_token, 0, 1}, out));
  }
  const std::array<token_id, 3> tokens{0, 36, 5};
  for (unsigned choice = 0; choice < 3; ++choice)
    keep("text", "seed" + std::to_string(choice), choice,
         encode_text(place, specverify_fuzz::control_format(choice), specverify_fuzz::most_ids(choice), tokens, out));
  const std::array<std::uint64_t, 4> words{1, 0x10000000u};
  const std::array<std::byte, 3> payload{std::byte{1}, std::byte{2}, std::byte{0}};
  for (const unsigned choice : {3u, 4u, 36u, 66u}) {
    const wire_format format = specverify_fuzz::supply_format(choice);
    const std::uint32_t length = specverify_fuzz::supply_length(choice);
    const auto positions = std::span(words).first((length + 63) / 64);
    keep("request", "seed" + std::to_string(choice), choice,
         encode_request(place, format, length, {0, positions}, out));
    keep("supply", "seed" + std::to_string(choice), choice,
         encode_supply(place, format, length, {0, positions, payload}, out));
  }
  for (const unsigned choice : {16u, 19u}) {  // 62 positions and halves, 155 and bytes
    const wire_format format = specverify_fuzz::supply_format(choice);
    const std::uint32_t length = specverify_fuzz::supply_length(choice);
    const attached with(format.attachments, 2);
    const std::array<std::uint64_t, 3> two{0x10000001u, 0, 0};
    const auto positions = std::span(two).first((length + 63) / 64);
    keep("request", "hidden" + std::to_string(choice), choice,
         encode_request(place, format, length, {1, positions}, out));
    keep("supply", "hidden" + std::to_string(choice), choice,
         encode_supply(place, format, length, {1, positions, with.hidden}, out));
  }
  for (const hidden_format format : {hidden_format::float16, hidden_format::int8}) {
    const attached with({5, format}, 1);
    const bool halves = format == hidden_format::float16;
    std::vector<std::byte> input{halves ? std::byte{0} : std::byte{1}};
    input.insert(input.end(), with.hidden.begin(), with.hidden.end());
    specverify_fuzz::keep_input("hidden_raw", halves ? "halves" : "bytes", input);
  }
  keep("refuse", "seed", 0, encode_refuse(specverify_fuzz::answered, {errc::busy, part::session, 7}, out));
  keep("stop", "seed", 0, encode_stop({stop_cause::cancelled, 70000, place.prefix_hash}, out));
}

}  // namespace

TEST_CASE("T29 NET-7 the committed corpus of every fuzz target") {
  if (specverify_fuzz::writes_corpus()) write_seeds();
  auto all = std::vector(specverify_fuzz::targets.begin(), specverify_fuzz::targets.end());
  all.push_back({"hidden", specverify_fuzz::take_hidden, message_kind::draft});
  for (const auto& target : all) {
    for (const bool raw : {true, false}) {
      if (!raw && target.take == specverify_fuzz::take_hidden) continue;  // no message, so no body of one
      const auto inputs = specverify_fuzz::corpus_of(target_of(target.name, raw));
      CAPTURE(target.name);
      for (const auto& [name, input] : inputs) {
        if (raw) {
          specverify_fuzz::raw_input(target.take, input);
        } else {
          specverify_fuzz::body_input(target.take, target.kind, input);
        }
      }
      CHECK(inputs.size() > 0);
    }
  }
}
