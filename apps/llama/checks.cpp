// SPDX-License-Identifier: Apache-2.0
// llama_checks: checks of `./run engine --test` on a real engine, with both sides in one thread and messages in memory.
//   llama_checks greedy DRAFTER TARGET PROMPTS TOKENS compares texts with the target's own, and lists near ties
//   llama_checks prompts DRAFTER TARGET PROMPTS TOKENS control tokens of a prompt come only from the chat template
//   llama_checks kills DRAFTER TARGET PROMPTS TOKENS 100 kills of either side's process at random times llama_checks
//   samplers DRAFTER TARGET PROMPTS TOKENS greedy with a penalty and a grammar, against the target llama_checks share
//   DRAFTER TARGET PROMPTS TOKENS the library's share of a round's CPU time
#include <specverify/codec/message.hpp>
#include <specverify/host/host.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <llama_cpp/samplers.hpp>

#include "../standard_output.hpp"
#include "chat.hpp"
#include "checks.hpp"
#include "system_run.hpp"

#include <cstdio>
#include <fstream>

namespace {

namespace sv = specverify;
using namespace llama_pair;
using bytes = std::vector<std::byte>;

//! One side: a session and an engine.
template <class Session>
struct one_side {
  engine& engine_of;
  std::optional<Session> session{};
  std::vector<bytes> sent{};

  void work(const auto& hear) {
    const sv::status why = sv::drive(*session, engine_of, [&](const sv::session_output& out) {
      if (out.action == sv::session_action::send) sent.emplace_back(out.bytes.begin(), out.bytes.end());
      if (out.action == sv::session_action::committed) hear(out);
    });
    if (!why.ok()) throw failure_of(why, session->refusal());
  }
};

struct both_sides {
  engine &small, &large;
  bool greedily = false;
  std::uint32_t tokens = 64;
  std::uint64_t session_id = 1;
  std::vector<sv::token_id> prompt{};
  one_side<sv::edge_session> edge{{small}};
  one_side<sv::cloud_session> cloud{{large}};
  std::vector<sv::token_id> committed{};

  void note(const sv::session_output& out) { committed.insert(committed.end(), out.tokens.begin(), out.tokens.end()); }
  void write() {
    const sv::edge_options options = edge_options_of(small, session_id, tokens, greedily);
    auto made = greedily ? sv::make_edge(options, sv::greedy(4)) : sv::make_edge(options, sv::k_sqs());
    auto peer = sv::make_cloud(cloud_options_of(large, session_id, greedily));
    if (!made || !peer) throw failure_of(made ? peer.error() : made.error(), {});
    edge.session.emplace(*std::move(made));
    cloud.session.emplace(*std::move(peer));
    if (const sv::status why = edge.session->start(prompt, 0); !why.ok()) throw failure_of(why, {});
    for (sv::session_time now = 1;; ++now) {
      edge.work([&](const sv::session_output& out) { note(out); });
      if (edge.session->state() == sv::edge_state::finished) return;
      for (const bytes& message : std::exchange(edge.sent, {})) {
        (void)sv::deliver(*cloud.session, message, now);
        cloud.work([](const sv::session_output&) {});
      }
      for (const bytes& message : std::exchange(cloud.sent, {})) {
        (void)sv::deliver(*edge.session, message, now);
        edge.work([&](const sv::session_output& out) { note(out); });
      }
    }
  }
};

both_sides sides_of(engine& small, engine& large, const std::string& prompt, std::uint32_t tokens, std::uint64_t id) {
  both_sides both{small, large};
  both.tokens = tokens;
  both.session_id = id;
  both.prompt = prompt_of(small, {{"user", prompt}}, true);
  return both;
}

int check_greedy(engine& small, engine& large, const arguments& given) {
  std::size_t compared = 0, same = 0, near = 0, others = 0;
  std::uint64_t id = 0;
  constexpr std::size_t near_ties_that_may_be = 5;
  const auto prompts = lines_of(given.prompts_file);
  for (const std::string& prompt : prompts) {
    both_sides both = sides_of(small, large, prompt, given.tokens, ++id);
    both.greedily = true;
    both.write();
    const greedy_comparison found = compare_greedily(large, both.prompt, both.committed);
    compared += both.committed.size();
    same += found.same;
    near += found.near_ties.size();
    others += found.others.size();
    for (const std::size_t at : found.near_ties)
      std::printf("near tie: prompt %d, token %zu\n", static_cast<int>(id), at);
    for (const std::size_t at : found.others)
      std::printf("ANOTHER TOKEN: prompt %d, token %zu\n", static_cast<int>(id), at);
    std::fflush(stdout);
  }
  std::printf("greedy: %zu prompts, %zu of %zu tokens are the target's own; %zu near ties, %zu others\n",
              prompts.size(), same, compared, near, others);
  const bool whole = !prompts.empty() && compared == prompts.size() * given.tokens;
  if (!whole) std::printf("NOT WHOLE: %zu tokens of %zu prompts\n", compared, prompts.size());
  return whole && others == 0 && near <= near_ties_that_may_be ? 0 : 1;
}

std::vector<sv::token_id> control_tokens_in(const engine& side, std::vector<sv::token_id> ids) {
  std::erase_if(ids, [&](sv::token_id id) {
    return (static_cast<unsigned>(llama_vocab_get_attr(side.vocab(), id)) & LLAMA_TOKEN_ATTR_CONTROL) == 0;
  });
  return ids;
}

//! Fills the template with the text and tokenizes the result as a whole, as in training.
std::vector<sv::token_id> read_whole(const engine& side, const std::string& text) {
  const llama_chat_message asked{"user", text.c_str()};
  std::string made(text.size() + 4096, '\0');
  const std::int32_t length = llama_chat_apply_template(llama_model_chat_template(side.weights(), nullptr), &asked, 1,
                                                        true, made.data(), static_cast<std::int32_t>(made.size()));
  made.resize(static_cast<std::size_t>(std::clamp(length, 0, static_cast<std::int32_t>(made.size()))));
  return sv::llama_cpp::tokens_of(side.vocab(), made, true, sv::llama_cpp::control_tokens::by_name);
}

//! Checks that a prompt without names of control tokens gives the tokens of training, and that a name of a control
//! token in a prompt adds no control token.
int check_prompts(const engine& side, const arguments& given) {
  std::size_t same = 0, names = 0, added = 0, printed = 0;
  const auto prompts = lines_of(given.prompts_file);
  for (const std::string& prompt : prompts)
    same += prompt_of(side, {{"user", prompt}}, true) == read_whole(side, prompt) ? 1u : 0u;
  const auto plain = control_tokens_in(side, prompt_of(side, {{"user", "a, b"}}, true));
  for (sv::token_id id = 0; id < static_cast<sv::token_id>(side.vocab_size()); ++id) {
    if (control_tokens_in(side, {id}).empty()) continue;
    const std::string name = sv::llama_cpp::piece_of(side.vocab(), id, sv::llama_cpp::control_tokens::by_name);
    const std::string text = "a" + name + "b";
    ++names;
    added += control_tokens_in(side, prompt_of(side, {{"user", text}}, true)) == plain ? 0u : 1u;
    printed += sv::llama_cpp::piece_of(side.vocab(), id).empty() ? 0u : 1u;
  }
  std::printf(
      "prompts: %zu of %zu have the tokens of the model's training; of %zu names of control tokens %zu became "
      "a control token in a user's text, and %zu are printed\n",
      same, prompts.size(), names, added, printed);
  return !prompts.empty() && same == prompts.size() && !plain.empty() && names > 0 && added + printed == 0 ? 0 : 1;
}

struct limits {
  sv::llama_cpp::owned_sampler penalties, grammar;
  explicit limits(const engine& side)
      : penalties(llama_sampler_init_penalties(static_cast<int>(side.vocab_size()), 64, 1.3F, 0, 0)),
        grammar(llama_sampler_init_grammar(side.vocab(), "root ::= [a-z ,]+", "root")) {}
};

std::vector<sv::token_id> write_under(engine& small, engine& large, std::span<const sv::token_id> prompt,
                                      std::uint32_t tokens) {
  const auto length = static_cast<std::uint32_t>(prompt.size());
  limits of_edge(small), of_cloud(large);
  sv::llama_cpp::constrained drafter(small.model(), std::move(of_edge.penalties), std::move(of_edge.grammar), length);
  sv::llama_cpp::constrained target(large.model(), std::move(of_cloud.penalties), std::move(of_cloud.grammar), length);
  const auto secret = sv::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  auto edge =
      sv::make_edge({.secret = secret, .vocab_size = small.vocab_size(), .token_budget = tokens}, sv::greedy(4));
  auto cloud = sv::make_cloud({.secret = secret, .salt = 3, .vocab_size = large.vocab_size()});
  if (!edge || !cloud) throw failure_of(edge ? cloud.error() : edge.error(), {});
  sv::message_pipe pipe;
  auto up = pipe.edge();
  std::thread server([&, down = pipe.cloud()]() mutable { (void)sv::serve(*cloud, target, down); });
  const auto text = [&, link = std::move(up)]() mutable { return sv::generate(*edge, prompt, drafter, link); }();
  server.join();
  if (!text) throw failure_of(text.error(), edge->refusal());
  return {text->begin(), text->end()};
}

struct comparison {
  std::size_t same = 0, near = 0, others = 0;
};

//! Compares a text with the text of the target only, under the same samplers, which accept one token after another.
void compare_under(engine& large, std::span<const sv::token_id> prompt, std::span<const sv::token_id> text,
                   comparison& found) {
  const limits alone(large);
  for (const sv::token_id token : prompt) llama_sampler_accept(alone.penalties.get(), token);
  std::uint32_t position = 0;
  std::vector<llama_token_data> row;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::span<const sv::token_id> fed = i == 0 ? prompt : text.subspan(i - 1, 1);
    if (const sv::status why = large.feed(position, fed, 1); !why.ok()) throw failure_of(why, {});
    position += static_cast<std::uint32_t>(fed.size());
    row.clear();
    for (const float logit : large.logits()) row.push_back({static_cast<llama_token>(row.size()), logit, 0});
    llama_token_data_array all{row.data(), row.size(), -1, false};
    llama_sampler_apply(alone.penalties.get(), &all);
    llama_sampler_apply(alone.grammar.get(), &all);
    float best = -INFINITY, own = -INFINITY;
    for (const llama_token_data& one : std::span(all.data, all.size)) {
      best = std::max(best, one.logit);
      if (one.id == text[i]) own = one.logit;
    }
    (own == best ? found.same : best - own < 0.03F ? found.near : found.others) += 1;
    llama_sampler_accept(alone.penalties.get(), text[i]);
    llama_sampler_accept(alone.grammar.get(), text[i]);
  }
}

int check_samplers(engine& small, engine& large, const arguments& given) {
  comparison found;
  std::size_t prompts = 0;
  for (const std::string& line : lines_of(given.prompts_file)) {
    const auto prompt = prompt_of(small, {{"user", line}}, true);
    compare_under(large, prompt, write_under(small, large, prompt, given.tokens), found);
    if (++prompts == 4) break;
  }
  std::printf(
      "samplers: %zu prompts under a penalty and a grammar, %zu tokens are the target's own under both; %zu near "
      "ties, %zu others\n",
      prompts, found.same, found.near, found.others);
  return found.others == 0 && found.same > 0 && found.near <= 2 ? 0 : 1;
}

}  // namespace

static int run(int argc, char** argv) {
  if (argc < 6) return std::fprintf(stderr, "usage: the first lines of apps/llama/checks.cpp\n"), 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  const std::string mode = argv[1];
  const arguments given{argv[2], argv[3], argv[4], static_cast<std::uint32_t>(std::stoul(argv[5]))};
  try {
    if (mode == "kills") return check_kills(given);  // the sides are processes with engines of their own
    engine small(given.small_file, check_context, 1), large(given.large_file, check_context, 1);
    if (mode == "greedy") return check_greedy(small, large, given);
    if (mode == "prompts") return check_prompts(small, given);
    if (mode == "samplers") return check_samplers(small, large, given);
    if (mode == "share") return check_share(small, large, given);
  } catch (const failure& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return static_cast<int>(why.code);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "the check failed: %s\n", why.what());
    return 1;
  }
  return 2;
}

int main(int argc, char** argv) {
  return programs::with_output("llama_checks", [&] { return run(argc, argv); });
}
