// SPDX-License-Identifier: Apache-2.0
// Ends of a session: a stop token that only the cloud lists, and the stop tokens in both hellos.
#include <session/both_ways.hpp>

using namespace specverify;
using namespace specverify_test;

namespace {

//! Ends a text with these options in the middle, because only the cloud lists the token.
pair_options ended_by_cloud(pair_options o) {
  pair p(o);
  (void)p.edge->start(std::vector<token_id>{4, 5, 6}, p.now);
  wire{p}.run();
  const std::vector<token_id> whole = p.text();
  REQUIRE(whole.size() == 3 + o.budget);
  o.cloud_stop_tokens = {whole[12]};
  return o;
}

//! Returns a hello with other stop tokens and a longer text.
bytes with_stop_tokens(const bytes& hello, std::uint64_t hash, std::uint32_t more = 0) {
  auto other = decode_hello(hello).value();
  hello_fields fields;
  if (last_verdict(other).round > 0) fields.add(last_verdict(other));
  fields.add_stop_tokens(hash);
  if (other.format.check_bits != wire_format{}.check_bits) fields.add_check(other.format.check_bits);
  other.fields = fields.bytes();
  other.length += more;
  bytes made(200);
  made.resize(encode_hello(other, made).value().size());
  return made;
}

}  // namespace

TEST_CASE("ends: the end of a stream that only the cloud ends is told") {
  pair_options o;
  o.mode = session_mode::stream;
  SUBCASE("without timers") { o.timeout = 0; }
  SUBCASE("with timers") {}
  pair p(ended_by_cloud(o));
  REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
  wire{p}.run();
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.edge_end == stop_reason::stop_token);
  CHECK(p.cloud_end == stop_reason::stop_token);
  CHECK(p.text().back() == p.options.cloud_stop_tokens->front());
  CHECK(p.text() == cloud_text(p));
  CHECK(p.edge->statistics().timeouts == 0);
}

TEST_CASE("ends: a stream that only the cloud ends survives a connection that breaks anywhere") {
  pair_options o;
  o.mode = session_mode::stream;
  o.timeout = 0;
  const pair_options ended = ended_by_cloud(o);
  for (int which = 0; which < 30; ++which) {
    CAPTURE(which);
    pair p(ended);
    REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
    int seen = 0;
    wire{p, [&](const bytes&, bool) { return seen++ < which ? 1 : 0; }}.run();
    if (p.edge->state() != edge_state::finished) {
      (void)p.edge->disconnect(p.now);
      CHECK(p.edge->reconnect(p.now).ok());
      wire{p}.run();
    }
    CHECK(p.edge->state() == edge_state::finished);
    CHECK(p.edge_end == stop_reason::stop_token);
    CHECK(p.text() == cloud_text(p));
  }
}

TEST_CASE("ends: an edge without its journal hears of an end that only the cloud knows") {
  pair_options o;
  SUBCASE("draft") {}
  SUBCASE("stream") { o.mode = session_mode::stream; }
  pair p(ended_by_cloud(o));
  REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
  // the edge process ends when the cloud has its last token, and nothing of that arrives
  wire link{p, [&](const bytes&, bool upward) { return !upward && p.cloud->state() == cloud_state::finished ? 0 : 1; }};
  link.run(0);
  REQUIRE(p.cloud->state() == cloud_state::finished);
  const std::vector<token_id> whole = cloud_text(p);
  p.new_edge();
  p.now += 1000;
  REQUIRE(p.edge->recover(3, p.now).ok());
  wire{p}.run();
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.edge_end == stop_reason::stop_token);
  CHECK(p.text() == whole);
}

TEST_CASE("ends: sides with different stop tokens refuse each other by name") {
  pair_options o;
  o.stop_tokens = {11, 29};
  o.cloud_stop_tokens = {29, 12};
  pair p(o);
  REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
  wire{p}.run();
  CHECK(p.edge->state() == edge_state::failed);
  CHECK(p.edge->refusal().code == errc::stop_tokens_disagree);
  CHECK(p.cloud->state() == cloud_state::blank);
  CHECK(p.cloud->refusal().code == errc::stop_tokens_disagree);
}

TEST_CASE("ends: a cloud that changed its stop tokens is found out by the edge") {
  pair_options o;
  o.stop_tokens = {29};
  pair p(o);
  bytes question = p.start();
  const bytes forged = with_stop_tokens(p.answers(question).front(), prefix_hash(std::vector<token_id>{12}));
  CHECK(p.edge->receive(forged, p.now).code == errc::stop_tokens_disagree);
  CHECK(p.edge->state() == edge_state::failed);
}

TEST_CASE("ends: a hello that is refused says nothing of the edge's stop tokens") {
  pair_options o;
  o.mode = session_mode::stream;
  o.timeout = 0;
  pair p(ended_by_cloud(o));
  const bytes hello = p.start();
  const bytes forged = with_stop_tokens(hello, prefix_hash(*p.options.cloud_stop_tokens), 1000);
  int refused = 0;
  const auto forge = [&](int) {
    if (refused > 0 || p.cloud->state() != cloud_state::filling) return;
    ++refused;
    CHECK(p.cloud->receive(forged, p.now).code == errc::base_length_mismatch);  // more text than allowed
    (void)p.run_cloud();
  };
  wire link{p, [](const bytes&, bool) { return 1; }, forge};
  link.up.push_back(hello);
  link.run();
  CHECK(refused == 1);
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.edge_end == stop_reason::stop_token);
  CHECK(p.text() == cloud_text(p));
}

TEST_CASE("ends: an edge that lists no stop tokens any more hears of the end") {
  pair_options o;
  o.mode = session_mode::stream;
  o.timeout = 0;
  pair_options ended = ended_by_cloud(o);
  ended.stop_tokens = *ended.cloud_stop_tokens;
  pair p(ended);
  REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
  wire{p, [&](const bytes&, bool) { return p.cloud->state() == cloud_state::blank ? 1 : 0; }}.run();
  REQUIRE(p.edge->state() != edge_state::finished);
  p.options.stop_tokens = {};
  p.new_edge();
  REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
  wire{p}.run();
  CHECK(p.edge->state() == edge_state::finished);
  CHECK(p.edge_end == stop_reason::stop_token);
  CHECK(p.text() == cloud_text(p));
}

TEST_CASE("ends: the same stop tokens in another order are the same, and none are no list") {
  for (const auto& [edge, cloud] : std::vector<std::pair<std::vector<token_id>, std::vector<token_id>>>{
           {{11, 29}, {29, 11, 29}}, {{}, {29}}, {{29}, {}}, {{}, {}}}) {
    pair_options o;
    o.stop_tokens = edge;
    o.cloud_stop_tokens = cloud;
    pair p(o);
    REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
    wire{p}.run();
    CHECK(p.edge->state() == edge_state::finished);
  }
}
