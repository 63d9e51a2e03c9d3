// SPDX-License-Identifier: Apache-2.0
// Records the rows of logits of a target and a drafter that read the same text (docs/rows.md). Exit code: 0; 1 if it
// cannot print; 2 for wrong usage or files; 70 for any other failure.
#include "../edge_cloud/engine.hpp"
#include "../edge_cloud/side_model.hpp"
#include "../standard_output.hpp"
#include "model_hash.hpp"
#include "record_arguments.hpp"

#include "tinylm/tinylm.hpp"

namespace {

struct arguments : recorded::record_arguments {
  std::string model = "tinylm", folder = tinylm::default_directory();
};

void record_tinylm(arguments& given) {
  const auto target = edge_cloud::load_side(given.folder, "target.safetensors"),
             drafter = edge_cloud::load_side(given.folder, "drafter.safetensors");
  recorded::settle(given, {.model = given.model,
                           .sha256_p = recorded::hash_of(given.folder + "/target.safetensors"),
                           .sha256_q = recorded::hash_of(given.folder + "/drafter.safetensors"),
                           .vocab_size = target.vocab_size,
                           .fingerprint = target.fingerprint});
  if (given.states) {
    given.plan.hidden_p = target.hidden_size;
    given.plan.hidden_q = drafter.hidden_size;
    given.plan.attention = drafter.context;
  }
  given.settings.context = std::min(target.context, drafter.context);
  given.settings.ends = {tinylm::tokenizer::end_token};
  std::vector<std::vector<specverify::token_id>> prompts;
  for (const std::string& text : given.prompts) {
    prompts.emplace_back(1, tinylm::tokenizer::end_token);  // as in training
    const auto ids = target.vocabulary.encode(text);
    prompts.back().insert(prompts.back().end(), ids.begin(), ids.end());
  }
  edge_cloud::engine p(target.weights), q(drafter.weights);
  recorded::write_file(given, p, q, prompts);
}

}  // namespace

static int run(int argc, char** argv) try {
  arguments given;
  CLI::App app{"Records the rows of logits of a target and a drafter that read the same text (docs/rows.md)."};
  app.add_option("MODEL", given.model, "pair of models to record: tinylm (the bundled models)")
      ->required()
      ->check(CLI::IsMember({"tinylm"}));
  recorded::add_options(app, given);
  app.add_option("--models", given.folder, "folder with the bundled models; default: the models of the source tree")
      ->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  record_tinylm(given);
  return 0;
} catch (const std::exception& error) {
  return programs::exit_code_of("record_rows", error);
}

int main(int argc, char** argv) {
  return programs::with_output("record_rows", [&] { return run(argc, argv); });
}
