// SPDX-License-Identifier: Apache-2.0
// llama_law FILE ROUNDS: rounds of the shipped rule over the rows of a rows-1 file (f32, at least 3 rows). Exit code 0:
// the emitted tokens have the target's law, and the test would see another law. Part `law` of tests/engine/run.sh.
#include "rows_law.hpp"

#include <cstdio>
#include <string>

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: llama_law FILE ROUNDS\n"), 2;
  const recorded::rows_file file(argv[1]);
  if (file.size() < 3) return std::fprintf(stderr, "llama_law: a round takes three rows\n"), 2;
  const auto rounds = static_cast<std::uint32_t>(std::stoul(argv[2]));
  const recorded::emitted_law found = recorded::play_rounds(file, rounds);
  std::printf(
      "law: %llu tokens of %u rounds over %zu recorded rows, V = %u; chi-square against the target's law: p-value "
      "%.3g, against the drafter's: %.3g\n",
      static_cast<unsigned long long>(found.tokens), rounds, file.size(), file.vocab_size(), found.of_target,
      found.of_drafter);
  return rounds >= 20'000 && found.of_target > 1e-4 && found.of_drafter < 1e-12 ? 0 : 1;
} catch (const std::exception& why) {
  return std::fprintf(stderr, "llama_law: %s\n", why.what()), 1;
}
