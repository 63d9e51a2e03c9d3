// SPDX-License-Identifier: Apache-2.0
// Round trips until both sides agree again, and until the end. In one trip all messages of the edge go up, and all
// answers come down.
#include <session/both_ways.hpp>

#include <utility>

using namespace specverify;
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
