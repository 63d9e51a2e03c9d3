// SPDX-License-Identifier: Apache-2.0
// Models whose cache cannot be cut: with checkpoints, or fed again from the start; the text is the same.
#include "unit/session/pair.hpp"

#include <support/alloc_guard.hpp>

#include <specverify/host/drive.hpp>
#include <specverify/host/rewinding.hpp>

#include <session/engine_model.hpp>

#include <deque>

using namespace specverify;
using namespace specverify_test;

namespace {

//! Begins anew at position 0 and cannot go back any other way.
struct forward_only {
  hash_engine& engine;
  std::uint64_t fed = 0, starts = 0;
  status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    if (position == 0) engine.clear(), ++starts;
    fed += tokens.size();
    return engine.feed(position, tokens, rows) ? status{} : wrong_position;
  }
  row_view<float> row(std::uint32_t i) { return engine.rows()[i]; }
};
//! Gives the largest logit in place of the row.
struct forward_only_sampler {
  forward_only rows;
  status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t count) {
    return rows.feed(position, tokens, count);
  }
  token_id token(std::uint32_t i) {
    const std::span<const float> row = rows.engine.logits().subspan(i * pair::vocab_size, pair::vocab_size);
    return static_cast<token_id>(std::max_element(row.begin(), row.end()) - row.begin());
  }
};
//! With a state that can be copied: how many positions stand.
struct with_checkpoints : forward_only {
  std::uint32_t stands = 0, saved = 0, loaded = 0;
  status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    stands = position + static_cast<std::uint32_t>(tokens.size());
    return forward_only::feed(position, tokens, rows);
  }
  std::uint32_t save() { return ++saved, stands; }
  status load(std::uint32_t position) { return ++loaded, engine.cut(position) ? status{} : wrong_position; }
};

template <class Model>
concept gives_hidden = requires(Model& m) {
  m.hidden(0);
};

template <class Model>
std::vector<token_id> text_by(pair& p, Model& small, Model& large) {
  auto device = rewinding<Model>::make(small, 128);
  auto server = rewinding<Model>::make(large, 128);
  std::deque<bytes> up, down;
  const auto into = [](std::deque<bytes>& queue) {
    return [&queue](const session_output& out) {
      if (out.action == session_action::send) queue.emplace_back(out.bytes.begin(), out.bytes.end());
    };
  };
  CHECK(p.edge->start(std::array<token_id, 3>{4, 5, 6}, 1).ok());
  CHECK(drive(exec::seq, *p.edge, *device, into(up)).ok());
  while (p.edge->state() != edge_state::finished && !up.empty()) {
    for (; !up.empty(); up.pop_front()) {
      CHECK(deliver(*p.cloud, up.front(), 1).ok());
      CHECK(drive(exec::seq, *p.cloud, *server, into(down)).ok());
    }
    for (; !down.empty(); down.pop_front()) {
      CHECK(deliver(*p.edge, down.front(), 1).ok());
      CHECK(drive(exec::seq, *p.edge, *device, into(up)).ok());
    }
  }
  return p.text();
}

}  // namespace

TEST_CASE("rewinding: a model that cannot be cut writes the same text, fed again or set back") {
  pair whole;
  whole.finish(whole.start());
  const std::uint64_t fed = whole.cloud->statistics().fed_tokens;
  REQUIRE(whole.cloud->statistics().rollbacks > 2);

  pair p;
  forward_only small{p.edge_engine}, large{p.cloud_engine};
  CHECK(text_by(p, small, large) == whole.text());
  CHECK(large.starts == p.cloud->statistics().rollbacks + 1);  // once a rejection, and the beginning
  CHECK(large.fed > 2 * fed);

  pair q;
  with_checkpoints edge{{q.edge_engine}}, cloud{{q.cloud_engine}};
  CHECK(text_by(q, edge, cloud) == whole.text());
  CHECK(cloud.loaded == q.cloud->statistics().rollbacks);
  CHECK(cloud.starts == 1);
  CHECK(edge.starts == 1);
  CHECK(cloud.fed > fed);
  CHECK(cloud.fed < large.fed);
  // A rejection feeds the accepted drafts and the token before them once more, nothing else.
  const session_statistics& s = q.cloud->statistics();
  CHECK(cloud.fed <= fed + s.accepted + s.rollbacks);
}

TEST_CASE("rewinding: what was fed stands again, position by position") {
  hash_engine engine{hash_model{}}, straight{hash_model{}};
  forward_only plain{engine};
  auto model = rewinding<forward_only>::make(plain, 8);
  REQUIRE(model.ok());
  const std::array<token_id, 5> ids{1, 2, 3, 4, 5};
  CHECK(model->feed(0, ids, 1).ok());
  model->truncate(9);  // more than stands: nothing happens
  model->truncate(3);
  CHECK(plain.starts == 1);  // only when it is fed again
  CHECK(model->feed(3, std::array<token_id, 2>{7, 8}, 2).ok());
  CHECK(straight.feed(0, std::array<token_id, 5>{1, 2, 3, 7, 8}, 2));
  CHECK(engine.knows() == straight.knows());
  CHECK(plain.starts == 2);
  CHECK(model->feed(2, std::array<token_id, 1>{9}, 1).ok());  // at an earlier position: the same as a cut before
  CHECK(straight.cut(2));
  CHECK(straight.feed(2, std::array<token_id, 1>{9}, 1));
  CHECK(engine.knows() == straight.knows());
}

TEST_CASE("rewinding: errors have names, and a model that failed is set back before it goes on") {
  struct moody : with_checkpoints {
    bool works = true;
    status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
      if (const status why = with_checkpoints::feed(position, tokens, rows); !why.ok()) return why;
      return works ? status{} : wrong_position;  // half was done
    }
  };
  hash_engine engine{hash_model{}};
  moody inner{{{engine}}};
  CHECK(rewinding<moody>::make(inner, 0).error().code == errc::invalid_argument);
  auto model = rewinding<moody>::make(inner, 4);
  const std::array<token_id, 3> ids{1, 2, 3};
  CHECK(model->feed(1, ids, 1).code == errc::base_length_mismatch);
  CHECK(model->feed(0, std::array<token_id, 5>{}, 1).where == 4);
  CHECK(model->feed(0, ids, 1).ok());
  CHECK(model->keep_from(2).ok());
  CHECK(model->feed(2, std::array<token_id, 1>{7}, 1).ok());
  CHECK(inner.saved == 1);
  inner.works = false;
  CHECK(model->feed(3, std::array<token_id, 1>{8}, 1) == wrong_position);
  inner.works = true;
  CHECK(model->feed(3, std::array<token_id, 1>{9}, 1).ok());
  CHECK(inner.loaded == 1);
  hash_engine straight{hash_model{}};
  CHECK(straight.feed(0, std::array<token_id, 4>{1, 2, 7, 9}, 1));
  CHECK(engine.knows() == straight.knows());
}

TEST_CASE("rewinding: hidden states, attention, transforms and scores pass through where the model has them") {
  struct full : forward_only {
    std::array<float, 2> numbers{1, 2};
    std::span<const float> hidden(std::uint32_t i) { return std::span<const float>(numbers).first(i); }
    std::span<const float> attention(std::uint32_t) { return numbers; }
    row_transform transform(std::uint32_t, const row_transform& base) {
      row_transform made = base;
      made.temperature = 2 * base.temperature;
      return made;
    }
    status scores(const session_output&, std::span<double> out) { return out[0] = 0.5, status{}; }
    status failed() const { return {errc::engine_failed, part::host, 5}; }
    void keep_from(std::uint32_t position) { kept = position; }
    std::uint32_t kept = 0;
  };
  hash_engine engine{hash_model{}};
  full inner{{engine}};
  auto model = rewinding<full>::make(inner, 4);
  CHECK(model->hidden(1).size() == 1);
  CHECK(model->attention(0)[1] == 2);
  CHECK(model->transform(0, row_transform{}).temperature == 2);
  CHECK(model->failed().where == 5);
  std::array<double, 1> out{};
  CHECK(model->scores({}, out).ok());
  CHECK(out[0] == 0.5);
  CHECK(model->keep_from(3).ok());
  CHECK(inner.kept == 3);
  CHECK(gives_hidden<rewinding<full>>);
  CHECK_FALSE(gives_hidden<rewinding<forward_only>>);
}

TEST_CASE("PRF-7 rewinding: memory is that of make") {
  hash_engine engine{hash_model{}};
  engine.reserve(64, 8);
  with_checkpoints inner{{engine}};
  auto model = rewinding<with_checkpoints>::make(inner, 64);
  const std::array<token_id, 4> ids{1, 2, 3, 4};
  const alloc_guard guard;
  for (std::uint32_t position = 0; position < 40; position += 2) {
    (void)model->keep_from(position);
    (void)model->feed(position, ids, 2);
    model->truncate(position + 2);
  }
  CHECK(guard.count() == 0);
  CHECK(inner.loaded > 10);
}

TEST_CASE("host: a target that samples by itself and cannot be cut") {
  pair_options o;
  o.format = law_format::token_only;
  o.rule = wire_rule::greedy;
  pair plain(o), p(o);
  plain.finish(plain.start());
  forward_only_sampler engine{{p.cloud_engine}};
  auto target = rewinding<forward_only_sampler>::make(engine, 200).value();
  static_assert(token_model<rewinding<forward_only_sampler>> && row_model<rewinding<forward_only>>);
  std::vector<bytes> answers;
  for (bytes question = p.start(); p.edge->state() != edge_state::finished && !question.empty();) {
    CHECK(deliver(*p.cloud, question, 1).ok());
    CHECK(drive(exec::seq, *p.cloud, target, [&](const session_output& out) {
            if (out.action == session_action::send) answers.emplace_back(out.bytes.begin(), out.bytes.end());
          }).ok());
    for (const bytes& answer : std::exchange(answers, {})) question = p.hear(answer);
  }
  CHECK(p.text() == plain.text());
}
