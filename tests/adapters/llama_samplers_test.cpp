// SPDX-License-Identifier: Apache-2.0
// Penalties and grammars on the toy engine: a session writes what the target writes alone under the same samplers.
#include <doctest/doctest.h>

#include <specverify/host/host.hpp>
#include <specverify/host/rewinding.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <llama_cpp/model.hpp>
#include <llama_cpp/samplers.hpp>

#include <thread>

using namespace specverify;
using llama_cpp::constrained, llama_cpp::owned_sampler;

namespace {

constexpr std::uint32_t vocabulary = 64, tokens = 80;
constexpr std::array<token_id, 5> prompt{7, 3, 9, 9, 60};

::llama_model toy(float noise) {
  ::llama_model made{{}, noise};
  for (std::uint32_t v = 0; v < vocabulary; ++v) made.vocab.pieces.push_back("p" + std::to_string(v));
  return made;
}
owned_sampler penalty() { return owned_sampler(toy_penalty(0.7F, vocabulary)); }
owned_sampler grammar() { return owned_sampler(toy_grammar(30)); }

//! The target alone, under samplers that accept one token after another.
std::vector<token_id> alone(const ::llama_model& weights) {
  llama_context context{&weights};
  auto engine = llama_cpp::model::make(&context);
  const owned_sampler penalties = penalty(), rules = grammar();
  for (const token_id token : prompt) llama_sampler_accept(penalties.get(), token);
  std::vector<token_id> written, fed(prompt.begin(), prompt.end());
  for (std::uint32_t position = 0; written.size() < tokens; fed.assign(1, written.back())) {
    REQUIRE(engine->feed(position, fed, 1).ok());
    position += static_cast<std::uint32_t>(fed.size());
    std::vector<llama_token_data> row;
    for (const float logit : engine->logits(0)) row.push_back({static_cast<llama_token>(row.size()), logit, 0});
    llama_token_data_array all{row.data(), row.size(), -1, false};
    llama_sampler_apply(penalties.get(), &all);
    llama_sampler_apply(rules.get(), &all);
    const auto best =
        std::max_element(all.data, all.data + all.size, [](const auto& a, const auto& b) { return a.logit < b.logit; });
    written.push_back(best->id);
    llama_sampler_accept(penalties.get(), best->id);
    llama_sampler_accept(rules.get(), best->id);
  }
  return written;
}

template <class Model>
std::vector<token_id> session_of(Model& drafter, Model& target, bool greedily) {
  auto edge = make_edge(
      {.secret = secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3"), .vocab_size = vocabulary, .token_budget = tokens},
      greedily ? greedy(4) : k_sqs());
  auto cloud =
      make_cloud({.secret = secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"), .salt = 5, .vocab_size = vocabulary});
  REQUIRE(edge.ok());
  REQUIRE(cloud.ok());
  message_pipe pipe;
  auto up = pipe.edge(), down = pipe.cloud();
  status served;
  std::thread server([&] { served = serve(exec::seq, *cloud, target, down); });
  const auto text = generate(exec::seq, *edge, prompt, drafter, up);
  server.join();
  CHECK(served.ok());
  REQUIRE(text.ok());
  CHECK(edge->statistics().accepted > 0);
  CHECK(edge->statistics().accepted < edge->statistics().evaluated);
  return {text->begin(), text->end()};
}

}  // namespace

TEST_CASE("llama samplers: a session under a penalty and a grammar writes what the target writes alone under them") {
  const ::llama_model small = toy(3), large = toy(0);
  llama_context at_edge{&small}, at_cloud{&large};
  auto drafter = llama_cpp::model::make(&at_edge), target = llama_cpp::model::make(&at_cloud);
  constrained one(*drafter, penalty(), grammar(), prompt.size()), other(*target, penalty(), grammar(), prompt.size());
  const bool same_text = session_of(one, other, true) == alone(large);
  CHECK(same_text);
}

TEST_CASE("llama samplers: recurrent memories, and texts that are drawn: no token is outside of the grammar") {
  ::llama_model small = toy(3), large = toy(0);
  small.recurrent = large.recurrent = true;
  llama_context at_edge{&small}, at_cloud{&large};
  auto drafter = llama_cpp::model::make(&at_edge), target = llama_cpp::model::make(&at_cloud);
  constrained one(*drafter, penalty(), grammar(), prompt.size()), other(*target, penalty(), grammar(), prompt.size());
  using wrapped = rewinding<constrained<llama_cpp::model>>;
  auto edge_model = wrapped::make(one, 250), cloud_model = wrapped::make(other, 250);
  const bool same_text = session_of(*edge_model, *cloud_model, true) == alone(toy(0));
  CHECK(same_text);
  const owned_sampler rules = grammar();
  for (const token_id token : session_of(*edge_model, *cloud_model, false)) {
    CHECK(toy_allows(*rules, token));
    llama_sampler_accept(rules.get(), token);
  }
}
