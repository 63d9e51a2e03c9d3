// SPDX-License-Identifier: Apache-2.0
// llama_rows: records the rows of two GGUF models that read the same text (./run rows --engine=llama). Exit code: 0; 2
// for wrong usage or files; the code of a failure of docs/llama.md; 70 for any other failure.
#include "../rows/model_hash.hpp"
#include "../rows/record_arguments.hpp"
#include "../standard_output.hpp"
#include "chat.hpp"
#include "model_pair.hpp"

namespace {

using namespace llama_pair;

struct arguments : recorded::record_arguments {
  std::string edge_model, cloud_model;
  std::uint32_t context = 512;
  int threads = 1;
  bool raw = false;
};

void add_own_options(CLI::App& app, arguments& given) {
  add_model_options(app, given);
  app.add_flag("--raw", given.raw, "use the prompts as they are, without a chat template");
  app.add_option("--context", given.context, "maximum number of tokens per text, including the prompt")
      ->capture_default_str()
      ->check(CLI::Range(16, 1 << 20));
}

void record(arguments& given) {
  engine target(given.cloud_model, given.context, given.threads, {.hidden = given.states, .attention = false});
  engine drafter(given.edge_model, given.context, given.threads, {.hidden = given.states, .attention = given.states});
  check_pair(target, drafter);
  recorded::settle(given, {.model = name_of(given.cloud_model) + ", " + name_of(given.edge_model),
                           .sha256_p = recorded::hash_of(given.cloud_model),
                           .sha256_q = recorded::hash_of(given.edge_model),
                           .vocab_size = target.vocab_size(),
                           .fingerprint = target.fingerprint()});
  if (given.states) {
    given.plan.hidden_p = static_cast<std::uint32_t>(llama_model_n_embd(target.weights()));
    given.plan.hidden_q = static_cast<std::uint32_t>(llama_model_n_embd(drafter.weights()));
    given.plan.attention = given.context;
  }
  given.settings.context = given.context;
  given.settings.ends.assign(target.ends().begin(), target.ends().end());
  std::vector<std::vector<specverify::token_id>> prompts;
  for (const std::string& text : given.prompts) prompts.push_back(prompt_of(target, {{"user", text}}, !given.raw));
  recorded::write_file(given, target, drafter, prompts);
}

}  // namespace

static int run(int argc, char** argv) {
  arguments given;
  CLI::App app{"Records the rows of logits of two GGUF models that read the same text (docs/rows.md)."};
  add_own_options(app, given);
  recorded::add_options(app, given);
  return llama_pair::run_quietly("llama_rows", app, argc, argv, [&] {
    record(given);
    return 0;
  });
}

int main(int argc, char** argv) {
  return programs::with_output("llama_rows", [&] { return run(argc, argv); });
}
