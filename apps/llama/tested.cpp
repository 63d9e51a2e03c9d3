// SPDX-License-Identifier: Apache-2.0
// llama_tested DRAFTER TARGET TOKENS PROMPT OUT: runs one text of K-SQS at T = 1 and records the rows of each draft
// that the cloud tested, as a rows-1 file. The metadata hold the number of accepted drafts. tests/engine/acceptance.py
// reads the file.
#include <specverify/host/host.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/testing/message_pipe.hpp>

#include "../rows/rows_writer.hpp"
#include "../standard_output.hpp"
#include "chat.hpp"

#include <cstdio>

namespace {

namespace sv = specverify;
using namespace llama_pair;

struct text_of_drafts {
  std::vector<sv::token_id> text;     //!< tokens of the text, with the prompt
  std::vector<std::uint32_t> tested;  //!< position of each tested draft's token in the text
  std::uint64_t accepted = 0;
};

//! Returns a different key for each prompt, because texts with the same random draws would not be independent.
std::uint64_t key_of(std::span<const sv::token_id> prompt) {
  std::uint64_t key = 1;
  for (const sv::token_id token : prompt) key = (key ^ static_cast<std::uint64_t>(token)) * 0x9E3779B97F4A7C15u;
  return key | 1u;
}

text_of_drafts write(engine& small, engine& large, std::vector<sv::token_id> prompt, std::uint32_t tokens) {
  sv::edge_options options;
  options.session_id = key_of(prompt);
  options.secret = sv::secret_from_hex("3f9a51c07be2846d15f0a97c2e64d8b3");
  options.vocab_size = small.vocab_size();
  options.token_budget = tokens;
  options.fingerprint = small.fingerprint();
  options.stop_tokens = small.ends();
  auto edge = sv::make_edge(options, sv::k_sqs());
  auto cloud = sv::make_cloud({.secret = sv::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"),
                               .salt = key_of(prompt),
                               .vocab_size = large.vocab_size(),
                               .fingerprint = large.fingerprint(),
                               .stop_tokens = large.ends()});
  if (!edge || !cloud) throw failure_of(edge ? cloud.error() : edge.error(), {});
  sv::message_pipe pipe;
  std::thread server([&, link = pipe.cloud()]() mutable { (void)sv::serve(*cloud, large, link); });
  text_of_drafts made;
  // A round commits the accepted drafts and one more token. The tested drafts are the accepted drafts and the rejected
  // draft, if there is one.
  const auto note = [&](const sv::session_output& out) {
    const std::uint64_t before = made.tested.size(), now = edge->statistics().evaluated;
    for (std::uint64_t i = before; i < now; ++i)
      made.tested.push_back(out.position + static_cast<std::uint32_t>(i - before));
  };
  const auto text = [&, link = pipe.edge()]() mutable {
    return sv::generate(*edge, prompt, small, link, sv::on_committed(note));
  }();
  server.join();
  if (!text) throw failure_of(text.error(), edge->refusal());
  made.text = std::move(prompt);
  made.text.insert(made.text.end(), text->begin(), text->end());
  made.accepted = edge->statistics().accepted;
  return made;
}

//! Records the rows of all tokens after the prompt, in one pass of each model.
void record(engine& small, engine& large, const text_of_drafts& made, std::uint32_t prompt_length,
            const std::string& file) {
  const std::span<const sv::token_id> fed = std::span(made.text).first(made.text.size() - 1);
  const auto rows = static_cast<std::uint32_t>(made.text.size()) - prompt_length;
  for (engine* side : {&large, &small}) {
    if (const sv::status why = side->feed(0, fed, rows); !why.ok()) throw failure_of(why, {});
  }
  recorded::rows_plan plan;
  plan.rows = static_cast<std::uint32_t>(made.tested.size());
  plan.vocab_size = small.vocab_size();
  plan.about = {{"fingerprint", "00"}, {"accepted", std::to_string(made.accepted)}};
  recorded::rows_writer out(file, plan);
  for (const std::uint32_t at : made.tested) {
    const std::uint32_t i = at - prompt_length;
    out.add({.token = made.text[at], .position = at, .p = large.logits(i, rows), .q = small.logits(i, rows)});
  }
  out.finish();
}

}  // namespace

static int run(int argc, char** argv) try {
  if (argc != 6) return std::fprintf(stderr, "usage: llama_tested DRAFTER TARGET TOKENS PROMPT OUT\n"), 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  engine small(argv[1], 1024, 1), large(argv[2], 1024, 1);
  const auto prompt = prompt_of(small, {{"user", argv[4]}}, true);
  const auto length = static_cast<std::uint32_t>(prompt.size());
  record(small, large, write(small, large, prompt, static_cast<std::uint32_t>(std::stoul(argv[3]))), length, argv[5]);
  return 0;
} catch (const llama_pair::failure& why) {
  return std::fprintf(stderr, "%s\n", why.what()), static_cast<int>(why.code);
} catch (const std::exception& why) {
  return std::fprintf(stderr, "llama_tested: %s\n", why.what()), 1;
}

int main(int argc, char** argv) {
  return programs::with_output("llama_tested", [&] { return run(argc, argv); });
}
