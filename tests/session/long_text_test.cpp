// SPDX-License-Identifier: Apache-2.0
// The cost of a short message to its receiver must not grow with the length of the text.
#include <doctest/doctest.h>

#include <specverify/codec/message.hpp>
#include <specverify/codec/prefix_hash.hpp>
#include <specverify/host/drive.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <support/secret_of.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

using namespace specverify;
using specverify_test::secret_of;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::uint32_t vocab_size = 4, short_text = 3000, long_text = 1'000'000, one_message = 1u << 16;

std::vector<token_id> tokens(std::uint32_t count) {
  std::vector<token_id> made(count);
  for (std::uint32_t i = 0; i < count; ++i) made[i] = static_cast<token_id>((i * 7 + i / 5) % vocab_size);
  return made;
}

//! Returns the messages among a session's outputs. `journal` gets the records.
template <class Session>
std::vector<bytes> sent(Session& session, bytes* journal = nullptr) {
  std::vector<bytes> messages;
  (void)take_outputs(session, [&](const session_output& out) {
    if (out.action == session_action::send) messages.emplace_back(out.bytes.begin(), out.bytes.end());
    if (out.action == session_action::journal && journal != nullptr) {
      if (out.replaces) journal->clear();
      journal->insert(journal->end(), out.bytes.begin(), out.bytes.end());
    }
  });
  return messages;
}

//! An edge whose prompt has `length` tokens, and a cloud that has received it.
struct filled {
  std::vector<token_id> prompt;
  bytes edge_journal{}, cloud_journal{};
  edge_session edge;
  cloud_session cloud;

  explicit filled(std::uint32_t length, std::uint32_t chunk = one_message)
      : prompt(tokens(length)), edge(make_edge(length, chunk)), cloud(make_cloud(length)) {
    REQUIRE(edge.start(prompt, 0).ok());
  }
  static edge_session make_edge(std::uint32_t length, std::uint32_t chunk) {
    return specverify::make_edge({.session_id = 7,
                                  .secret = secret_of(1),
                                  .vocab_size = vocab_size,
                                  .token_budget = 10,
                                  .max_text_length = length + 100,
                                  .text_chunk = chunk},
                                 top_k{3})
        .value();
  }
  static cloud_session make_cloud(std::uint32_t length) {
    cloud_options options{.secret = secret_of(2), .salt = 1, .vocab_size = vocab_size};
    options.max_text_length = length + 100;
    options.text_chunk = one_message;
    options.limits.max_message_bytes = 2 * one_message;
    return specverify::make_cloud(options).value();
  }
  //! Runs until the cloud has the prompt. Returns the edge's hello.
  bytes fill() {
    const bytes hello = sent(edge, &edge_journal).front();
    REQUIRE(cloud.receive(hello, 0).ok());
    REQUIRE(edge.receive(sent(cloud, &cloud_journal).front(), 0).ok());
    for (const bytes& piece : sent(edge, &edge_journal)) {
      REQUIRE(cloud.receive(piece, 0).ok());
      (void)sent(cloud, &cloud_journal);
    }
    REQUIRE(cloud.state() == cloud_state::ready);
    return hello;
  }
  //! Returns this hello for the first `length` tokens.
  [[nodiscard]] bytes with_length(bytes hello, std::uint32_t length) const {
    auto other = decode_hello(hello).value();
    other.length = length;
    other.prefix_hash = prefix_hash(std::span(prompt).first(length));
    REQUIRE(encode_hello(other, hello).ok());
    return hello;
  }
};

//! Returns a cloud's hello with the nonce of the hello that it answers.
bytes answer_to(const bytes& hello, bytes answer) {
  auto theirs = decode_hello(answer).value();
  theirs.nonce = decode_hello(hello).value().nonce;
  REQUIRE(encode_hello(theirs, answer).ok());
  return answer;
}

//! Returns the seconds that a message takes: the minimum of a few runs.
template <class Message, class Receive>
double seconds_of(const Message& message, const Receive& receive) {
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t i = 0; i < 12; ++i) {
    const bytes next = message(i);
    const auto began = std::chrono::steady_clock::now();
    receive(next);
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return least;
}

//! A device that asks for the last token of the text again and again.
double seconds_of_hello(std::uint32_t length) {
  filled both(length);
  const bytes hello = both.with_length(both.fill(), length - 1);
  return seconds_of([&](std::uint32_t) { return hello; },
                    [&](const bytes& message) {
                      CHECK(both.cloud.receive(message, 0).ok());
                      CHECK(sent(both.cloud).size() == 2);
                    });
}

//! A device that sends stop with less text than the cloud has.
double seconds_of_stop(std::uint32_t length) {
  filled both(length);
  (void)both.fill();
  const stop_message said{stop_cause::cancelled, length - 1, prefix_hash(std::span(both.prompt).first(length - 1))};
  bytes stop(64);
  stop.resize(encode_stop(said, stop).value().size());
  return seconds_of([&](std::uint32_t) { return stop; },
                    [&](const bytes& message) {
                      CHECK(both.cloud.receive(message, 0).ok());
                      CHECK(sent(both.cloud).size() == 1);
                    });
}

//! A cloud that lacks the end of the edge's prompt and gets it in chunks.
double seconds_of_pieces(std::uint32_t length) {
  filled both(length, 16);
  REQUIRE(both.cloud.receive(sent(both.edge).front(), 0).ok());
  const bytes answer = sent(both.cloud).front();
  return seconds_of(
      [&](std::uint32_t i) {
        REQUIRE(both.edge.reconnect(0).ok());
        return both.with_length(answer_to(sent(both.edge).front(), answer), length - 500 + i);
      },
      [&](const bytes& message) {
        CHECK(both.edge.receive(message, 0).ok());
        CHECK(sent(both.edge).size() > 30);
      });
}

}  // namespace

TEST_CASE("cloud: a short message of a device does not hash the whole text") {
  CHECK(seconds_of_hello(long_text) < 20 * seconds_of_hello(short_text));
  CHECK(seconds_of_stop(long_text) < 20 * seconds_of_stop(short_text));
}

TEST_CASE("edge: a piece of text does not hash the whole text before it") {
  CHECK(seconds_of_pieces(long_text) < 20 * seconds_of_pieces(short_text));
}

TEST_CASE("session: a restored side knows the hash of each part of a long text") {
  filled both(short_text, 100);
  const bytes hello = both.fill();
  cloud_session cloud = filled::make_cloud(short_text);
  REQUIRE(cloud.restore(both.cloud_journal).ok());
  for (const std::uint32_t length : {1023u, 1024u, 1025u, 2048u, short_text - 1}) {
    CHECK(cloud.receive(both.with_length(hello, length), 0).ok());
    CHECK_MESSAGE(sent(cloud).size() > 1, "text behind ", length);
  }
  both.edge = filled::make_edge(short_text, 100);
  REQUIRE(both.edge.restore(both.edge_journal, 0).ok());
  const bytes answer = [&] {
    REQUIRE(both.cloud.receive(sent(both.edge).front(), 0).ok());
    return sent(both.cloud).front();
  }();
  for (const std::uint32_t length : {1023u, 1024u, 1025u, 2048u, short_text - 1}) {
    REQUIRE(both.edge.reconnect(0).ok());
    const bytes claim = both.with_length(answer_to(sent(both.edge).front(), answer), length);
    CHECK(both.edge.receive(claim, 0).ok());
    CHECK_MESSAGE(sent(both.edge).size() >= (short_text - length) / 100, "text after ", length);
  }
  // A cloud that lost its journal gets the text from the restored edge, in chunks.
  both.edge = filled::make_edge(short_text, 100);
  both.cloud = filled::make_cloud(short_text);
  REQUIRE(both.edge.restore(both.edge_journal, 0).ok());
  (void)both.fill();
  CHECK(both.cloud.length() == short_text);
}
