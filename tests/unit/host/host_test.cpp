// SPDX-License-Identifier: Apache-2.0
// Whole texts over a transport: generate and serve, links that are lost, peers that die, observers that end a run.
#include "unit/session/pair.hpp"

#include <specverify/host/host.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <session/engine_model.hpp>

#include <deque>
#include <thread>

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::array<token_id, 3> prompt{4, 5, 6};
constexpr status broken{errc::journal_corrupt, part::host, 9};
constexpr status lost{errc::link_lost, part::host, 4};

//! A link whose far end answers at once, in the same thread: the cloud of a pair. It can be cut.
class direct_link {
 public:
  static constexpr bool ordered_and_whole = true;

  explicit direct_link(pair& p) : p_(&p), large_{p.cloud_engine} {}
  status send(std::span<const std::byte> message) {
    if (sends_left == 0) return lost;
    --sends_left;
    ++sent;
    if (peer_is_dead) return {};
    (void)deliver(*p_->cloud, message, 1);
    return drive(exec::seq, *p_->cloud, large_, [this](const session_output& out) {
      if (out.action == session_action::send) answers_.emplace_back(out.bytes.begin(), out.bytes.end());
    });
  }
  result<std::span<const std::byte>> receive(std::optional<session_time> until) {
    if (receives_left == 0) return lost;
    --receives_left;
    if (answers_.empty()) {
      if (!until.has_value()) return lost;
      time = std::max(time, *until);
      return std::span<const std::byte>{};
    }
    heard_ = answers_.front();
    answers_.erase(answers_.begin());
    return std::span<const std::byte>(heard_);
  }
  session_time now() const { return time; }

  int sends_left = 1000, receives_left = 1000, sent = 0;
  bool peer_is_dead = false;
  session_time time = 1;

 protected:
  void forget_answers() { answers_.clear(); }

 private:
  pair* p_;
  engine_model large_;
  std::vector<bytes> answers_;
  bytes heard_;
};

//! Stands again after so many looks.
struct mending_link : direct_link {
  using direct_link::direct_link;
  int looks_until_it_stands = 0, reconnects = 0;
  status reconnect(std::optional<session_time> until) {
    if (looks_until_it_stands-- > 0) {
      if (!until.has_value()) return lost;
      time = std::max(time, *until);
      return {errc::peer_timeout, part::host, 0};
    }
    ++reconnects;
    forget_answers();  // they were on the old connection
    sends_left = receives_left = 1000;
    return {};
  }
};

pair make_pair(link_loss what, session_time timeout = 100, std::uint32_t retry_limit = 64) {
  pair_options o;
  o.timeout = timeout;
  o.retry_limit = retry_limit;
  pair p(o);
  edge_options device = p.edge_options();
  device.on_link_loss = what;
  device.max_ahead = 4;
  p.edge.emplace(std::move(make_edge(device, top_k{8}, p.window())).value());
  return p;
}

std::vector<token_id> text_of(const pair_options& o = {}) {
  pair p(o);
  p.finish(p.start());
  return p.text();
}
std::vector<token_id> behind_prompt(const std::vector<token_id>& text) { return {text.begin() + 3, text.end()}; }

std::vector<token_id> copy_of(const result<std::span<const token_id>>& text) {
  return text.ok() ? std::vector<token_id>(text.value().begin(), text.value().end()) : std::vector<token_id>{};
}

}  // namespace

TEST_CASE("host: a text that the cloud has not verified ends generate by name, and is the prompt of a new session") {
  pair_options o;
  o.format = law_format::token_only;
  o.required = guarantee::unconditional;
  pair p(o);
  direct_link link(p);
  engine_model small{p.edge_engine};
  link.sends_left = 5;
  CHECK_FALSE(generate(exec::seq, *p.edge, prompt, small, link).ok());
  const std::vector<token_id> told = p.text();
  REQUIRE(told.size() > 3);
  REQUIRE(told.size() < 23);
  p.new_cloud();  // has lost it
  link.sends_left = 1000;
  REQUIRE(p.edge->reconnect(link.now()).ok());
  const auto ended = generate(exec::seq, *p.edge, small, link);
  REQUIRE_FALSE(ended.ok());
  const errc ended_by = ended.error().code;
  CHECK(ended_by == errc::unverified_text);
  edge_options anew = p.edge_options();
  anew.session_id = 8;
  anew.token_budget = 23 - static_cast<std::uint32_t>(told.size());
  auto edge = std::move(make_edge(anew, p.kept(), p.window())).value();
  p.edge_engine.clear();
  const auto rest = generate(exec::seq, edge, p.edge->text(), small, link);
  REQUIRE(rest.ok());
  CHECK(rest->size() == 23 - told.size());
  const bool text_goes_on = std::equal(told.begin(), told.end(), edge.text().begin());
  CHECK(text_goes_on);
}

TEST_CASE("host: generate and serve over a pipe between two threads give the text, and both end") {
  for (const session_mode mode : {session_mode::draft, session_mode::stream}) {
    pair_options o;
    o.mode = mode;
    o.timeout = mode == session_mode::stream ? 0 : 100;
    pair p(o);
    message_pipe pipe;
    status served = broken;
    int verdicts = 0;
    std::thread cloud([&] {
      auto link = pipe.cloud();
      engine_model large{p.cloud_engine};
      served = serve(exec::seq, *p.cloud, large, link, on_committed([&](const session_output&) { ++verdicts; }));
    });
    std::vector<token_id> heard, text;
    {
      auto link = pipe.edge();
      engine_model small{p.edge_engine};
      text = copy_of(generate(exec::seq, *p.edge, prompt, small, link, on_committed([&](const session_output& out) {
                                heard.insert(heard.end(), out.tokens.begin(), out.tokens.end());
                              })));
    }
    cloud.join();
    CHECK(served.ok());
    CHECK(p.cloud->state() == cloud_state::finished);
    CHECK(text.size() == 20);
    CHECK(heard == text);
    CHECK(text == behind_prompt(p.text()));
    if (mode == session_mode::draft) CHECK(p.text() == text_of());
    CHECK(verdicts == static_cast<int>(p.cloud->statistics().rounds) + 1);  // and the prompt
  }
}

TEST_CASE("host: policies first or none, a prompt or a session that stands already") {
  const std::vector<token_id> whole = behind_prompt(text_of());
  pair p, q, r, s;
  engine_model small{p.edge_engine}, other{q.edge_engine}, third{r.edge_engine}, fourth{s.edge_engine};
  direct_link to_p(p), to_q(q), to_r(r), to_s(s);
  CHECK(copy_of(generate(exec::seq, *p.edge, prompt, small, to_p)) == whole);
  CHECK(copy_of(generate(*q.edge, prompt, other, to_q)) == whole);
  REQUIRE(r.edge->start(prompt, 1).ok());
  CHECK(copy_of(generate(exec::seq, *r.edge, third, to_r)) == whole);
  REQUIRE(s.edge->start(prompt, 1).ok());
  CHECK(copy_of(generate(*s.edge, fourth, to_s)) == whole);
}

TEST_CASE("host: a prompt that the session refuses is the answer of generate") {
  pair p;
  engine_model small{p.edge_engine};
  direct_link link(p);
  const std::array<token_id, 2> outside{1, 30};
  CHECK(generate(*p.edge, outside, small, link).error().code == errc::token_out_of_range);
  CHECK(link.sent == 0);
}

TEST_CASE("host: an observer that fails ends the run with its status") {
  pair p;
  engine_model small{p.edge_engine};
  direct_link link(p);
  const auto full = [](const session_output& out) {
    return out.action == session_action::committed ? broken : status{};
  };
  CHECK(generate(*p.edge, prompt, small, link, full).error() == broken);
  CHECK(p.edge->statistics().rounds == 1);
  pair q;
  engine_model drafts{q.edge_engine};
  direct_link other(q);
  const auto refuses = [](const session_output& out) { return out.action == session_action::send ? broken : status{}; };
  CHECK(generate(*q.edge, prompt, drafts, other, refuses).error() == broken);
  CHECK(other.sent == 0);  // the observer hears of a message before the link has it
}

TEST_CASE("host: a lost link that can be set up again is; the text is the same") {
  for (const bool on_send : {true, false}) {
    pair p = make_pair(link_loss::wait);
    engine_model small{p.edge_engine};
    mending_link link(p);
    (on_send ? link.sends_left : link.receives_left) = 4;
    CHECK(copy_of(generate(*p.edge, prompt, small, link)) == behind_prompt(text_of()));
    CHECK(link.reconnects == 1);
  }
}

TEST_CASE("host: while the link is lost, deadlines pass and tokens are written ahead") {
  pair p = make_pair(link_loss::continue_local, 0);
  engine_model small{p.edge_engine};
  mending_link link(p);
  link.receives_left = 4;
  link.looks_until_it_stands = 3;
  int ahead = 0, retracted = 0;
  const auto text = copy_of(generate(*p.edge, prompt, small, link, [&](const session_output& out) {
    ahead += link.reconnects == 0 && link.receives_left == 0 && out.action == session_action::tentative ? 1 : 0;
    retracted += out.action == session_action::retracted ? 1 : 0;
  }));
  CHECK(text.size() == 20);
  CHECK(p.edge->statistics().written_ahead == 3);
  CHECK(ahead >= 3);
  CHECK(retracted > 0);
}

TEST_CASE("host: a lost link without a way back is the answer; the session stands and goes on over a new one") {
  pair p = make_pair(link_loss::wait);
  engine_model small{p.edge_engine};
  direct_link link(p);
  link.receives_left = 5;
  CHECK(generate(*p.edge, prompt, small, link).error() == lost);
  CHECK(p.edge->state() == edge_state::offline);
  direct_link fresh(p);
  CHECK(p.edge->reconnect(2).ok());
  CHECK(copy_of(generate(*p.edge, small, fresh)) == behind_prompt(text_of()));
}

TEST_CASE("host: a session that is to stop with its link says so") {
  pair p = make_pair(link_loss::stop);
  engine_model small{p.edge_engine};
  mending_link link(p);
  link.receives_left = 4;
  const auto ended = generate(*p.edge, prompt, small, link);
  CHECK(ended.error().code == errc::link_lost);
  CHECK(ended.error().reporter == part::session);
  CHECK(link.reconnects == 0);
  CHECK(p.edge->state() == edge_state::failed);
}

TEST_CASE("host: a peer that never answers is a timeout, and a link that never stands again is lost") {
  pair p = make_pair(link_loss::wait, 100, 5);
  engine_model small{p.edge_engine};
  direct_link link(p);
  link.peer_is_dead = true;
  CHECK(generate(*p.edge, prompt, small, link).error().code == errc::peer_timeout);
  CHECK(link.sent == 6);  // five hellos, and why it ends
  pair q = make_pair(link_loss::wait, 100, 5);
  engine_model drafts{q.edge_engine};
  mending_link gone(q);
  gone.receives_left = 3;
  gone.looks_until_it_stands = 1000;
  CHECK(generate(*q.edge, prompt, drafts, gone).error() == lost);
}

namespace {
//! What `serve` says once a device whose `observer` breaks off has closed its link.
template <class Observer>
status served_to(pair& p, Observer observer) {
  message_pipe pipe;
  status served{};
  std::thread cloud([&] {
    auto link = pipe.cloud();
    engine_model large{p.cloud_engine};
    served = serve(*p.cloud, large, link);
  });
  {
    auto link = pipe.edge();
    engine_model small{p.edge_engine};
    CHECK(generate(*p.edge, prompt, small, link, observer).error() == broken);
  }
  cloud.join();
  return served;
}
}  // namespace

TEST_CASE("host: serve ends with its link: an error before the text is whole, none after") {
  for (const bool whole : {false, true}) {
    pair p;
    const status served = served_to(p, [&](const session_output& out) -> status {
      if (out.action != session_action::send) return {};
      // A device that dies: with the last tokens, before it says stop; or in the middle.
      return whole ? (p.edge->state() == edge_state::stopping ? broken : status{})
                   : (p.edge->length() > 3 ? broken : status{});
    });
    CHECK(served.code == (whole ? errc::ok : errc::link_lost));
  }
}

TEST_CASE(
    "host: an observer that wants no more text ends the session at the cloud, one without room for a record not") {
  for (const session_action refused : {session_action::committed, session_action::tentative, session_action::journal}) {
    const bool is_text = refused != session_action::journal;
    pair p;
    std::size_t heard = 0;
    const status served = served_to(p, [&](const session_output& out) -> status {
      if (out.action == session_action::journal) return !is_text && p.edge->length() > 3 ? broken : status{};
      if (out.action != refused || p.edge->length() == 3) return {};
      heard += 1;
      return broken;
    });
    CHECK(heard == (is_text ? 1u : 0u));
    CHECK(served.code == (is_text ? errc::ok : errc::link_lost));
    CHECK(p.edge->state() == (is_text ? edge_state::finished : edge_state::drafting));
    CHECK((p.cloud->state() == cloud_state::finished) == is_text);
  }
}

TEST_CASE("host: an observer that wants no more text is not kept by a link that is lost") {
  pair p;
  engine_model small{p.edge_engine};
  mending_link link(p);
  link.looks_until_it_stands = 1000;
  const auto ended = generate(*p.edge, prompt, small, link, [&](const session_output& out) -> status {
    if (out.action == session_action::committed) link.receives_left = 0;
    return out.action == session_action::committed ? broken : status{};
  });
  CHECK(ended.error() == broken);
  CHECK(link.reconnects == 0);
}

namespace {
//! The far end is the edge of a pair, in the same thread.
struct link_to_edge {
  static constexpr bool ordered_and_whole = true;
  pair* p;
  engine_model small;
  std::deque<bytes> questions{};
  bytes heard{};
  int receives_left = 5, reconnects = 0;
  void work() {
    (void)drive(exec::seq, *p->edge, small, [this](const session_output& out) {
      if (out.action == session_action::send) questions.emplace_back(out.bytes.begin(), out.bytes.end());
    });
  }
  status send(std::span<const std::byte> message) {
    (void)deliver(*p->edge, message, 1);
    work();
    return {};
  }
  result<std::span<const std::byte>> receive(std::optional<session_time>) {
    if (receives_left-- == 0) questions.clear();  // what was under way is gone
    if (questions.empty()) return lost;
    heard = questions.front();
    questions.pop_front();
    return std::span<const std::byte>(heard);
  }
  session_time now() const { return 1; }
  status reconnect(std::optional<session_time>) {
    ++reconnects;
    (void)p->edge->reconnect(1);
    work();
    return {};
  }
};
}  // namespace

TEST_CASE("host: a cloud whose link is set up again goes on") {
  pair p;
  link_to_edge link{&p, {p.edge_engine}};
  engine_model large{p.cloud_engine};
  REQUIRE(p.edge->start(prompt, 1).ok());
  link.work();
  CHECK(serve(*p.cloud, large, link).ok());
  CHECK(link.reconnects == 1);
  CHECK(p.text() == text_of());
}
