// SPDX-License-Identifier: Apache-2.0
// Bytes of drafts and answers on a transport: only ids, with a vocabulary of 128 256. And round trips until both sides
// agree again, and until the end: in one trip all messages of the edge go up, and all answers come down.
#include <doctest/doctest.h>

#include <specverify/delivery/delivered.hpp>
#include <specverify/host/host.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <session/both_ways.hpp>
#include <support/secret_of.hpp>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>
#include <vector>

using namespace specverify;

namespace {

constexpr std::uint32_t vocab_size = 128256;

//! The next token depends on the last one, and both models agree.
struct agreed_model {
  std::vector<token_id> last{};
  std::vector<float> logits = std::vector<float>(vocab_size);
  token_id peak = 0;

  status feed(std::uint32_t, std::span<const token_id> tokens, std::uint32_t rows) {
    last.assign(tokens.end() - static_cast<std::ptrdiff_t>(rows), tokens.end());
    return {};
  }
  row_view<float> row(std::uint32_t i) {
    logits[static_cast<std::size_t>(peak)] = 0;
    peak = static_cast<token_id>((static_cast<std::uint32_t>(last[i]) * 31 + 7) % vocab_size);
    logits[static_cast<std::size_t>(peak)] = 1000;
    return logits_row<float>(logits);
  }
  void truncate(std::uint32_t) {}
};

//! Records the largest message of each kind. `head`: bytes of a datagram before its message.
template <class Link>
struct noted {
  static constexpr bool ordered_and_whole = true;
  Link& link;
  std::map<message_kind, std::size_t>& most;
  std::size_t head = 0;

  status send(std::span<const std::byte> bytes) {
    if (bytes.size() > head && (head == 0 || std::to_integer<unsigned>(bytes[0]) >> 7 == 0)) {  // no control datagram
      if (const auto kind = kind_of(bytes.subspan(head))) most[*kind] = std::max(most[*kind], bytes.size());
    }
    return link.send(bytes);
  }
  result<std::span<const std::byte>> receive(std::optional<session_time> until) { return link.receive(until); }
  session_time now() { return link.now(); }
};

struct seen_bytes {
  std::map<message_kind, std::size_t> up, down;
};

//! Runs one text. `over_delivery`: datagrams have a check of 4 bytes.
seen_bytes run(std::uint32_t draft_length, std::uint8_t check_bits, bool over_delivery) {
  edge_options device;
  device.secret = specverify_test::secret_of(1);
  device.vocab_size = vocab_size;
  device.format = law_format::token_only;
  device.token_budget = 4 * (draft_length + 1);
  device.check_bits = check_bits;
  cloud_options service;
  service.secret = specverify_test::secret_of(2);
  service.salt = 3;
  service.vocab_size = vocab_size;
  service.check_bits = check_bits;
  auto edge = make_edge(device, fixed_window{draft_length});
  auto cloud = make_cloud(service);
  REQUIRE(edge.ok());
  REQUIRE(cloud.ok());
  agreed_model small, large;
  message_pipe pipe;
  seen_bytes seen;
  using wire = noted<message_pipe::end>;
  delivery_options delivery;
  delivery.check_bytes = 4;
  delivery.salt = 5;
  const std::size_t head = over_delivery ? 1 + delivery.check_bytes : 0;
  status served;
  std::thread server([&, end = pipe.cloud()]() mutable {
    wire link{end, seen.down, head};
    if (!over_delivery) {
      served = serve(*cloud, large, link);
      return;
    }
    delivery_options own = delivery;
    own.side = delivery_side::server;
    auto down = delivered<wire>::make(link, own);
    served = serve(*cloud, large, *down);
    (void)down->settle(down->now() + 1'000'000);
  });
  {
    auto end = pipe.edge();
    wire link{end, seen.up, head};
    const std::array<token_id, 1> prompt{5};
    if (over_delivery) {
      auto up = delivered<wire>::make(link, delivery);
      CHECK(generate(*edge, prompt, small, *up).ok());
      CHECK(up->settle(up->now() + 1'000'000).ok());
    } else {
      CHECK(generate(*edge, prompt, small, link).ok());
    }
  }
  server.join();
  CHECK(served.ok());
  CHECK(edge->length() == 1 + device.token_budget);
  return seen;
}

struct line {
  std::uint32_t draft_length;
  std::size_t draft, feedback;  // without a check, at most
};

}  // namespace

TEST_CASE("bytes of ids alone: 4, 10 and 18 for drafts of 1, 4 and 8, and a byte of check") {
  for (const line& at : {line{1, 4, 4}, line{4, 10, 4}, line{8, 18, 4}}) {
    for (const std::uint8_t bits : {automatic_check, std::uint8_t{0}, std::uint8_t{16}}) {
      CAPTURE(at.draft_length);
      CAPTURE(static_cast<int>(bits));
      auto seen = run(at.draft_length, bits, false);
      const std::size_t check = bits == automatic_check ? 1 : bits / 8u;
      MESSAGE("L = ", at.draft_length, ", check of ", 8 * check, " bits: draft ", seen.up[message_kind::draft],
              ", feedback ", seen.down[message_kind::feedback]);
      CHECK(seen.up[message_kind::draft] <= at.draft + check);
      CHECK(seen.up[message_kind::draft] > check + 17 * at.draft_length / 8);
      CHECK(seen.down[message_kind::feedback] <= at.feedback + check);
      CHECK(seen.down[message_kind::feedback] > check + 2);
    }
  }
}

TEST_CASE("bytes of ids alone through delivery, 4 bytes of check: 9, 15 and 23 for drafts of 1, 4 and 8") {
  for (const line& at : {line{1, 9, 9}, line{4, 15, 9}, line{8, 23, 9}}) {
    CAPTURE(at.draft_length);
    auto seen = run(at.draft_length, 0, true);
    MESSAGE("L = ", at.draft_length, ", delivery: draft ", seen.up[message_kind::draft], ", feedback ",
            seen.down[message_kind::feedback]);
    CHECK(seen.up[message_kind::draft] <= at.draft);
    CHECK(seen.up[message_kind::draft] > 5 + 17 * at.draft_length / 8);
    CHECK(seen.down[message_kind::feedback] <= at.feedback);
    CHECK(seen.down[message_kind::feedback] > 5 + 2);
  }
}

// Round trips.

using namespace specverify_test;

namespace {

constexpr std::uint32_t piece = 2;  // ids per text message

struct counted {
  pair p;
  int trips = 0, drafts = 0, pieces = 0;

  explicit counted(pair_options o = in_pieces()) : p(o) { REQUIRE(p.edge->start({{4, 5, 6}}, p.now).ok()); }
  static pair_options in_pieces() {
    pair_options o;
    o.edge_chunk = piece;
    o.timeout = 0;
    return o;
  }
  std::vector<bytes> up() {
    std::vector<bytes> answers;
    for (const bytes& message : p.run_edge()) {
      drafts += kind_of(message) == message_kind::draft ? 1 : 0;
      pieces += kind_of(message) == message_kind::text ? 1 : 0;
      (void)p.cloud->receive(message, p.now);
      for (bytes& answer : p.run_cloud()) answers.push_back(std::move(answer));
    }
    return answers;
  }
  void trip() {
    ++trips;
    for (const bytes& message : up()) {
      pieces += kind_of(message) == message_kind::text ? 1 : 0;
      (void)p.edge->receive(message, p.now);
    }
  }
  template <class Ready>
  int until(const Ready& ready) {
    trips = drafts = pieces = 0;
    while (!ready() && trips < 100) trip();
    return trips;
  }
  void write(std::uint32_t length) {
    (void)until([&] { return p.edge->length() >= length; });
  }
  void lose_connection() { REQUIRE(p.edge->disconnect(p.now).ok()); }
  void connect() { REQUIRE(p.edge->reconnect(p.now).ok()); }
  [[nodiscard]] bool is_in_step() const { return p.edge->state() == edge_state::drafting; }
};

}  // namespace

TEST_CASE("round trips: a verdict that was lost with its connection comes with hello, and no draft goes up again") {
  counted c;
  c.write(10);
  const std::uint32_t had = c.p.edge->length();
  (void)c.up();  // decided and sent
  c.lose_connection();
  c.connect();
  CHECK(c.until([&] { return c.is_in_step(); }) == 1);
  CHECK(c.drafts == 0);
  CHECK(c.p.edge->length() > had);
  CHECK(c.p.edge->statistics().accepted == c.p.cloud->statistics().accepted);  // it arrived as a verdict
}

TEST_CASE("round trips: a draft that was lost with its connection goes up behind hello") {
  counted c;
  c.write(10);
  const std::uint32_t had = c.p.edge->length();
  (void)c.p.run_edge();  // sent, and lost
  c.lose_connection();
  c.connect();
  CHECK(c.until([&] { return c.is_in_step() && c.p.edge->length() > had; }) == 2);
  CHECK(c.drafts == 1);
}

TEST_CASE("round trips: a cloud without a journal is filled with ten pieces behind one") {
  counted c;
  c.write(19);
  (void)c.p.run_edge();
  c.lose_connection();
  c.p.new_cloud();
  c.connect();
  CHECK(c.until([&] { return c.p.edge->state() == edge_state::sending_text; }) == 1);
  (void)c.up();  // all chunks and the draft, without an answer in between
  CHECK(c.pieces >= 10);
  CHECK(c.drafts == 1);
  CHECK(c.p.cloud->length() > c.p.edge->length());
}

TEST_CASE("round trips: an edge without a journal has ten pieces in one") {
  counted c;
  c.write(19);
  c.p.new_edge();
  REQUIRE(c.p.edge->recover(3, c.p.now + 1).ok());
  CHECK(c.until([&] { return c.is_in_step(); }) == 1);
  CHECK(c.pieces >= 10);
}

TEST_CASE("round trips: the end takes one") {
  counted c;
  (void)c.until([&] { return c.p.edge->state() == edge_state::stopping; });
  CHECK(c.until([&] { return c.p.edge->state() == edge_state::finished; }) == 1);
}
