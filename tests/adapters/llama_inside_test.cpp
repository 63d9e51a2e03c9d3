// SPDX-License-Identifier: Apache-2.0
// Hidden states and attention of the toy engine: those of the rows, however the batch is cut, and sessions on them.
#include <doctest/doctest.h>

#include <specverify/codec/hidden_code.hpp>
#include <specverify/host/host.hpp>
#include <specverify/host/rewinding.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <llama_cpp/inside.hpp>
#include <llama_cpp/model.hpp>

#include <cmath>
#include <memory>
#include <thread>

using namespace specverify;
using llama_cpp::inside, llama_cpp::with_inside;

namespace {

constexpr std::uint32_t vocabulary = 64;
constexpr std::array<token_id, 5> prompt{7, 3, 9, 9, 1};

::llama_model toy(float noise) {
  ::llama_model made{{}, noise};
  for (std::uint32_t v = 0; v < vocabulary; ++v) made.vocab.pieces.push_back(" piece" + std::to_string(v));
  return made;
}

//! A watched context, as a program opens one.
struct watched {
  ::llama_model weights;
  inside seen;
  llama_context context{&weights};
  std::unique_ptr<with_inside<llama_cpp::model>> engine{};
  explicit watched(::llama_model of, llama_cpp::inside_parts wanted = {}) : weights(std::move(of)), seen(wanted) {
    seen.watch(context.settings, &weights);
    open();
  }
  void open() { engine = std::make_unique<with_inside<llama_cpp::model>>(*llama_cpp::model::make(&context), seen); }
};

//! The block of docs/llama.md compiles.
[[maybe_unused]] void open_as_the_page(llama_context_params settings, ::llama_model* weights) {
#include "llama/inside.inc"
}

//! Whether row i is that of the token at `position`, whose text the context holds.
bool is_of(const watched& side, std::uint32_t i, std::size_t position) {
  const auto state = side.engine->hidden(i), weights = side.engine->attention(i);
  if (state.size() != toy_hidden || weights.size() != position + 1) return false;
  for (std::size_t k = 0; k < state.size(); ++k)
    if (state[k] != toy_hidden_number(side.context, position, static_cast<std::int64_t>(k))) return false;
  for (std::size_t key = 0; key < weights.size(); ++key) {
    float mean = 0;
    for (std::int64_t head = 0; head < toy_heads; ++head) mean += toy_weight(side.context, 1, head, position, key) / 3;
    if (std::fabs(mean - weights[key]) > 1e-6F) return false;
  }
  return true;
}

std::vector<token_id> ascending(token_id count) {
  std::vector<token_id> text;
  for (token_id i = 0; i < count; ++i) text.push_back(i);
  return text;
}

//! A target that scores mismatches by what both models' states are: 1 where they are those of the drafts' rows.
struct scoring : with_inside<llama_cpp::model> {
  const watched *own, *drafter;
  int scored = 0, wrong = 0;
  scoring(watched& side, const watched& small)
      : with_inside<llama_cpp::model>(*llama_cpp::model::make(&side.context), side.seen), own(&side), drafter(&small) {}
  //! The draft at a position comes from the row behind the token before it.
  [[nodiscard]] status scores(const session_output& asked, std::span<double> out) {
    std::array<float, toy_hidden> came{};
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; found < asked.rows; ++i) {
      if ((asked.positions[0] >> i & 1u) == 0) continue;
      const auto bytes = asked.bytes.subspan(found * 2 * came.size(), 2 * came.size());
      if (const auto read = decode_hidden(bytes, hidden_format::float16, came); !read) return read.error();
      for (std::size_t k = 0; k < came.size(); ++k) {
        const auto number = static_cast<std::int64_t>(k);
        const float of_draft = toy_hidden_number(drafter->context, asked.position + i - 1, number);
        wrong += std::fabs(came[k] - of_draft) > 1e-3F;
        wrong += hidden(i)[k] != toy_hidden_number(own->context, asked.position + i - 1, number);
      }
      ++scored;
      out[found++] = i % 2;
    }
    return {};
  }
};

//! Both sides on threads; the statistics of the edge.
template <class Preset, class Drafter, class Target>
session_statistics write(const Preset& system, Drafter& drafter, Target& target, std::uint32_t tokens, status& why) {
  auto edge = make_edge(
      {.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3"), .vocab_size = vocabulary, .token_budget = tokens},
      system);
  cloud_options options{
      .secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"), .salt = 5, .vocab_size = vocabulary};
  options.limits = cloud_session::limits_for(system.format_for(vocabulary));
  options.required = guarantee::lossy;
  auto cloud = make_cloud(options);
  REQUIRE(edge.ok());
  REQUIRE(cloud.ok());
  message_pipe pipe;
  auto down = pipe.cloud();
  std::thread server([&] { (void)serve(exec::seq, *cloud, target, down); });
  {
    auto up = pipe.edge();
    why = generate(exec::seq, *edge, prompt, drafter, up).error();
  }
  server.join();
  return edge->statistics();
}

}  // namespace

TEST_CASE("llama inside: states and attention are those of the wanted rows wherever the batch is cut") {
  for (const std::uint32_t batch : {64u, 8u}) {
    for (const std::uint32_t piece : {0u, 3u, 5u}) {
      watched side(toy(0));
      side.context.n_batch = batch;
      side.context.settings.n_ubatch = piece;
      side.open();
      for (const std::uint32_t rows : {1u, 3u, 8u}) {
        CAPTURE(batch);
        CAPTURE(piece);
        CAPTURE(rows);
        REQUIRE(side.engine->feed(0, ascending(26), rows).ok());
        for (std::uint32_t i = 0; i < rows; ++i) {
          const bool rows_own = is_of(side, i, 26 - rows + i);
          CHECK(rows_own);
        }
      }
      REQUIRE(side.engine->feed(20, std::array<token_id, 3>{5, 4, 3}, 2).ok());  // drafts that were cut leave nothing
      const bool rows_own = is_of(side, 0, 21) && is_of(side, 1, 22);
      CHECK(rows_own);
      CHECK(side.engine->row(1).size() == vocabulary);
    }
  }
}

TEST_CASE("llama inside: nothing is read that nobody wants") {
  watched side(toy(0), {.hidden = false});
  REQUIRE(side.engine->feed(0, prompt, 0).ok());
  CHECK(side.context.shown.empty());
  REQUIRE(side.engine->feed(0, prompt, 2).ok());
  CHECK(side.context.shown == std::vector<std::string>{"kq_soft_max-1"});
  CHECK(side.engine->hidden(1).empty());
  CHECK(side.engine->attention(1).size() == 5);
  CHECK(side.context.settings.flash_attn_type == LLAMA_FLASH_ATTN_TYPE_DISABLED);

  watched other(toy(0), {.attention = false});
  REQUIRE(other.engine->feed(0, prompt, 1).ok());
  CHECK(other.context.shown == std::vector<std::string>{"result_norm"});
  CHECK(other.engine->attention(0).empty());
  CHECK(other.context.settings.flash_attn_type == LLAMA_FLASH_ATTN_TYPE_AUTO);  // is no matter of states
}

TEST_CASE("llama inside: flash attention, graphs without such tensors, and shared cells are called by their names") {
  watched side(toy(0));
  side.context.settings.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_AUTO;
  CHECK(side.engine->feed(0, prompt, 1) == status{errc::options_disagree, part::host, 5});
  CHECK(side.engine->feed(0, prompt, 0).ok());
  side.context.settings.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  CHECK(side.engine->feed(0, prompt, 1).ok());
  side.weights.has_states = false;
  CHECK(side.engine->feed(0, prompt, 1) == status{errc::hidden_state_missing, part::host, 5});
  side.weights.has_states = true;
  side.context.cells_of_others = 2;
  CHECK(side.engine->feed(0, prompt, 1) == status{errc::unsupported, part::host, 5});
  side.context.cells_of_others = 0;
  side.context.fails_with = -3;
  CHECK(side.engine->feed(0, prompt, 1).code == errc::engine_failed);

  watched unseen(toy(0), {.hidden = false});  // opened without `watch`
  unseen.context.settings.cb_eval = nullptr;
  CHECK(unseen.engine->feed(0, prompt, 1) == status{errc::attention_missing, part::host, 5});
}

TEST_CASE("llama inside: the gate of ui looks at the drafter's attention") {
  watched small(toy(4), {.hidden = false}), blind(toy(4), {.attention = false});
  const ::llama_model large = toy(0);
  llama_context at_cloud{&large};
  auto target = llama_cpp::model::make(&at_cloud);
  const auto system = ui({.threshold = 0.2});
  status why;
  const session_statistics counted = write(system, *small.engine, *target, 60, why);
  CHECK(why == status{});
  CHECK(counted.skipped > 0);
  CHECK(counted.drafted > 0);
  (void)write(system, *blind.engine, *target, 60, why);
  CHECK(why.code == errc::attention_missing);

  small.weights.recurrent = true;  // the same text from checkpoints
  auto again = rewinding<with_inside<llama_cpp::model>>::make(*small.engine, 250);
  CHECK(write(system, *again, *target, 60, why).skipped == counted.skipped);
  CHECK(why == status{});
}

TEST_CASE("llama inside: a decision head gets the states of both models, those behind the rows of the drafts") {
  for (const bool with_draft : {true, false}) {
    watched small(toy(4), {.attention = false}), large(toy(0), {.attention = false});
    scoring target(large, small);
    status why;
    const session_statistics counted =
        write(wisv({.hidden_size = toy_hidden, .with_draft = with_draft}), *small.engine, target, 60, why);
    CHECK(why == status{});
    CHECK(counted.accepted > 0);
    CHECK(target.scored > 10);
    CHECK(target.wrong == 0);
  }
}
