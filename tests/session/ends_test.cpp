// SPDX-License-Identifier: Apache-2.0
// How a session ends: by a stop token that only the cloud lists, and what the sides say of their stop tokens.
#include <session/both_ways.hpp>

using namespace specverify;
using namespace specverify_test;

namespace {

//! Ends a text of these options in its middle, by the cloud's list alone.
pair_options ended_by_cloud(pair_options o) {
  pair p(o);
  (void)p.edge->start(std::vector<token_id>{4, 5, 6}, p.now);
  wire{p}.run();
  const std::vector<token_id> whole = p.text();
  REQUIRE(whole.size() == 3 + o.budget);
  o.cloud_stop_tokens = {whole[12]};
  return o;
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

TEST_CASE("ends: the last token of a stream has its reason, and makes no edge draft") {
  for (const stop_reason told : {stop_reason::none, stop_reason::budget, stop_reason::stop_token}) {
    CAPTURE(static_cast<int>(told));
    pair_options o;
    o.mode = session_mode::stream;
    pair p(o);
    REQUIRE(p.cloud->receive(p.exchange(p.start()), p.now).ok());
    (void)p.hear(p.run_cloud().front());
    REQUIRE(p.edge->state() == edge_state::streaming);
    bytes last(64);
    const wire_context here{7, p.edge->epoch(), p.edge->round(), 3, prefix_hash(p.edge->text()), 1};
    const auto written = encode_feedback(here, p.format(), 0, {0, 9, 1, static_cast<std::uint8_t>(told)}, last);
    REQUIRE(written.ok());
    last.resize(written->size());
    const status why = p.edge->receive(last, p.now);
    const std::vector<bytes> sent = p.run_edge();
    REQUIRE(sent.size() == 1);
    CHECK(kind_of(sent.front()) == (told == stop_reason::stop_token ? message_kind::stop : message_kind::refuse));
    CHECK((why.code == errc::field_out_of_range) == (told != stop_reason::stop_token));
    CHECK((p.edge->state() == edge_state::stopping) == (told == stop_reason::stop_token));
    CHECK(p.edge->length() == (told == stop_reason::stop_token ? 4 : 3));
  }
}

TEST_CASE("ends: a stream that only the cloud ends survives any lost or doubled message") {
  pair_options o;
  o.mode = session_mode::stream;
  const pair_options ended = ended_by_cloud(o);
  for (int copies : {0, 2}) {
    for (int which = 0; which < 30; ++which) {
      CAPTURE(copies);
      CAPTURE(which);
      pair p(ended);
      REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
      int seen = 0;
      wire{p, [&](const bytes&, bool) { return seen++ == which ? copies : 1; }}.run();
      CHECK(p.edge->state() == edge_state::finished);
      CHECK(p.edge_end == stop_reason::stop_token);
      CHECK(p.text() == cloud_text(p));
    }
  }
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
  // the edge dies when the cloud has its last token, and nothing of that arrives
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
  const bytes hello = p.answer(question);
  const auto theirs = decode_hello(hello);
  REQUIRE(theirs.ok());
  hello_message other = *theirs;
  const auto field = stop_tokens_field(*stop_tokens_hash(other) + 1);
  other.fields = field;
  bytes forged(hello.size());
  REQUIRE(encode_hello(other, forged).ok());
  CHECK(p.edge->receive(forged, p.now).code == errc::stop_tokens_disagree);
  CHECK(p.edge->state() == edge_state::failed);
}

TEST_CASE("ends: a greeting that is refused says nothing of the edge's stop tokens") {
  pair_options o;
  o.mode = session_mode::stream;
  o.timeout = 0;
  pair p(ended_by_cloud(o));
  const bytes hello = p.start();
  const auto theirs = decode_hello(hello);
  REQUIRE(theirs.ok());
  hello_message other = *theirs;
  const auto field = stop_tokens_field(prefix_hash(*p.options.cloud_stop_tokens));
  other.fields = field;
  errc expected{};
  SUBCASE("of more text than there may be") {
    other.context.base_length += 1000;
    expected = errc::base_length_mismatch;
  }
  SUBCASE("of a number that was heard") { expected = errc::duplicate; }
  bytes forged(200);
  const auto written = encode_hello(other, forged);
  REQUIRE(written.ok());
  forged.resize(written->size());
  int refused = 0;
  const auto forge = [&](int) {
    if (refused > 0 || p.cloud->state() != cloud_state::filling) return;
    ++refused;
    CHECK(p.cloud->receive(forged, p.now).code == expected);
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

TEST_CASE("ends: an edge that lists no stop tokens any more hears of the end, also with a number that came before") {
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

TEST_CASE("ends: hello carries a hash of the stop tokens, and takes no other length of it") {
  hello_message hello;
  hello.format = {.format = law_format::token_only, .vocab_size = 4, .max_draft_length = 1};
  bytes out(200);
  REQUIRE(encode_hello(hello, out).ok());
  CHECK_FALSE(stop_tokens_hash(*decode_hello(std::span(out).first(139))).has_value());
  const auto field = stop_tokens_field(0x0123456789abcdefu);
  hello.fields = field;
  const auto written = encode_hello(hello, out);
  REQUIRE(written.ok());
  CHECK(written->size() <= max_control_bytes(hello.format));
  CHECK(stop_tokens_hash(*decode_hello(*written)) == 0x0123456789abcdefu);
  const std::array<std::byte, 10> short_one{std::byte{2}, std::byte{7}};
  hello.fields = short_one;
  CHECK(encode_hello(hello, out).error() == status{errc::field_out_of_range, part::codec, 139});
  const std::array<std::byte, 15> behind_another{std::byte{1}, std::byte{1}, std::byte{0}, std::byte{9},
                                                 std::byte{2}, std::byte{8}, std::byte{0}, std::byte{5}};
  hello.fields = behind_another;
  CHECK(stop_tokens_hash(hello) == 5u);
}
