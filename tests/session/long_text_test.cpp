// SPDX-License-Identifier: Apache-2.0
// A short message about a long text: what it costs its receiver does not grow with the text.
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

//! The one message among a session's outputs. `journal`: gets the records.
template <class Session>
bytes sent(Session& session, bytes* journal = nullptr) {
  bytes message;
  (void)take_outputs(session, [&](const session_output& out) {
    if (out.action == session_action::send) message.assign(out.bytes.begin(), out.bytes.end());
    if (out.action == session_action::journal && journal != nullptr) {
      if (out.replaces) journal->clear();
      journal->insert(journal->end(), out.bytes.begin(), out.bytes.end());
    }
  });
  return message;
}

//! An edge whose prompt has `length` tokens, and a cloud that has taken it.
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
  //! Until the cloud has the prompt.
  void fill() {
    for (bytes up = sent(edge, &edge_journal); cloud.state() != cloud_state::ready; up = sent(edge, &edge_journal)) {
      REQUIRE(cloud.receive(up, 0).ok());
      REQUIRE(edge.receive(sent(cloud, &cloud_journal), 0).ok());
    }
  }
  [[nodiscard]] wire_context place(std::uint32_t length) const {
    return {7, 1, 1, length, prefix_hash(std::span(prompt).first(length)), 0};
  }
};

//! Seconds that a message takes: the least of a few.
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

template <class Made>
bytes encoded(std::size_t size, const Made& encode) {
  bytes message(size);
  const auto written = encode(std::span<std::byte>(message));
  REQUIRE(written.ok());
  message.resize(written->size());
  return message;
}

//! A device that asks for the last token of the text, again and again.
double seconds_of_resume(std::uint32_t length) {
  filled both(length);
  both.fill();
  const resume_message asked{both.place(length - 1)};
  const bytes resume = encoded(64, [&](auto out) { return encode_resume(asked, out); });
  return seconds_of([&](std::uint32_t) { return resume; },
                    [&](const bytes& message) {
                      (void)both.cloud.receive(message, 0);
                      CHECK(peek_header(sent(both.cloud))->kind == message_kind::text);
                    });
}

//! A device that says stop with less text than the cloud has.
double seconds_of_stop(std::uint32_t length) {
  filled both(length);
  both.fill();
  const stop_message said{stop_cause::budget, length - 1, both.place(length - 1).prefix_hash};
  return seconds_of(
      [&](std::uint32_t i) {
        const wire_context end{7, 1, 0, 0, 0, static_cast<std::uint8_t>((i + 8) & 15u)};
        return encoded(64, [&](auto out) { return encode_stop(end, said, out); });
      },
      [&](const bytes& message) {
        (void)both.cloud.receive(message, 0);
        CHECK(peek_header(sent(both.cloud))->kind == message_kind::resume);
      });
}

//! A draft under no context that the cloud knows: it looks in its text for the one that the header names.
double seconds_of_rubbish(std::uint32_t length) {
  filled both(length);
  both.fill();
  const resume_message asked{both.place(length)};
  return seconds_of(
      [&](std::uint32_t i) {
        resume_message numbered = asked;
        numbered.context.transmission = static_cast<std::uint8_t>(i & 15u);
        (void)both.cloud.receive(encoded(64, [&](auto out) { return encode_resume(numbered, out); }), 0);
        (void)sent(both.cloud);  // with a record: the cloud answers damage again
        bytes rubbish(40, std::byte{0x52});
        rubbish[1] = std::byte{1};
        rubbish[2] = static_cast<std::byte>((length - 1) & 255u);
        rubbish[3] = static_cast<std::byte>((length - 1) >> 8 & 255u);
        return rubbish;
      },
      [&](const bytes& message) {
        CHECK(both.cloud.receive(message, 0).code == errc::checksum_mismatch);
        CHECK(peek_header(sent(both.cloud))->kind == message_kind::refuse);
      });
}

//! A cloud that lacks the end of the edge's prompt, and gets it piece by piece.
double seconds_of_piece(std::uint32_t length) {
  filled both(length, 16);
  REQUIRE(both.cloud.receive(sent(both.edge), 0).ok());
  REQUIRE(both.edge.receive(sent(both.cloud), 0).ok());
  (void)sent(both.edge);
  return seconds_of(
      [&](std::uint32_t i) {
        wire_context place = both.place(length - 500 + i);
        place.transmission = static_cast<std::uint8_t>((i + 1) & 15u);
        return encoded(64, [&](auto out) { return encode_resume({place}, out); });
      },
      [&](const bytes& message) {
        CHECK(both.edge.receive(message, 0).ok());
        CHECK(peek_header(sent(both.edge))->kind == message_kind::text);
      });
}

}  // namespace

TEST_CASE("cloud: a short message of a device does not hash the whole text") {
  CHECK(seconds_of_resume(long_text) < 20 * seconds_of_resume(short_text));
  CHECK(seconds_of_stop(long_text) < 20 * seconds_of_stop(short_text));
  CHECK(seconds_of_rubbish(long_text) < 20 * seconds_of_rubbish(short_text));
}

TEST_CASE("edge: a piece of text does not hash the whole text before it") {
  CHECK(seconds_of_piece(long_text) < 20 * seconds_of_piece(short_text));
}

TEST_CASE("session: a restored side knows the hash of each part of a long text") {
  filled both(short_text, 100);
  both.fill();
  cloud_session cloud = filled::make_cloud(short_text);
  REQUIRE(cloud.restore(both.cloud_journal).ok());
  for (const std::uint32_t length : {1023u, 1024u, 1025u, 2048u, short_text - 1}) {
    const bytes resume = encoded(64, [&](auto out) { return encode_resume({both.place(length)}, out); });
    (void)cloud.receive(resume, 0);
    CHECK_MESSAGE(peek_header(sent(cloud))->kind == message_kind::text, "text behind ", length);
  }
  // a cloud that lost its journal takes the text from a restored edge, in pieces
  both.edge = filled::make_edge(short_text, 100);
  both.cloud = filled::make_cloud(short_text);
  REQUIRE(both.edge.restore(both.edge_journal, 0).ok());
  for (int pieces = 0; pieces < 40 && both.cloud.state() != cloud_state::ready; ++pieces) {
    (void)both.cloud.receive(sent(both.edge), 0);
    (void)both.edge.receive(sent(both.cloud), 0);
  }
  CHECK(both.cloud.length() == short_text);
  CHECK(both.cloud.state() == cloud_state::ready);
}
