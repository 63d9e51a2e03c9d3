// SPDX-License-Identifier: Apache-2.0
//! Parses the command line of the programs that record rows, for every pair of models.
#ifndef SPECVERIFY_APPS_ROWS_RECORD_ARGUMENTS_HPP
#define SPECVERIFY_APPS_ROWS_RECORD_ARGUMENTS_HPP

#include <specverify/vocabulary/fingerprint.hpp>

#include "record.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace recorded {

struct record_arguments {
  std::vector<std::string> prompts;
  std::string file, draw = "p", logits = "f32";
  bool states = false;
  rows_plan plan{.rows = 500};
  record_settings settings{};
};

inline void add_options(CLI::App& app, record_arguments& given) {
  app.add_option("PROMPT", given.prompts,
                 "prompt from which to generate text; repeatable: each new text uses the next prompt")
      ->required();
  app.add_option("-o,--out", given.file, "output file, in the format rows-1")->required();
  app.add_option("-n,--rows", given.plan.rows, "number of rows (one text position each) to record per model")
      ->capture_default_str()
      ->check(CLI::Range(1u, 10'000'000u));
  app.add_option(
         "--draw", given.draw,
         "distribution from which the next token of a text is drawn: p (the target's) or q (the one that K-SQS sends)")
      ->capture_default_str()
      ->check(CLI::IsMember({"p", "q"}));
  app.add_option("--seed", given.settings.seed, "random seed for drawing the texts' tokens")->capture_default_str();
  app.add_option("--temperature", given.settings.temperature,
                 "sampling temperature for drawing the texts' tokens; recorded logits do not depend on it")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e3));
  app.add_option("--logits", given.logits, "number format of the recorded logits")
      ->capture_default_str()
      ->check(CLI::IsMember({"f16", "f32"}));
  app.add_option(
      "--top", given.plan.top,
      "record only this many of the largest logits per row, plus the log-sum-exp of the others; 0: all logits");
  app.add_flag("--states", given.states,
               "also record the hidden states of both models and the attention of the drafter");
}

//! Properties of a pair of models that a file stores, for example the hashes of the files. They do not depend on the
//! engine.
struct recorded_pair {
  std::string model, sha256_p, sha256_q;
  std::uint32_t vocab_size = 0;
  specverify::vocabulary_fingerprint fingerprint{};
};

//! Completes plan and settings from the arguments.
inline void settle(record_arguments& given, const recorded_pair& pair) {
  char fingerprint[33];
  std::snprintf(fingerprint, sizeof fingerprint, "%016llx%016llx",
                static_cast<unsigned long long>(pair.fingerprint.high),
                static_cast<unsigned long long>(pair.fingerprint.low));
  given.plan.vocab_size = pair.vocab_size;
  given.plan.logits = given.logits == "f16" ? dtype::f16 : dtype::f32;
  given.plan.about = {{"fingerprint", fingerprint},
                      {"model", pair.model},
                      {"sha256_p", pair.sha256_p},
                      {"sha256_q", pair.sha256_q},
                      {"temperature", std::to_string(given.settings.temperature)},
                      {"draw", given.draw},
                      {"seed", std::to_string(given.settings.seed)}};
  given.settings.law = given.draw == "p" ? token_law::target : token_law::sent;
}

//! Records the file that the arguments name, and prints a line with the result.
template <class Target, class Drafter>
void write_file(record_arguments& given, Target& target, Drafter& drafter,
                const std::vector<std::vector<specverify::token_id>>& prompts) {
  rows_writer out(given.file, given.plan);
  record(target, drafter, prompts, given.settings, out);
  out.finish();
  std::printf("%u rows: %s\n", given.plan.rows, given.file.c_str());
}

}  // namespace recorded

#endif
