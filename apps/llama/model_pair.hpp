// SPDX-License-Identifier: Apache-2.0
//! Has what every program with two GGUF models needs: options that name the models, the check that they form a pair,
//! and a run that turns errors into exit codes (docs/llama.md).
#ifndef LLAMA_PAIR_MODEL_PAIR_HPP
#define LLAMA_PAIR_MODEL_PAIR_HPP

#include <CLI/CLI.hpp>

#include "../standard_output.hpp"
#include "engine.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace llama_pair {

//! Adds --edge-model, --cloud-model and --threads. `given` has the members edge_model, cloud_model and threads.
template <class Arguments>
void add_model_options(CLI::App& app, Arguments& given) {
  app.add_option("--edge-model", given.edge_model, "GGUF file of the drafter (the small model)")->required();
  app.add_option("--cloud-model", given.cloud_model,
                 "GGUF file of the target (the large model), which must have the same vocabulary")
      ->required();
  app.add_option("--threads", given.threads, "number of threads per model")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
}

//! Returns a model's name: the file name without directory and extension.
[[nodiscard]] inline std::string name_of(const std::string& file) {
  return std::filesystem::path(file).stem().string();
}

//! Throws the failure `wrong pair` if the models have different vocabularies.
inline void check_pair(const engine& target, const engine& drafter) {
  if (!(target.fingerprint() == drafter.fingerprint()) || target.vocab_size() != drafter.vocab_size())
    throw failure_of({specverify::errc::fingerprint_mismatch, specverify::part::host, 0}, {});
}

//! Parses the command line, and calls `work()`, which returns the exit code, with llama.cpp's log off. Returns 2 for
//! wrong usage. Prints exceptions, and returns their own code or that of `exit_code_of`.
template <class Work>
[[nodiscard]] int run_quietly(const char* program, CLI::App& app, int argc, char** argv, const Work& work) try {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  return work();
} catch (const failure& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return static_cast<int>(error.code);
} catch (const std::exception& error) {
  return programs::exit_code_of(program, error);
}

}  // namespace llama_pair

#endif
