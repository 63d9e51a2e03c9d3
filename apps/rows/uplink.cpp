// SPDX-License-Identifier: Apache-2.0
// Measures the uplink of sessions of the bundled pair (./run uplink). Exit code: 0; 1 if a goal of --check is missed;
// 2 for wrong usage or files; 70 for any other failure.
#include "uplink_report.hpp"

#include "../edge_cloud/engine.hpp"
#include "../edge_cloud/side_model.hpp"
#include "../prior_file.hpp"
#include "../standard_output.hpp"
#include "prompts.hpp"

#include "tinylm/tinylm.hpp"

namespace {

namespace sv = specverify;

struct arguments : recorded::uplink_arguments {
  std::string folder = tinylm::default_directory(), problems = "apps/lab/data/test.txt",
              prose = "apps/lab/data/prose.txt";
};

constexpr recorded::uplink_goal goals[] = {{sv::id_code::plain, 4, 16.8, 0},    {sv::id_code::plain, 8, 14.6, 0},
                                           {sv::id_code::prior, 4, 14.5, 24.8}, {sv::id_code::prior, 8, 12.2, 0},
                                           {sv::id_code::noise, 4, 10.8, 0},    {sv::id_code::noise, 8, 8.5, 0}};

int run(int argc, char** argv) try {
  arguments given;
  given.prior = given.folder + "/prior.table";
  CLI::App app{"Measures how many bits a session of the bundled models sends on the uplink (docs/choosing.md)."};
  app.add_option("--prior", given.prior, "file with the table of id weights for the result lines marked `with table`")
      ->capture_default_str();
  recorded::add_options(app, given);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const edge_cloud::side_model drafter = edge_cloud::load_side(given.folder, "drafter.safetensors"),
                               target = edge_cloud::load_side(given.folder, "target.safetensors");
  const recorded::uplink_pair pair{
      .vocab_size = target.vocab_size,
      .prompts = recorded::lab_prompts(given.problems, given.prose, drafter.vocabulary, given.texts)};
  const sv::prior_table table = programs::read_prior_file(given.prior, pair.vocab_size);
  edge_cloud::engine small(drafter.weights), large(target.weights);
  std::printf("%u texts of %u tokens, temperature 1, V = %u; bits of draft messages\n\n", given.texts, given.tokens,
              pair.vocab_size);
  const recorded::experiment<edge_cloud::engine> sessions(given, pair, table, small, large);
  return !recorded::print_report(given, sessions, goals).good && given.check ? 1 : 0;
} catch (const std::exception& error) {
  return programs::exit_code_of("uplink", error);
}

}  // namespace

int main(int argc, char** argv) {
  return programs::with_output("uplink", [&] { return run(argc, argv); });
}
