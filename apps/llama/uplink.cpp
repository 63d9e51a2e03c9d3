// SPDX-License-Identifier: Apache-2.0
// llama_uplink: measures the uplink of sessions of two GGUF models (./run uplink --engine=llama). Exit code: 0; 1 if a
// goal of --check is missed; 2 for wrong usage or files; the code of a failure of docs/llama.md; 70 for any other
// failure.
#include "../rows/uplink_report.hpp"

#include "../rows/train_prior.hpp"
#include "../standard_output.hpp"
#include "chat.hpp"
#include "draw_texts.hpp"
#include "model_pair.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace {

using namespace llama_pair;

struct arguments : recorded::uplink_arguments {
  std::string edge_model, cloud_model, prompts = "tests/engine/prompts.txt",
                                       prior_prompts = "apps/llama/prior_prompts.txt";
  std::uint32_t prior_texts = 256, prior_tokens = 128;
  std::size_t prior_bytes = 0;  // 0: default
  std::uint32_t context = 512;
  int threads = 1;
  bool raw = false;
};

constexpr char default_target[] = "SmolLM2-135M-Instruct.Q4_1", default_drafter[] = "SmolLM2-135M-Instruct.Q2_K";
//! Goals for the default pair.
constexpr recorded::uplink_goal goals[] = {{specverify::id_code::plain, 4, 20.5, 0},
                                           {specverify::id_code::plain, 8, 18.5, 0},
                                           {specverify::id_code::prior, 4, 15.7, 0},
                                           {specverify::id_code::prior, 8, 13.7, 0},
                                           {specverify::id_code::noise, 4, 14.3, 0}};

void add_own_options(CLI::App& app, arguments& given) {
  add_model_options(app, given);
  app.add_option("--prompts", given.prompts, "file with one prompt per line; the texts use the prompts in turn")
      ->capture_default_str();
  app.add_flag("--raw", given.raw, "use the prompts as they are, without a chat template");
  app.add_option(
      "--prior", given.prior,
      "file with the table of id weights for the result lines marked `with table`. If there is no such file, the "
      "program makes the table from texts of the target, and writes it there; default: "
      "build/llama/NAME.prior, with the name of the target");
  app.add_option("--prior-prompts", given.prior_prompts,
                 "file with one prompt per line; the target continues them to make the texts for the table")
      ->capture_default_str();
  app.add_option("--prior-texts", given.prior_texts, "number of texts from which the table is made")
      ->capture_default_str()
      ->check(CLI::Range(5, 100'000));
  app.add_option("--prior-bytes", given.prior_bytes,
                 "largest size of the table in bytes; default: 16384 + the vocabulary size")
      ->check(CLI::Range(std::size_t{81}, std::size_t{1} << 28));
}

//! Reads prompts, one per line.
std::vector<text_drawer::text> prompts_of(const std::string& name, const engine& target, bool with_template) {
  std::vector<text_drawer::text> prompts;
  std::ifstream file(name);
  for (std::string line; std::getline(file, line);)
    prompts.push_back(prompt_of(target, {{"user", line}}, with_template));
  if (prompts.empty()) throw std::runtime_error("cannot read " + name);
  return prompts;
}

//! Draws texts of the target after prompts that are not measured.
priors::texts texts_for_table(const arguments& given, const engine& target) {
  constexpr std::size_t at_a_time = 32;
  const std::vector<text_drawer::text> all = prompts_of(given.prior_prompts, target, !given.raw);
  text_drawer drawer(target, given.prior_tokens, given.threads);
  priors::texts texts;
  for (std::size_t number = 0; number < given.prior_texts;) {
    std::vector<text_drawer::text> prompts;
    for (; prompts.size() < at_a_time && number < given.prior_texts; ++number)
      prompts.push_back(all[number % all.size()]);
    for (text_drawer::text& one : drawer.draw(prompts)) texts.push_back(std::move(one));
  }
  return texts;
}

//! Makes the table. It gets its name when it is complete, so an interrupted call leaves no damaged table.
void make_table(const arguments& given, const engine& target) {
  const std::string unfinished = given.prior + ".new";
  std::ofstream out(unfinished, std::ios::binary);
  if (!out) throw std::runtime_error("cannot write " + unfinished);
  const priors::texts texts = texts_for_table(given, target);
  std::size_t ids = 0;
  for (const text_drawer::text& one : texts) ids += one.size();
  const std::uint32_t vocab_size = target.vocab_size();
  const std::size_t most = given.prior_bytes > 0 ? given.prior_bytes : std::size_t{16384} + vocab_size;
  const std::vector<std::byte> made = priors::train(texts, {vocab_size, most});
  out.write(reinterpret_cast<const char*>(made.data()), static_cast<std::streamsize>(made.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + unfinished);
  std::filesystem::rename(unfinished, given.prior);
  std::printf("%s: %zu bytes from %zu ids that the target drew in %zu texts\n", given.prior.c_str(), made.size(), ids,
              texts.size());
  std::fflush(stdout);
}

//! Prints the library's share of the time of a round (median over the rounds).
void print_share(std::vector<recorded::round_time> rounds) {
  if (rounds.empty()) return;
  const auto median = [&](auto part) {
    const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
    std::nth_element(rounds.begin(), middle, rounds.end(),
                     [&](const auto& a, const auto& b) { return part(a) < part(b); });
    return part(*middle);
  };
  const double share = median([](const recorded::round_time& one) { return one.library / one.both(); });
  const double library = median([](const recorded::round_time& one) { return one.library; });
  const double both = median([](const recorded::round_time& one) { return one.both(); });
  std::printf(
      "\nA round of shared noise with a table and 4 drafts takes %.1f ms, of which the library takes %.0f us at both\n"
      "ends: %.2f %% (medians of %zu rounds).\n",
      both * 1e3, library * 1e6, share * 100, rounds.size());
}

int measure(arguments& given) {
  engine target(given.cloud_model, given.context, given.threads),
      drafter(given.edge_model, given.context, given.threads);
  check_pair(target, drafter);
  const std::string name = name_of(given.cloud_model), other = name_of(given.edge_model);
  std::printf("target %s, drafter %s\n", name.c_str(), other.c_str());
  if (given.prior.empty()) given.prior = "build/llama/" + name + ".prior";
  if (!std::filesystem::exists(given.prior)) make_table(given, target);
  const specverify::prior_table table = programs::read_prior_file(given.prior, target.vocab_size());
  recorded::uplink_pair pair{.vocab_size = target.vocab_size(),
                             .fingerprint = target.fingerprint(),
                             .ends = {target.ends().begin(), target.ends().end()}};
  const std::vector<text_drawer::text> prompts = prompts_of(given.prompts, target, !given.raw);
  for (std::uint32_t i = 0; i < given.texts; ++i) pair.prompts.push_back(prompts[i % prompts.size()]);
  std::printf("%u texts of up to %u tokens, temperature 1, V = %u; bits of draft messages\n\n", given.texts,
              given.tokens, pair.vocab_size);
  const recorded::experiment<engine> sessions(given, pair, table, drafter, target);
  std::span<const recorded::uplink_goal> wanted;
  if (name == default_target && other == default_drafter) wanted = goals;
  const recorded::uplink_report report = recorded::print_report(given, sessions, wanted);
  print_share(report.rounds);
  return !report.good && given.check ? 1 : 0;
}

}  // namespace

static int run(int argc, char** argv) {
  arguments given;
  given.texts = 20;
  CLI::App app{"Measures how many bits a session of two GGUF models sends on the uplink (docs/choosing.md)."};
  add_own_options(app, given);
  recorded::add_options(app, given);
  return llama_pair::run_quietly("llama_uplink", app, argc, argv, [&] { return measure(given); });
}

int main(int argc, char** argv) {
  return programs::with_output("llama_uplink", [&] { return run(argc, argv); });
}
