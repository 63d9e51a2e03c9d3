// SPDX-License-Identifier: Apache-2.0
// Records the rows of a target and a drafter that read the same text (docs/rows.md). Exit code: 0, or 2 for wrong usage
// or files.
#include "../edge_cloud/engine.hpp"
#include "../edge_cloud/side_model.hpp"
#include "record.hpp"

#include <CLI/CLI.hpp>

#include "tinylm/tinylm.hpp"

namespace {

struct arguments {
  std::vector<std::string> prompts;
  std::string model = "tinylm", folder = tinylm::default_directory(), file, draw = "p", logits = "f32";
  bool states = false;
  recorded::rows_plan plan{.rows = 500};
  recorded::record_settings settings{};
};

void add_options(CLI::App& app, arguments& given) {
  app.add_option("MODEL", given.model, "tinylm: the embedded pair")->required()->check(CLI::IsMember({"tinylm"}));
  app.add_option("PROMPT", given.prompts, "a text begins with it; of several each in turn")->required();
  app.add_option("-o,--out", given.file, "the file")->required();
  app.add_option("-n,--rows", given.plan.rows, "rows of each model")
      ->capture_default_str()
      ->check(CLI::Range(1u, 10'000'000u));
  app.add_option("--draw", given.draw, "whose law the tokens have: p, the target's; q, that of K-SQS drafts")
      ->capture_default_str()
      ->check(CLI::IsMember({"p", "q"}));
  app.add_option("--seed", given.settings.seed, "of the draws")->capture_default_str();
  app.add_option("--temperature", given.settings.temperature, "of the draws; rows have none")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e3));
  app.add_option("--logits", given.logits, "how logits are stored")
      ->capture_default_str()
      ->check(CLI::IsMember({"f16", "f32"}));
  app.add_option("--top", given.plan.top, "keep that many entries of a row, and the rest in one number; 0: all");
  app.add_flag("--states", given.states, "hidden states of both, and the drafter's attention, too");
  app.add_option("--models", given.folder, "folder of the embedded pair")->check(CLI::ExistingDirectory);
}

std::string hexadecimal(specverify::vocabulary_fingerprint value) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(value.high),
                static_cast<unsigned long long>(value.low));
  return text;
}

std::string hash_of(const std::string& file) {
  const auto bytes = tinylm::read_file(file);
  if (!bytes.ok()) throw std::runtime_error(bytes.error);
  return tinylm::hexadecimal(tinylm::sha256(*bytes));
}

void record_tinylm(arguments& given) {
  const auto target = edge_cloud::load_side(given.folder, "target.safetensors"),
             drafter = edge_cloud::load_side(given.folder, "drafter.safetensors");
  recorded::rows_plan& plan = given.plan;
  plan.vocab_size = target.vocab_size;
  plan.logits = given.logits == "f16" ? recorded::dtype::f16 : recorded::dtype::f32;
  plan.about = {{"fingerprint", hexadecimal(target.fingerprint)},
                {"model", given.model},
                {"sha256_p", hash_of(given.folder + "/target.safetensors")},
                {"sha256_q", hash_of(given.folder + "/drafter.safetensors")},
                {"temperature", std::to_string(given.settings.temperature)},
                {"draw", given.draw},
                {"seed", std::to_string(given.settings.seed)}};
  if (given.states) {
    plan.hidden_p = target.hidden_size;
    plan.hidden_q = drafter.hidden_size;
    plan.attention = drafter.context;
  }
  given.settings.law = given.draw == "p" ? recorded::token_law::target : recorded::token_law::sent;
  given.settings.context = std::min(target.context, drafter.context);
  given.settings.end = tinylm::tokenizer::end_token;
  std::vector<std::vector<specverify::token_id>> prompts;
  for (const std::string& text : given.prompts) {
    prompts.emplace_back(1, tinylm::tokenizer::end_token);  // as the models were trained
    const auto ids = target.vocabulary.encode(text);
    prompts.back().insert(prompts.back().end(), ids.begin(), ids.end());
  }
  edge_cloud::engine p(target.weights), q(drafter.weights);
  recorded::rows_writer out(given.file, plan);
  recorded::record(p, q, prompts, given.settings, out);
  out.finish();
}

}  // namespace

int main(int argc, char** argv) try {
  arguments given;
  CLI::App app{"Records the rows of a target and a drafter that read the same text (docs/rows.md)."};
  add_options(app, given);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  record_tinylm(given);
  std::printf("%u rows: %s\n", given.plan.rows, given.file.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "record_rows: %s\n", error.what());
  return 2;
}
