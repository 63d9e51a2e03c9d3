// SPDX-License-Identifier: Apache-2.0
// adapters/llama_cpp on a toy engine with llama.cpp's interface (shim/llama.h): whole sessions, cuts, and failures.
#include <doctest/doctest.h>

#include <specverify/host/drive.hpp>
#include <specverify/host/rewinding.hpp>
#include <specverify/host/stop_strings.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>

#include <llama_cpp/model.hpp>

#include <optional>
#include <utility>

using namespace specverify;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::uint32_t vocabulary = 64;
constexpr session_secret secret_of_edge = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
constexpr session_secret secret_of_cloud = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9");

::llama_model toy(float noise) {
  ::llama_model made{{}, noise};
  for (std::uint32_t v = 0; v < vocabulary; ++v) made.vocab.pieces.push_back(" piece" + std::to_string(v));
  return made;
}

//! Each byte of a text is a token; 9 is a control token.
::llama_model toy_with_end() {
  ::llama_model made = toy(0);
  made.vocab.tokens_a_byte = 1;
  made.vocab.end = 9;
  made.vocab.pieces[9] = "<end>";
  return made;
}

//! Tokens that the target writes alone: one llama_decode a token, the largest logit.
std::vector<token_id> alone(const ::llama_model& weights, std::vector<token_id> text, std::uint32_t tokens) {
  llama_context context{&weights};
  auto engine = llama_cpp::model::make(&context);
  std::vector<token_id> written;
  std::uint32_t position = 0;
  while (written.size() < tokens) {
    REQUIRE(engine->feed(position, text, 1).ok());
    position += static_cast<std::uint32_t>(text.size());
    const float* const row = llama_get_logits_ith(&context, static_cast<std::int32_t>(text.size()) - 1);
    written.push_back(static_cast<token_id>(std::max_element(row, row + vocabulary) - row));
    text.assign(1, written.back());
  }
  return written;
}

//! Both sides hand to hand, with journals; a side can be killed and comes back from its journal, its engine empty.
template <class Model>
struct two_sides {
  static constexpr std::array<token_id, 5> prompt{7, 3, 9, 9, 1};
  ::llama_model small = toy(4), large = toy(0);
  llama_context at_edge{&small}, at_cloud{&large};
  std::optional<llama_cpp::model> engine_of_edge{}, engine_of_cloud{};
  std::optional<Model> drafter{}, target{};
  std::optional<edge_session> edge{};
  std::optional<cloud_session> cloud{};
  bytes kept_by_edge{}, kept_by_cloud{};
  std::vector<bytes> up{}, down{};  // under way
  vocabulary_fingerprint edge_fingerprint{};
  bool greedily = true;
  std::uint32_t tokens = 60;
  session_time time = 0;
  std::vector<token_id> committed{};  // at the edge
  int changed = 0;

  static void wrap(llama_context& context, std::optional<llama_cpp::model>& engine, std::optional<Model>& out) {
    engine.emplace(*llama_cpp::model::make(&context));
    if constexpr (std::is_same_v<Model, llama_cpp::model>) {
      out.emplace(std::move(*engine));
    } else {
      out.emplace(*Model::make(*engine, context.n_ctx));
    }
  }
  void raise_edge() {
    wrap(at_edge, engine_of_edge, drafter);
    const auto fingerprint = llama_cpp::fingerprint_of(&small.vocab);
    const edge_options options{.secret = secret_of_edge,
                               .vocab_size = vocabulary,
                               .token_budget = tokens,
                               .max_text_length = 250,
                               .fingerprint = fingerprint,
                               .retry_timeout = 1};
    edge.emplace(*make_edge(options, greedily ? greedy(4) : k_sqs()));
    const status began =
        kept_by_edge.empty() ? edge->start(prompt, ++time) : edge->restore(kept_by_edge, ++time).error();
    REQUIRE(began.ok());
  }
  void raise_cloud() {
    wrap(at_cloud, engine_of_cloud, target);
    cloud.emplace(*make_cloud({.secret = secret_of_cloud,
                               .salt = 5,
                               .vocab_size = vocabulary,
                               .max_text_length = 250,
                               .fingerprint = llama_cpp::fingerprint_of(&large.vocab)}));
    if (!kept_by_cloud.empty()) REQUIRE(cloud->restore(kept_by_cloud).ok());
  }
  template <class Session>
  status work(Session& session, Model& model, bytes& journal, std::vector<bytes>& sent) {
    return drive(exec::seq, session, model, [&](const session_output& out) {
      if (out.action == session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      if constexpr (std::is_same_v<Session, edge_session>) note(out);
      if (out.action != session_action::journal) return;
      if (out.replaces) journal.clear();
      journal.insert(journal.end(), out.bytes.begin(), out.bytes.end());
    });
  }
  //! What was committed once must come again as it was.
  void note(const session_output& out) {
    if (out.action != session_action::committed) return;
    for (std::size_t i = 0, at = out.position - prompt.size(); i < out.tokens.size(); ++i, ++at) {
      if (at < committed.size()) {
        changed += committed[at] != out.tokens[i];
      } else {
        committed.push_back(out.tokens[i]);
      }
    }
  }
  //! All messages of either side. Not ok: a side's status.
  status turn() {
    if (const status why = work(*edge, *drafter, kept_by_edge, up); !why.ok()) return why;
    for (const bytes& message : std::exchange(up, {})) {
      (void)deliver(*cloud, message, ++time);
      if (const status why = work(*cloud, *target, kept_by_cloud, down); !why.ok()) return why;
    }
    if (down.empty()) (void)edge->tick(time += 1000);
    for (const bytes& message : std::exchange(down, {})) {
      (void)deliver(*edge, message, ++time);
      if (const status why = work(*edge, *drafter, kept_by_edge, up); !why.ok()) return why;
    }
    return {};
  }
  //! The text; empty where a side failed, which `why` says.
  std::vector<token_id> write(status& why) {
    if (!edge) raise_edge();
    if (!cloud) raise_cloud();
    for (int turns = 0; turns < 1000 && edge->state() != edge_state::finished; ++turns) {
      why = turn();
      if (!why.ok()) return {};
    }
    const auto text = edge->text().subspan(edge->prompt_length());
    return {text.begin(), text.end()};
  }
};

}  // namespace

TEST_CASE("llama adapter: a greedy session writes what the target writes alone") {
  two_sides<llama_cpp::model> both;
  status why;
  const std::vector<token_id> text = both.write(why);
  CHECK(why == status{});
  const bool same_text = text == alone(both.large, {both.prompt.begin(), both.prompt.end()}, both.tokens);
  CHECK(same_text);
  CHECK(both.edge->statistics().accepted > 0);
  CHECK(both.edge->statistics().accepted < both.edge->statistics().drafted);  // so the drafter was cut back
  // L + 1 rows are one llama_decode
  CHECK(both.at_cloud.decodes <= static_cast<std::int32_t>(both.edge->statistics().rounds) + 1);
}

TEST_CASE("llama adapter: recurrent memories go on from checkpoints, with the same text") {
  two_sides<rewinding<llama_cpp::model>> both;
  both.small.recurrent = both.large.recurrent = true;
  status why;
  const std::vector<token_id> text = both.write(why);
  CHECK(why == status{});
  const bool same_text = text == alone(toy(0), {both.prompt.begin(), both.prompt.end()}, both.tokens);
  CHECK(same_text);
  CHECK_FALSE(both.engine_of_edge->can_truncate());
}

TEST_CASE("llama adapter: a memory that cannot be cut says so by name, and so does a window that lost what is seen") {
  ::llama_model weights = toy(0);
  weights.recurrent = true;
  llama_context context{&weights};
  auto engine = llama_cpp::model::make(&context);
  const std::vector<token_id> text(40, 3);
  REQUIRE(engine->feed(0, text, 1).ok());
  CHECK(engine->truncate(30) == status{errc::unsupported, part::host, 30});
  CHECK(engine->truncate(0).ok());
  weights.recurrent = false;
  weights.n_swa = 8;
  REQUIRE(engine->feed(0, text, 1).ok());
  CHECK(engine->truncate(30) == status{errc::unsupported, part::host, 30});
}

TEST_CASE("llama adapter: batches are cut so that the wanted rows fall into the last one") {
  const ::llama_model weights = toy(0);
  llama_context whole{&weights}, cut{&weights};
  cut.n_batch = 8;
  auto one = llama_cpp::model::make(&whole), many = llama_cpp::model::make(&cut);
  std::vector<token_id> text;
  for (token_id i = 0; i < 26; ++i) text.push_back(i);
  for (const std::uint32_t rows : {0u, 1u, 3u, 8u}) {
    CAPTURE(rows);
    cut.batch_sizes.clear();
    REQUIRE(one->feed(0, text, rows).ok());
    REQUIRE(many->feed(0, text, rows).ok());
    CHECK(cut.batch_sizes.size() == 4);
    CHECK(cut.batch_sizes.back() >= static_cast<std::int32_t>(rows));
    CHECK(whole.logits == cut.logits);
    CHECK(whole.logits.size() == rows * vocabulary);
    for (std::uint32_t i = 0; i < rows; ++i) {  // in place
      const std::int32_t first = static_cast<std::int32_t>(whole.output_of.size() - rows + i);
      CHECK(llama_get_logits_ith(&whole, first) == whole.logits.data() + i * vocabulary);
      CHECK(many->row(i).size() == vocabulary);
    }
  }
  CHECK(many->feed(0, text, 9) == status{errc::beyond_limit, part::host, 8});
}

TEST_CASE("llama adapter: a gap, a full context and a failed decode have their own statuses") {
  const ::llama_model weights = toy(0);
  llama_context context{&weights};
  context.n_ctx = 20;
  auto engine = llama_cpp::model::make(&context);
  const std::vector<token_id> text(12, 3);
  CHECK(engine->feed(0, text, 1).ok());
  CHECK(engine->feed(13, text, 1) == status{errc::base_length_mismatch, part::host, 12});
  CHECK(engine->feed(12, text, 1) == status{errc::context_full, part::host, 20});
  context.fails_with = -3;
  const status failed = engine->feed(12, std::array<token_id, 2>{1, 2}, 1);
  CHECK(failed.code == errc::engine_failed);
  CHECK(static_cast<std::int32_t>(failed.where) == -3);
  context.fails_with = 1;  // other sequences fill the memory
  CHECK(engine->feed(12, std::array<token_id, 2>{1, 2}, 1) == status{errc::context_full, part::host, 20});
  CHECK(engine->feed(12, std::array<token_id, 2>{1, 2}, 1).ok());
  CHECK(llama_cpp::model::make(nullptr).error().code == errc::null_span);
}

TEST_CASE("llama adapter: a full context ends both sides by name") {
  two_sides<llama_cpp::model> both;
  both.at_cloud.n_ctx = 30;
  status why;
  CHECK(both.write(why).empty());
  CHECK(why == status{errc::context_full, part::host, 30});
  const bool peer_heard =
      both.work(*both.cloud, *both.target, both.kept_by_cloud, both.down).ok() || !both.down.empty();
  REQUIRE(peer_heard);
  REQUIRE(both.down.size() == 1);
  (void)deliver(*both.edge, both.down.front(), ++both.time);
  CHECK(both.work(*both.edge, *both.drafter, both.kept_by_edge, both.up).code == errc::refused_by_peer);
  CHECK(both.edge->refusal().code == errc::context_full);
}

TEST_CASE("llama adapter: fingerprints tell pieces and end tokens apart; the pair that differs is refused") {
  const ::llama_model one = toy(0);
  ::llama_model other = toy(0), longer = toy(0), ends = toy(0);
  other.vocab.pieces[9] = " pieces9";
  longer.vocab.pieces[9] = std::string(100, 'x');  // more than the first buffer
  ends.vocab.end = 9;
  const auto of = [](const ::llama_model& weights) { return llama_cpp::fingerprint_of(&weights.vocab); };
  CHECK(of(one) == of(toy(3)));
  CHECK_FALSE(of(one) == of(other));
  CHECK_FALSE(of(one) == of(longer));
  CHECK_FALSE(of(one) == of(ends));
  CHECK(llama_cpp::piece_of(&longer.vocab, 9) == longer.vocab.pieces[9]);
  CHECK(llama_cpp::stop_tokens_of(&ends.vocab) == std::vector<token_id>{9});
  ::llama_model named = ends;
  named.vocab.pieces[9] = "<|another|>";
  CHECK_FALSE(of(named) == of(ends));
  two_sides<llama_cpp::model> both;
  both.small.vocab = other.vocab;
  status why;
  CHECK(both.write(why).empty());
  CHECK(both.edge->refusal().code == errc::fingerprint_mismatch);
}

TEST_CASE("llama adapter: a text of more tokens than bytes is read whole") {
  ::llama_model weights = toy(0);
  for (const std::int32_t each : {1, 2, 5}) {
    weights.vocab.tokens_a_byte = each;
    const std::vector<token_id> ids = llama_cpp::tokens_of(&weights.vocab, "abcd");
    CHECK(ids.size() == static_cast<std::size_t>(4 * each));
    if (!ids.empty()) CHECK(ids.back() == 'd');
  }
}

TEST_CASE("llama adapter: the name of a control token in a text is text") {
  const ::llama_model weights = toy_with_end();
  const std::vector<token_id> ids = llama_cpp::tokens_of(&weights.vocab, "a<end>b");
  CHECK(ids == std::vector<token_id>{'a', '<', 'e', 'n', 'd', '>', 'b'});
  CHECK(llama_cpp::piece_of(&weights.vocab, 9).empty());
}

TEST_CASE("llama adapter: control tokens by name") {
  using llama_cpp::control_tokens;
  const ::llama_model weights = toy_with_end();
  const std::vector<token_id> ids = llama_cpp::tokens_of(&weights.vocab, "a<end>b", true, control_tokens::by_name);
  CHECK(ids == std::vector<token_id>{'a', 9, 'b'});
  CHECK(llama_cpp::piece_of(&weights.vocab, 9, control_tokens::by_name) == "<end>");
}

TEST_CASE("llama adapter: either side is killed again and again, its engine empty; committed text never changes") {
  for (const bool greedily : {true, false}) {
    two_sides<llama_cpp::model> both;
    both.greedily = greedily;
    both.raise_edge();
    both.raise_cloud();
    int kills = 0;
    for (std::uint64_t turns = 0; turns < 1000 && both.edge->state() != edge_state::finished; ++turns) {
      REQUIRE(both.turn().ok());
      if (const std::uint64_t draw = toy_mix(turns); draw % 4 == 0) {
        ++kills;
        draw % 8 == 0 ? both.raise_edge() : both.raise_cloud();
      }
    }
    CHECK(both.edge->state() == edge_state::finished);
    CHECK(both.changed == 0);
    const auto text = both.edge->text().subspan(both.prompt.size());
    CHECK(std::vector<token_id>(text.begin(), text.end()) == both.committed);
    CHECK(both.committed.size() == both.tokens);
    if (greedily) {
      const bool same_text = both.committed == alone(both.large, {both.prompt.begin(), both.prompt.end()}, both.tokens);
      CHECK(same_text);
    }
    CHECK(kills > 5);
  }
}

TEST_CASE("llama adapter: a stop string is found across the pieces of two tokens") {
  const ::llama_model toy_of_words = toy(0);
  const std::array<token_id, 5> text{3, 12, 21, 7, 12};
  auto ends = stop_strings::make(std::array<std::string_view, 1>{"21 piece7"});
  for (const token_id token : text) (void)ends->take(llama_cpp::piece_of(&toy_of_words.vocab, token));
  CHECK(ends->found());
  CHECK(ends->tokens() == 2);
  CHECK(ends->bytes() == std::string_view(" piece3 piece12 piece").size());
}
