// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/delivery/delivery.hpp>

#include <support/alloc_guard.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

using namespace specverify;

namespace {

using bytes = std::vector<std::byte>;

bytes bytes_of(std::string_view text) {
  bytes made;
  for (const char letter : text) made.push_back(static_cast<std::byte>(letter));
  return made;
}

delivery make(delivery_side side, std::uint64_t salt, std::uint8_t check_bytes = 4, std::uint64_t retry_timeout = 100) {
  delivery_options options;
  options.side = side;
  options.salt = salt;
  options.max_message_bytes = 100;
  options.check_bytes = check_bytes;
  options.retry_timeout = retry_timeout;
  options.retry_limit = 3;
  return *delivery::make(options);
}

std::vector<bytes> drained(delivery& from) {
  std::vector<bytes> made;
  for (auto next = from.next_datagram(); !next.empty(); next = from.next_datagram())
    made.emplace_back(next.begin(), next.end());
  return made;
}

//! What `to` hears of these datagrams, one word each: a message, the name of an error, or nothing.
std::string heard(delivery& to, const std::vector<bytes>& datagrams, std::uint64_t now = 0) {
  std::string made;
  for (const bytes& datagram : datagrams) {
    const auto got = to.receive(datagram, now);
    if (!got) made += name(got.error().code);
    if (got) {
      for (const std::byte b : *got) made += static_cast<char>(b);
    }
    made += ' ';
  }
  return made;
}

struct connected {
  delivery client, server;
  explicit connected(std::uint8_t check_bytes = 4, std::uint64_t retry_timeout = 100)
      : client(make(delivery_side::client, 1, check_bytes, retry_timeout)),
        server(make(delivery_side::server, 2, check_bytes)) {
    client.open(0);
    heard(server, drained(client));
    heard(client, drained(server));
    heard(server, drained(client));
    heard(client, drained(server));
    REQUIRE(client.is_open());
    REQUIRE(server.is_open());
  }
  void say(delivery& from, std::string_view text) { REQUIRE(from.send(bytes_of(text), 0).ok()); }
};

}  // namespace

TEST_CASE("delivery: messages in order, each once, and no memory after make") {
  connected both;
  both.say(both.client, "one");
  both.say(both.client, "two");
  const auto sent = drained(both.client);
  CHECK(sent.size() == 2);
  CHECK(sent[0].size() == 3 + 5);
  CHECK(heard(both.server, {sent[0], sent[0], sent[1], sent[0]}) == "one duplicate two duplicate ");
  both.say(both.server, "three");
  CHECK(heard(both.client, drained(both.server)) == "three ");
  CHECK(both.client.settle());
  CHECK_FALSE(both.server.settle());  // nothing said that it arrived
  heard(both.server, drained(both.client));
  CHECK(both.server.settle());
  const bytes message = bytes_of("four");
  {
    const specverify_test::alloc_guard none;
    REQUIRE(both.client.send(message, 0).ok());
    (void)both.server.receive(both.client.next_datagram(), 0);
    (void)both.client.tick(1000);
    (void)both.server.receive(both.client.next_datagram(), 0);
    CHECK(none.count() == 0);
  }
}

TEST_CASE("delivery: it holds four of the largest messages") {
  const specverify_test::alloc_guard heap;
  const delivery made = make(delivery_side::client, 1);  // messages of 100 bytes
  const std::uint64_t allocations = heap.count(), on_heap = heap.bytes();
  CHECK(allocations == 1);
  CHECK(on_heap == 4 * (100 + max_datagram_overhead));
  MESSAGE("delivery: ", sizeof made, " bytes, and on the heap ", on_heap, " for messages of 100");
}

TEST_CASE("delivery: at most four messages are under way") {
  connected both;
  for (int i = 0; i < 4; ++i) both.say(both.client, "x");
  CHECK(both.client.send(bytes_of("y"), 0).code == errc::busy);
  heard(both.server, drained(both.client));
  heard(both.client, drained(both.server));  // a stream is acknowledged though nothing is said
  CHECK(both.client.send(bytes_of("y"), 0).ok());
  CHECK(both.client.send({}, 0).code == errc::size_mismatch);
  CHECK(both.client.send(bytes(101), 0).code == errc::size_mismatch);
}

TEST_CASE("delivery: what is lost is repeated when the client asks") {
  connected both;
  both.say(both.server, "lost");
  (void)drained(both.server);
  both.say(both.client, "lost, too");
  (void)drained(both.client);
  CHECK(both.client.tick(99).ok());
  CHECK(drained(both.client).empty());
  CHECK(both.client.deadline() == 100);
  CHECK(both.client.tick(100).ok());
  CHECK(heard(both.server, drained(both.client)) == "lost, too ");
  CHECK(heard(both.client, drained(both.server)) == "lost ");
  CHECK(both.client.statistics().repeated == 1);
  CHECK(both.client.statistics().timeouts == 1);
}

TEST_CASE("delivery: what overtakes waits for its turn, and is asked for at once") {
  connected both;
  both.say(both.server, "one");
  both.say(both.server, "two");
  const auto sent = drained(both.server);
  CHECK(heard(both.client, {sent[1]}) == " ");
  CHECK(heard(both.server, drained(both.client)) == " ");  // asks
  CHECK(heard(both.client, drained(both.server)) == "one two ");
  CHECK(both.client.statistics().early == 1);
}

TEST_CASE("delivery: a message for which there is no room comes again when it is wanted") {
  connected both;
  both.say(both.server, "wait");
  const auto sent = drained(both.server);
  const auto got = both.client.receive(sent[0], 0, false);
  REQUIRE(got.ok());
  CHECK(got->empty());
  CHECK(drained(both.client).empty());
  both.client.want_missing();
  heard(both.server, drained(both.client));
  CHECK(heard(both.client, drained(both.server)) == "wait ");
}

TEST_CASE("delivery: damage is loss") {
  connected both;
  both.say(both.client, "message");
  for (const bytes& datagram : drained(both.client)) {
    for (std::size_t bit = 0; bit < 8 * datagram.size(); ++bit) {
      bytes damaged = datagram;
      damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      CHECK_FALSE(both.server.receive(damaged, 0).ok());
    }
  }
  CHECK(both.server.statistics().damaged == 8 * 12);
  CHECK(drained(both.server).empty());
  CHECK(both.client.tick(100).ok());
  CHECK(heard(both.server, drained(both.client)) == "message ");
}

TEST_CASE("delivery: a late or copied connect changes nothing") {
  delivery client = make(delivery_side::client, 1), server = make(delivery_side::server, 2);
  client.open(0);
  const auto early = drained(client);
  client.open(0);  // the first one is on its way yet
  const auto connect = drained(client);
  heard(server, connect);
  const auto accept = drained(server);
  heard(client, accept);
  REQUIRE(client.send(bytes_of("one"), 0).ok());
  CHECK(heard(server, drained(client)) == "one ");
  CHECK(heard(client, drained(server)) == " ");
  CHECK(heard(server, early) == " ");
  CHECK(heard(client, drained(server)) == "stale_epoch ");  // the other incarnation was never opened
  CHECK(heard(server, connect) == " ");
  CHECK(heard(client, drained(server)) == "stale_epoch ");
  REQUIRE(client.send(bytes_of("two"), 0).ok());
  CHECK(heard(server, drained(client)) == "two ");
  CHECK(server.statistics().incarnations == 1);
}

//! Until nobody says anything more; what the server heard.
std::string talk(delivery& client, delivery& server) {
  std::string made;
  for (int i = 0; i < 20; ++i) {
    for (const bytes& question : drained(client)) {
      made += heard(server, {question});
      heard(client, drained(server));
    }
  }
  CHECK(client.next_datagram().empty());
  return made;
}

TEST_CASE("delivery: another connect before the first data costs a question, and no incarnation") {
  for (const std::uint64_t retry_timeout : {std::uint64_t{100}, std::uint64_t{0}}) {
    for (const bool was_open : {false, true}) {
      CAPTURE(retry_timeout);
      CAPTURE(was_open);
      delivery client = make(delivery_side::client, 1, 4, retry_timeout), server = make(delivery_side::server, 2);
      delivery other = make(delivery_side::client, 3, 4, retry_timeout);
      if (was_open) {
        other.open(0);
        talk(other, server);
      }
      client.open(0);
      heard(server, drained(client));
      heard(client, drained(server));
      other.open(0);
      heard(server, drained(other));  // now this is the candidate
      CHECK(heard(client, drained(server)) == "stale_epoch ");
      REQUIRE(client.send(bytes_of("one"), 0).ok());
      const std::string early = talk(client, server);
      CHECK(client.tick(100).ok());
      const std::string all = early + talk(client, server);
      CHECK(all.starts_with("checksum_mismatch "));
      CHECK(all.find("one ") != std::string::npos);
      CHECK(client.statistics().incarnations == 1);
      CHECK(client.statistics().lost == 0);
      CHECK(server.statistics().incarnations == (was_open ? 2 : 1));
    }
  }
}

TEST_CASE("delivery: a new incarnation forgets the one before, and hears nothing of it") {
  connected both;
  both.say(both.client, "of the first");
  const auto late = drained(both.client);
  both.say(both.server, "of the first, too");
  const auto later = drained(both.server);
  both.client.open(0);
  heard(both.server, drained(both.client));
  heard(both.client, drained(both.server));
  both.say(both.client, "of the second");
  CHECK(heard(both.server, drained(both.client)) == "of the second ");
  CHECK(heard(both.server, late) == "checksum_mismatch ");
  CHECK(heard(both.client, later) == "checksum_mismatch ");
  CHECK(both.server.statistics().incarnations == 2);
}

TEST_CASE("delivery: a server that was started again resets a client, which believes only what names its own") {
  connected both;
  delivery other = make(delivery_side::server, 3);
  std::array<std::byte, control_datagram_bytes> space{};
  control_datagram forged{datagram_kind::reset, {}, 12345};
  const auto written = write_control(forged, space);
  CHECK(heard(both.client, {bytes(written.begin(), written.end())}) == "stale_epoch ");
  forged.named = 0;
  const auto zero = write_control(forged, space);
  CHECK(heard(both.client, {bytes(zero.begin(), zero.end())}) == "stale_epoch ");
  CHECK(both.client.is_open());
  both.say(both.client, "hello");
  CHECK(heard(other, drained(both.client)) == "checksum_mismatch ");
  CHECK(heard(both.client, drained(other)) == "link_lost ");
  CHECK(both.client.is_closed());
  CHECK(both.client.send(bytes_of("x"), 0).code == errc::link_lost);
  CHECK(both.client.statistics().lost == 1);
}

TEST_CASE("delivery: without timers a copy that is too late to be read ends nothing") {
  connected both(4, 0);
  both.say(both.client, "first");
  const auto first = drained(both.client);
  heard(both.server, first);
  for (int i = 0; i < 8; ++i) {
    both.say(both.client, "x");
    heard(both.server, drained(both.client));
    heard(both.client, drained(both.server));
  }
  CHECK(heard(both.server, first) == "checksum_mismatch ");
  CHECK(heard(both.client, drained(both.server)) == "stale_epoch ");  // it names what has arrived
  CHECK(both.client.is_open());
}

TEST_CASE("delivery: a server that answers and takes nothing is lost, too") {
  connected both;
  both.say(both.client, "hello");
  std::uint64_t now = 0;
  for (int i = 0; i < 3; ++i) {
    for (const bytes& datagram : drained(both.client)) CHECK(both.server.receive(datagram, now, false)->empty());
    heard(both.client, drained(both.server), now);
    CHECK(both.client.tick(now += 100).ok());
  }
  CHECK(both.client.tick(now += 100).code == errc::peer_timeout);
}

TEST_CASE("delivery: an answer is not mistaken for that to a later datagram") {
  connected both;
  both.client.open(0);
  const bytes connect = drained(both.client).at(0);
  CHECK(heard(both.server, {connect, bytes_of("damaged")}) == " checksum_mismatch ");
  const auto sent = drained(both.server);
  REQUIRE(sent.size() == 1);
  CHECK(heard(both.client, sent) == " ");
  CHECK(both.client.is_open());
}

TEST_CASE("delivery: a silent server is lost after retry_limit questions") {
  connected both;
  both.say(both.client, "hello");
  std::uint64_t now = 0;
  for (int i = 0; i < 3; ++i) CHECK(both.client.tick(now += 100).ok());
  CHECK(both.client.tick(now += 100).code == errc::peer_timeout);
  CHECK(both.client.is_closed());
  CHECK_FALSE(both.client.deadline().has_value());
}

TEST_CASE("delivery: both sides use the longer check") {
  constexpr std::array<std::uint8_t, 3> sizes{0, 2, 4};
  for (const std::uint8_t of_client : sizes) {
    for (const std::uint8_t of_server : sizes) {
      delivery client = make(delivery_side::client, 1, of_client), server = make(delivery_side::server, 2, of_server);
      client.open(0);
      heard(server, drained(client));
      heard(client, drained(server));
      REQUIRE(client.send(bytes_of("message"), 0).ok());
      const auto sent = drained(client);
      REQUIRE(sent.size() == 1);
      CHECK(sent[0].size() == 7 + 1u + std::max(of_client, of_server));
      CHECK(heard(server, sent) == "message ");
    }
  }
}

TEST_CASE("delivery: without timers what fits nothing is asked for, and a server names it") {
  connected both(4, 0);
  CHECK_FALSE(both.client.deadline().has_value());
  both.say(both.client, "one");
  bytes damaged = drained(both.client)[0];
  damaged.back() ^= std::byte{1};
  CHECK(heard(both.server, {damaged}) == "checksum_mismatch ");
  const auto reset = drained(both.server);
  REQUIRE(reset.size() == 1);
  CHECK(heard(both.client, reset) == "stale_epoch ");  // it never sent that
  both.say(both.server, "two");
  damaged = drained(both.server)[0];
  damaged.back() ^= std::byte{1};
  CHECK(heard(both.client, {damaged}) == "checksum_mismatch ");
  heard(both.server, drained(both.client));
  CHECK(heard(both.client, drained(both.server)) == "two ");
}
