// SPDX-License-Identifier: Apache-2.0
//! Lists the paths that read one row: the largest entry, digests with and without options, sums and probabilities.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_ROW_PATHS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_ROW_PATHS_HPP

#include <specverify/quantize/draft_law.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/row/softmax.hpp>
#include <specverify/sparsify/threshold.hpp>

#include "path.hpp"

#include <vector>

namespace bench_goals {

using namespace specverify;

//! Reads a row into a workspace of the path, and draws a token if `draws` is true.
inline path reading(std::string name, std::uint32_t vocab_size, const read_request& request, bool draws = false) {
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, request));
  return {std::move(name),
          [memory = std::move(memory), request, draws, round = 0u](std::span<const float> row) mutable {
            workspace scratch{std::span(memory)};
            const auto read = read_row(exec::simd, logits_row(row), {}, request, scratch);
            must(read.ok(), "read_row");
            keep(read->argmax());
            if (!draws) return;
            const auto drawn = read->sample(uniforms{philox{{1, 2}}, round++, 0}.at(purpose::bonus_draw));
            must(drawn.ok(), "sample");
            keep(drawn->token);
          }};
}

//! Reads a truncated row.
inline path truncated(std::string name, std::uint32_t vocab_size, const row_truncation& truncation) {
  row_transform transform;
  transform.truncation = truncation;
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, transform, {}));
  return {std::move(name), [memory = std::move(memory), transform](std::span<const float> row) mutable {
            workspace scratch{std::span(memory)};
            const auto read = read_row(exec::simd, logits_row(row), transform, {}, scratch);
            must(read.ok(), "read_row");
            keep(read->total_weight());
          }};
}

//! Reads a row for a rule and calls the sparsifier.
inline path decision(std::string name, std::uint32_t vocab_size, const threshold& sparsifier) {
  const read_request request = sparsifier.request({}, vocab_size);
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, request)),
      more(sparsifier.workspace_size({}, vocab_size));
  return {std::move(name), [memory = std::move(memory), more = std::move(more), request,
                            sparsifier](std::span<const float> row) mutable {
            workspace reading{std::span(memory)}, scratch{std::span(more)};
            const auto read = read_row(exec::simd, logits_row(row), {}, request, reading);
            must(read.ok(), "read_row");
            const auto kept = sparsifier.select(*read, {}, scratch);
            must(kept.ok(), "select");
            keep(kept->size());
          }};
}

//! Reads a row and computes the dense lattice point.
inline path dense_point(std::string name, std::uint32_t vocab_size, std::uint32_t resolution) {
  const draft_law_options options{law_format::dense_lattice, resolution};
  const read_request request = draft_law_request(vocab_size, top_k{}, {}, options);
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, request)),
      more(draft_law_workspace_size(vocab_size, top_k{}, {}, options));
  return {std::move(name),
          [memory = std::move(memory), more = std::move(more), request, options](std::span<const float> row) mutable {
            workspace reading{std::span(memory)}, scratch{std::span(more)};
            const auto read = read_row(exec::simd, logits_row(row), {}, request, reading);
            must(read.ok(), "read_row");
            const auto made = make_draft_law(*read, top_k{}, {}, options, scratch);
            must(made.ok(), "make_draft_law");
            keep(made->drafted.size);
          }};
}

inline read_request top_entries(std::uint32_t count, bool total = false) {
  read_request request;
  request.top_entries = count;
  request.integer_total = total;
  return request;
}

//! Returns the largest entries of a row that needs no draws.
inline path largest(std::string name, std::uint32_t vocab_size, std::uint32_t count) {
  read_request request = top_entries(count);
  request.sums = false;
  return reading(std::move(name), vocab_size, request);
}

//! Reads a row for a race, and races.
inline path race(std::uint32_t vocab_size, std::string name = "race", noise_kind kind = noise_kind::philox) {
  const read_request request = race_request(vocab_size);
  std::vector<std::byte> memory(digest_workspace_size(vocab_size, {}, request));
  return {std::move(name),
          [memory = std::move(memory), request, kind, position = 0u](std::span<const float> row) mutable {
            workspace scratch{std::span(memory)};
            const auto read = read_row(exec::simd, logits_row(row), {}, request, scratch);
            must(read.ok(), "read_row");
            const auto token = read->race({kind, 1}, position++);
            must(token.ok(), "race");
            keep(*token);
          }};
}

inline std::vector<path> ordinary_paths(std::uint32_t vocab_size) {
  std::vector<path> paths;
  paths.push_back({"argmax", [](std::span<const float> row) {
                     const auto found = argmax(exec::simd, logits_row(row), {});
                     must(found.ok(), "argmax");
                     keep(found->token);
                   }});
  paths.push_back(reading("digest", vocab_size, {}));
  paths.push_back(reading("digest, sample", vocab_size, {}, true));
  paths.push_back(reading("digest, top-64", vocab_size, top_entries(64)));
  paths.push_back(reading("digest, top-1024", vocab_size, top_entries(1024)));
  paths.push_back(largest("top-64", vocab_size, 64));
  paths.push_back(race(vocab_size));
  paths.push_back(truncated("truncated, top-50 top-p", vocab_size, {50, 0.9}));
  paths.push_back(truncated("truncated, top-p", vocab_size, {0, 0.9}));
  paths.push_back(truncated("truncated, min-p", vocab_size, {0, 1.0, 0.05}));
  paths.push_back(decision("top-64 by W", vocab_size, {0.001, 64}));
  paths.push_back(dense_point("dense lattice, l = 240", vocab_size, 240));
  paths.push_back(reading("digest, total", vocab_size, top_entries(0, true)));
  paths.push_back({"log-sum-exp", [](std::span<const float> row) {
                     const auto sum = log_sum_exp(exec::simd, logits_row(row), {});
                     must(sum.ok(), "log_sum_exp");
                     keep(*sum);
                   }});
  paths.push_back({"softmax", [out = row_to_write(vocab_size)](std::span<const float> row) {
                     must(softmax(exec::simd, logits_row(row), {}, std::span(out.get(), row.size())).ok(), "softmax");
                     keep(out.get());
                   }});
  return paths;
}

}  // namespace bench_goals

#endif
