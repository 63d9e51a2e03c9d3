// SPDX-License-Identifier: Apache-2.0
// The loop below a host: take_outputs, supply, drive, deliver; what goes wrong has a name and reaches the peer.
#include "unit/session/pair.hpp"

#include <support/aborts.hpp>
#include <support/alloc_guard.hpp>

#include <specverify/host/drive.hpp>

#include <session/engine_model.hpp>

#include <deque>
#include <tuple>

using namespace specverify;
using namespace specverify_test;

namespace {

constexpr std::array<token_id, 3> prompt{4, 5, 6};
constexpr status broken{errc::hidden_state_missing, part::host, 9};

//! A model that cannot go on once it was asked `left` times.
struct failing_model : engine_model {
  int feeds_left = 1000, cuts_left = 1000;
  status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    return feeds_left-- > 0 ? engine_model::feed(position, tokens, rows) : broken;
  }
  status truncate(std::uint32_t position) { return cuts_left-- > 0 ? engine_model::truncate(position) : broken; }
};

//! A model with a row, or what belongs to one, that cannot be had: it gives another one, and says so.
struct rowless_model : engine_model {
  int rows_left = 1000, transforms_left = 1000;
  [[nodiscard]] status failed() const { return rows_left < 0 || transforms_left < 0 ? broken : status{}; }
  row_view<float> row(std::uint32_t i) {
    --rows_left;
    return engine_model::row(i);
  }
  row_transform transform(std::uint32_t, const row_transform& base) {
    --transforms_left;
    return base;
  }
};

//! A drafter with hidden states, a target that scores: as pair does both.
struct semantic_model : engine_model {
  std::uint32_t hidden_size = 0;
  bool scoring_works = true;
  std::array<float, 6> vector{};
  std::span<const float> hidden(std::uint32_t) {
    vector = hidden_of<6>(engine.knows());
    return std::span<const float>(vector).first(hidden_size);
  }
  status scores(const session_output& asked, std::span<double> out) {
    if (!scoring_works) return broken;
    const std::size_t each = asked.bytes.size() / asked.rows;
    for (std::uint32_t i = 0, j = 0; j < asked.rows; ++i) {
      if ((asked.positions[i / 64] >> (i % 64) & 1u) == 0) continue;
      out[j] = score_of(asked.bytes.subspan(each * j, each), engine.knows(asked.position + i - 1));
      ++j;
    }
    return {};
  }
};

//! A target that samples by itself: the largest logit, or the token that a race over shared noise picks.
struct sampling_model {
  pair& of;
  std::optional<token_id> always{};  // instead of a sample
  bool fails = false;
  std::uint32_t asked = 0;

  [[nodiscard]] status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    sampled = {.position = position, .rows = rows, .tokens = tokens};
    if (!of.cloud_engine.feed(position, tokens, rows)) return wrong_position;
    picks = of.samples(sampled);
    return {};
  }
  [[nodiscard]] token_id token(std::uint32_t i) {
    ++asked;
    return always.value_or(picks[i]);
  }
  [[nodiscard]] status truncate(std::uint32_t position) {
    return of.cloud_engine.cut(position) ? status{} : wrong_position;
  }
  [[nodiscard]] status failed() const { return fails ? broken : status{}; }
  session_output sampled{};
  std::vector<token_id> picks{};
};
struct sampling_model_with_rows : sampling_model {
  [[nodiscard]] row_view<float> row(std::uint32_t i) const { return of.cloud_engine.rows()[i]; }
};

struct queue_of_messages {
  std::deque<bytes> sent;
  status operator()(const session_output& out) {
    if (out.action == session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
    return {};
  }
  bytes take() {
    const bytes first = sent.front();
    sent.pop_front();
    return first;
  }
};

//! Both sides by `drive`, messages from hand to hand.
template <class Pair, class EdgeModel, class CloudModel>
std::pair<status, status> drive_to_the_end(Pair& p, EdgeModel& small, CloudModel& large) {
  queue_of_messages up, down;
  std::pair<status, status> ended{};  // the first that is not ok
  const auto note = [](status& first, status now) {
    if (first.ok()) first = now;
  };
  (void)p.edge->start(prompt, 1);
  note(ended.first, drive(exec::seq, *p.edge, small, up));
  while (!up.sent.empty() || !down.sent.empty()) {
    if (!up.sent.empty()) {
      CHECK(deliver(*p.cloud, up.take(), 1).ok());
      note(ended.second, drive(exec::seq, *p.cloud, large, down));
    } else {
      CHECK(deliver(*p.edge, down.take(), 1).ok());
      note(ended.first, drive(exec::seq, *p.edge, small, up));
    }
  }
  return ended;
}

std::vector<token_id> text_of(const pair_options& o) {
  pair p(o);
  p.finish(p.start());
  return p.text();
}

}  // namespace

TEST_CASE("host: drive writes the text that a hand-written loop writes, in every mode") {
  for (const session_mode mode : {session_mode::draft, session_mode::stream}) {
    for (const bool bonus : {true, false}) {
      pair_options o;
      o.mode = mode;
      o.bonus = bonus;
      pair p(o);
      engine_model small{p.edge_engine}, large{p.cloud_engine};
      const auto [edge, cloud] = drive_to_the_end(p, small, large);
      CHECK(edge.ok());
      CHECK(cloud.ok());
      CHECK(p.edge->state() == edge_state::finished);
      CHECK(p.cloud->state() == cloud_state::finished);
      pair by_hand(o);
      bytes question = by_hand.start();
      while (by_hand.edge->state() != edge_state::finished) {
        (void)by_hand.cloud->receive(question, 1);
        for (const bytes& answer : by_hand.run_cloud()) question = by_hand.hear(answer);
      }
      CHECK(p.text() == by_hand.text());
      CHECK(p.edge->statistics() == by_hand.edge->statistics());
    }
  }
}

TEST_CASE("host: a target that samples by itself writes the text of its rows") {
  static_assert(token_model<sampling_model> && row_model<sampling_model_with_rows>);
  for (const noise_kind noise : {noise_kind::none, noise_kind::philox}) {
    pair_options o;
    o.format = law_format::token_only;
    o.rule = wire_rule::greedy;
    o.noise = noise;
    pair p(o);
    engine_model small{p.edge_engine};
    sampling_model large{p};
    const auto [edge, cloud] = drive_to_the_end(p, small, large);
    CHECK(edge.ok());
    CHECK(cloud.ok());
    CHECK(p.text() == text_of(o));
    CHECK(large.asked > 20);
    pair both(o);
    engine_model drafter{both.edge_engine};
    sampling_model_with_rows with_rows{{both}};
    CHECK(drive_to_the_end(both, drafter, with_rows).second.ok());
    CHECK(both.text() == p.text());
    CHECK(with_rows.asked == 0);
  }
}

TEST_CASE("host: tokens that the session cannot use, or a model cannot give, end both sides by name") {
  pair_options greedy;
  greedy.format = law_format::token_only;
  greedy.rule = wire_rule::greedy;
  for (int which = 0; which < 3; ++which) {
    pair p(which == 0 ? pair_options{} : greedy);
    engine_model small{p.edge_engine};
    sampling_model large{p};
    if (which == 1) large.always = token_id{pair::vocab_size};
    large.fails = which == 2;
    const auto [edge, cloud] = drive_to_the_end(p, small, large);
    const status why = which == 0   ? status{errc::rows_required, part::session, 0}
                       : which == 1 ? status{errc::token_out_of_range, part::session, 0}
                                    : broken;
    CHECK(cloud == why);
    CHECK(edge.code == errc::refused_by_peer);
    CHECK(p.edge->refusal() == why);
    CHECK(p.cloud->state() == cloud_state::failed);
  }
}

TEST_CASE("host: drive scores mismatches and hands hidden states over") {
  for (const bool with_draft : {true, false}) {
    pair_options o;
    o.format = law_format::token_only;
    o.rule = wire_rule::semantic;
    o.attachments = {6, hidden_format::float16, with_draft, false, 0};
    pair p(o);
    semantic_model small{{p.edge_engine}, 6}, large{{p.cloud_engine}};
    const auto [edge, cloud] = drive_to_the_end(p, small, large);
    CHECK(edge.ok());
    CHECK(cloud.ok());
    CHECK(p.text() == text_of(o));
    CHECK(p.cloud->statistics().mismatches > 0);
  }
}

TEST_CASE("host: take_outputs says what the session waits for") {
  pair p;
  std::string story;
  const auto tell = [&](const session_output& out) { story += std::string(name(out.action)) + " "; };
  REQUIRE(p.edge->start(prompt, 1).ok());
  session_work work = take_outputs(*p.edge, tell);
  CHECK(work.wait == session_wait::peer);
  CHECK(story == "journal send ");
  CHECK(take_outputs(*p.edge, tell).wait == session_wait::peer);  // nothing new
  CHECK_FALSE(p.edge->wants_rows());

  pair q;
  bytes draft = q.exchange(q.start());
  CHECK(q.cloud->receive(draft, 1).ok());
  story.clear();
  work = take_outputs(*q.cloud, tell);
  CHECK(work.wait == session_wait::rows);
  CHECK(work.asked.action == session_action::evaluate);
  CHECK(work.asked.rows == 4);
  CHECK(story.empty());
  CHECK(q.cloud->wants_rows());
  CHECK(q.cloud->engine_failed(broken).ok() == false);
  work = take_outputs(*q.cloud, tell);
  CHECK(work.wait == session_wait::over);
  CHECK(work.reason == broken);
  CHECK(story == "send failed ");
}

TEST_CASE("host: a row that a model cannot give ends both sides, whatever was given in its place") {
  for (int which = 0; which < 4; ++which) {
    CAPTURE(which);
    pair p;
    rowless_model small{{p.edge_engine}}, large{{p.cloud_engine}};
    rowless_model& fails = which < 2 ? small : large;
    (which % 2 == 0 ? fails.rows_left : fails.transforms_left) = 6;
    const auto [edge, cloud] = drive_to_the_end(p, small, large);
    const bool of_edge = which < 2;
    CHECK((of_edge ? edge : cloud) == broken);
    CHECK(p.edge->state() == edge_state::failed);
    if (of_edge) {  // it may have another life
      CHECK(cloud.ok());
      CHECK(p.cloud->refusal().code == broken.code);
      CHECK(p.cloud->state() == cloud_state::ready);
    } else {
      CHECK(edge.code == errc::refused_by_peer);
      CHECK(p.cloud->state() == cloud_state::failed);
    }
  }
}

TEST_CASE("host: a model that fails ends both sides, and the peer hears why") {
  pair p;
  failing_model small{{p.edge_engine}}, large{{p.cloud_engine}};
  large.feeds_left = 2;
  const auto [edge, cloud] = drive_to_the_end(p, small, large);
  CHECK(cloud == broken);
  CHECK(p.cloud->state() == cloud_state::failed);
  CHECK(edge.code == errc::refused_by_peer);
  CHECK(edge.where == static_cast<std::uint32_t>(broken.code));

  pair q;  // the drafter, where it is cut back
  failing_model breaks{{q.edge_engine}}, works{{q.cloud_engine}};
  breaks.cuts_left = 0;
  const auto ended = drive_to_the_end(q, breaks, works);
  CHECK(ended.first == broken);
  CHECK(q.edge->state() == edge_state::failed);

  pair r;  // the target, where it is cut back behind the verdict that it just gave: that is sent, then the refusal
  failing_model drafts{{r.edge_engine}}, cannot_cut{{r.cloud_engine}};
  cannot_cut.cuts_left = 0;
  const auto both = drive_to_the_end(r, drafts, cannot_cut);
  CHECK(both.second == broken);
  CHECK(both.first.code == errc::refused_by_peer);
}

TEST_CASE("host: a scorer that fails, or is missing, is a refusal with a name") {
  for (const bool has_scorer : {true, false}) {
    pair_options o;
    o.format = law_format::token_only;
    o.rule = wire_rule::semantic;
    o.attachments = {6, hidden_format::float16, true, false, 0};
    pair p(o);
    semantic_model small{{p.edge_engine}, 6}, scorer{{p.cloud_engine}, 6, false};
    engine_model without{p.cloud_engine};
    const auto [edge, cloud] = has_scorer ? drive_to_the_end(p, small, scorer) : drive_to_the_end(p, small, without);
    CHECK(cloud.code == (has_scorer ? broken.code : errc::unsupported));
    CHECK(edge.code == errc::refused_by_peer);
    CHECK(edge.where == static_cast<std::uint32_t>(cloud.code));
  }
}

TEST_CASE("host: a journal that cannot be written ends the run before the message that depends on it") {
  pair p;
  engine_model small{p.edge_engine};
  std::string story;
  REQUIRE(p.edge->start(prompt, 1).ok());
  const status full{errc::output_too_small, part::host, 5};
  const status ended = drive(*p.edge, small, [&](const session_output& out) -> status {
    story += name(out.action);
    return out.action == session_action::journal ? full : status{};
  });
  CHECK(ended == full);
  CHECK(story == "journal");
  CHECK(p.edge->has_outputs());  // the hello waits: nothing else goes in
  CHECK(p.edge->tick(1000000).code == errc::busy);
}

TEST_CASE("host: on_committed hears of committed tokens alone") {
  pair p;
  engine_model small{p.edge_engine}, large{p.cloud_engine};
  int heard = 0;
  auto observer = on_committed([&](const session_output& out) {
    CHECK(out.action == session_action::committed);
    ++heard;
  });
  queue_of_messages up, down;
  const auto both = [&](const session_output& out) {
    (void)up(out);
    return observer(out);
  };
  REQUIRE(p.edge->start(prompt, 1).ok());
  (void)drive(*p.edge, small, both);
  while (!up.sent.empty()) {
    (void)deliver(*p.cloud, up.take(), 1);
    (void)drive(*p.cloud, large, down);
    while (!down.sent.empty()) (void)deliver(*p.edge, down.take(), 1), (void)drive(*p.edge, small, both);
  }
  CHECK(heard == static_cast<int>(p.edge->statistics().rounds));
  auto refuses = on_committed([](const session_output&) { return broken; });
  session_output out;
  CHECK(refuses(out).ok());
  out.action = session_action::committed;
  CHECK(refuses(out) == broken);
}

TEST_CASE("host: on_committed is called const where its callable can be, and keeps the state of one that changes") {
  int heard = 0;
  const auto counts = on_committed([&heard](const session_output&) { ++heard; });
  session_output out;
  out.action = session_action::committed;
  CHECK(counts(out).ok());
  CHECK(heard == 1);
  auto third_fails =
      on_committed([calls = 0](const session_output&) mutable { return ++calls < 3 ? status{} : broken; });
  CHECK(third_fails(out).ok());
  CHECK(third_fails(out).ok());
  CHECK(third_fails(out) == broken);
  using changing = decltype(third_fails);
  static_assert(std::invocable<decltype(counts), const session_output&>);
  static_assert(std::invocable<changing&, const session_output&> &&
                !std::invocable<const changing&, const session_output&>);
}

TEST_CASE("host: a message that is handed over inside on_output is refused by name, never lost in silence") {
  pair_options o;
  o.mode = session_mode::stream;  // work for the engine always waits behind the message that is sent
  [[maybe_unused]] const auto run = [&] {
    pair p(o);
    engine_model large{p.cloud_engine};
    const bytes text = p.exchange(p.start());
    CHECK(deliver(*p.cloud, text, 1).ok());
    int refused = 0;
    (void)drive(*p.cloud, large, [&](const session_output& out) {
      if (out.action == session_action::send && deliver(*p.cloud, text, 1).code == errc::busy) ++refused;
    });
    return refused;
  };
#ifdef NDEBUG
  CHECK(run() == 20);
#elif defined(__unix__)
  CHECK(specverify_test::aborts(run));
#endif
}

TEST_CASE("host: deliver says busy while the engine works on a row that is written ahead, and the message can wait") {
  pair_options o;
  pair p(o);
  edge_options device = p.edge_options();
  device.on_link_loss = link_loss::continue_local;
  device.max_ahead = 1;
  p.edge.emplace(std::move(make_edge(device, top_k{8}, p.window())).value());
  const bytes draft = p.exchange(p.start());
  engine_model small{p.edge_engine};
  queue_of_messages up;
  CHECK(p.cloud->receive(draft, 1).ok());
  const bytes verdict = pair::only(p.run_cloud());
  CHECK(p.edge->disconnect(1).ok());
  CHECK(p.edge->tick(1).ok());
  const session_work work = take_outputs(*p.edge, up);
  REQUIRE(work.wait == session_wait::rows);
  CHECK(p.edge_engine.feed(work.asked.position, work.asked.tokens, work.asked.rows));
  CHECK(deliver(*p.edge, verdict, 1).code == errc::busy);
  CHECK(supply(*p.edge, small, 1).ok());
  CHECK(take_outputs(*p.edge, up).wait == session_wait::peer);
  CHECK(deliver(*p.edge, verdict, 1).ok());  // of a connection that is lost
  CHECK(p.edge->statistics().rounds == 0);
  (void)p.exchange(p.reconnect());
  CHECK(p.edge->statistics().rounds == 1);
}

TEST_CASE("host: engines that work elsewhere; messages come in between") {
  pair p;
  const std::vector<token_id> whole = text_of({});
  engine_model small{p.edge_engine}, large{p.cloud_engine};
  queue_of_messages up, down;
  REQUIRE(p.edge->start(prompt, 1).ok());
  (void)drive(*p.edge, small, up);
  // The cloud's engine has a queue of its own: truncations and feeds arrive there in order, rows come back later.
  std::deque<std::tuple<std::uint32_t, std::vector<token_id>, std::uint32_t>> engine_queue;
  const auto post = [&](const session_output& out) {
    (void)down(out);
    if (out.action == session_action::rollback) engine_queue.push_back({out.position, {}, 0});
  };
  bool waiting = false;
  const auto take = [&] {
    const session_work work = take_outputs(*p.cloud, post);
    if (work.wait != session_wait::rows) return;
    waiting = true;
    engine_queue.push_back(
        {work.asked.position, {work.asked.tokens.begin(), work.asked.tokens.end()}, work.asked.rows});
  };
  int between = 0;
  while (p.edge->state() != edge_state::finished) {
    if (!up.sent.empty()) {
      const bool worked = waiting;
      CHECK(deliver(*p.cloud, up.take(), 1).ok());
      take();
      if (waiting && !worked) {  // another connection, while the engine works
        ++between;
        CHECK(p.edge->reconnect(1).ok());
        (void)drive(*p.edge, small, up);
      }
    } else if (waiting) {
      for (; !engine_queue.empty(); engine_queue.pop_front()) {
        const auto& [position, tokens, rows] = engine_queue.front();
        if (tokens.empty()) {
          CHECK(large.truncate(position).ok());
        } else {
          CHECK(large.feed(position, tokens, rows).ok());
        }
      }
      waiting = false;
      REQUIRE(p.cloud->wants_rows());
      CHECK(supply(exec::seq, *p.cloud, large, 1).ok());
      CHECK_FALSE(p.cloud->wants_rows());
      take();
    } else {
      CHECK(deliver(*p.edge, down.take(), 1).ok());
      (void)drive(*p.edge, small, up);
    }
  }
  CHECK(p.text() == whole);
  CHECK(between > 3);
  CHECK(p.cloud->statistics().handshakes == static_cast<std::uint64_t>(between) + 1);
}

TEST_CASE("host: eight sessions whose rows are computed together") {
  constexpr std::size_t sessions = 8;
  std::deque<pair> pairs(sessions);
  std::array<queue_of_messages, sessions> up, down;
  for (std::size_t i = 0; i < sessions; ++i) {
    pair& p = pairs[i];
    p.options.budget = 20 + static_cast<std::uint32_t>(i);  // so that they part
    p.new_edge();
    engine_model small{p.edge_engine};
    REQUIRE(p.edge->start(prompt, 1).ok());
    (void)drive(*p.edge, small, up[i]);
  }
  std::size_t largest_batch = 0;
  for (bool busy = true; busy;) {
    busy = false;
    std::vector<std::size_t> batch;  // sessions whose rows are wanted
    for (std::size_t i = 0; i < sessions; ++i) {
      pair& p = pairs[i];
      engine_model large{p.cloud_engine};
      while (!up[i].sent.empty()) {
        busy = true;
        CHECK(deliver(*p.cloud, up[i].take(), 1).ok());
        const session_work work = take_outputs(*p.cloud, [&](const session_output& out) {
          (void)down[i](out);
          if (out.action == session_action::rollback) CHECK(large.truncate(out.position).ok());
        });
        if (work.wait != session_wait::rows) continue;
        CHECK(large.feed(work.asked.position, work.asked.tokens, work.asked.rows).ok());
        batch.push_back(i);
      }
    }
    largest_batch = std::max(largest_batch, batch.size());
    for (const std::size_t i : batch) {
      engine_model large{pairs[i].cloud_engine};
      CHECK(supply(*pairs[i].cloud, large, 1).ok());
      (void)drive(*pairs[i].cloud, large, down[i]);
    }
    for (std::size_t i = 0; i < sessions; ++i) {
      engine_model small{pairs[i].edge_engine};
      while (!down[i].sent.empty()) {
        busy = true;
        CHECK(deliver(*pairs[i].edge, down[i].take(), 1).ok());
        (void)drive(*pairs[i].edge, small, up[i]);
      }
    }
  }
  CHECK(largest_batch == sessions);
  for (std::size_t i = 0; i < sessions; ++i) {
    pair_options o;
    o.budget = 20 + static_cast<std::uint32_t>(i);
    CHECK(pairs[i].text() == text_of(o));
  }
}

TEST_CASE("host: the model's own transform reaches both sides' rows") {
  struct masked : engine_model {
    std::array<std::uint64_t, 1> allowed{0x3FFFFFF0};  // ids 4 to 29
    row_transform transform(std::uint32_t, const row_transform& base) const {
      row_transform made = base;
      made.mask_words = allowed;
      return made;
    }
  };
  pair p;
  masked small{{p.edge_engine}}, large{{p.cloud_engine}};
  const auto [edge, cloud] = drive_to_the_end(p, small, large);
  CHECK(edge.ok());
  CHECK(cloud.ok());
  CHECK(p.text().size() == 23);
  for (const token_id token : p.text()) CHECK(token >= 4);
  CHECK(p.text() != text_of({}));
}

TEST_CASE("host: keep_from names the committed length less one, and nothing is cut below it") {
  struct keeping : engine_model {
    std::uint32_t kept = 0;
    int asked = 0;
    void keep_from(std::uint32_t position) {
      CHECK(position >= kept);
      kept = position;
      ++asked;
    }
    status truncate(std::uint32_t position) {
      CHECK(position >= kept);
      return engine_model::truncate(position);
    }
  };
  pair p;
  keeping small{{p.edge_engine}}, large{{p.cloud_engine}};
  const auto [edge, cloud] = drive_to_the_end(p, small, large);
  CHECK(edge.ok());
  CHECK(cloud.ok());
  CHECK(large.asked > 3);
  CHECK(large.kept > 10);
  CHECK(small.asked > large.asked);
}

TEST_CASE("PRF-7 host: drive allocates nothing") {
  pair p;
  p.edge_engine.reserve(64, 8);
  p.cloud_engine.reserve(64, 8);
  engine_model small{p.edge_engine}, large{p.cloud_engine};
  struct messages {  // the last ones that were sent
    std::array<std::array<std::byte, 4096>, 2> bytes{};
    std::array<std::size_t, 2> sizes{};
    std::size_t count = 0;
    void operator()(const session_output& out) {
      if (out.action != session_action::send) return;
      std::copy(out.bytes.begin(), out.bytes.end(), bytes.at(count).begin());
      sizes.at(count++) = out.bytes.size();
    }
  } up, down;
  const auto hand_over = [](messages& from, auto& session, auto& model, messages& answers) {
    for (std::size_t i = 0; i < from.count; ++i) {
      (void)deliver(session, std::span(from.bytes.at(i)).first(from.sizes.at(i)), 1);
      (void)drive(session, model, answers);
    }
    from.count = 0;
  };
  const alloc_guard guard;
  (void)p.edge->start(prompt, 1);
  (void)drive(*p.edge, small, up);
  while (p.edge->state() != edge_state::finished) {
    hand_over(up, *p.cloud, large, down);
    hand_over(down, *p.edge, small, up);
  }
  CHECK(guard.count() == 0);
  CHECK(p.edge->statistics().emitted == 20);
}
