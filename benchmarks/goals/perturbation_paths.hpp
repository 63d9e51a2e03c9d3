// SPDX-License-Identifier: Apache-2.0
//! Times the perturbation of the temperature: the reading of a row for it, and twenty draws.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_PERTURBATION_PATHS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_PERTURBATION_PATHS_HPP

#include <specverify/uncertainty/temperature_perturbation.hpp>

#include "path.hpp"

#include <vector>

namespace bench_goals {

//! Reads a row and counts draws at twenty temperatures that differ from the row's largest entry, because the
//! probability of that entry changes most with the temperature.
inline path perturbation_path(std::uint32_t vocab_size) {
  using namespace specverify;
  std::vector<std::byte> memory(perturbation_workspace_size(vocab_size));
  return {"digest, perturbation 20", [memory = std::move(memory), round = 0u](std::span<const float> row) mutable {
            workspace scratch{std::span(memory)};
            const perturbation_options options;
            const auto read =
                read_row(exec::simd, logits_row(row), perturbed_transform({}, options), perturbed_request(), scratch);
            must(read.ok(), "read_row");
            const auto found =
                temperature_perturbation(*read, read->argmax(), options, uniforms{philox{{1, 2}}, round++, 0});
            must(found.ok(), "temperature_perturbation");
            keep(found->disagreements);
          }};
}

}  // namespace bench_goals

#endif
