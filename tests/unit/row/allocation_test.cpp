// SPDX-License-Identifier: Apache-2.0
#include "support/alloc_guard.hpp"

#include <specverify/core/random.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/blocks.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/row/softmax.hpp>
#include <specverify/row/tempered.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {
struct one_count {
  std::uint32_t resolution = 10;
  std::uint32_t count(token_id id) const noexcept { return id == 5 ? 10 : 0; }
};

struct one_point {
  const token_id ids[1] = {5};
  const std::uint32_t counts[1] = {10};
  std::uint32_t size = 1, tail_count = 0, resolution = 10, vocab_size = 5000;
  std::uint32_t count(token_id id) const noexcept { return id == 5 ? 10 : 0; }
};
}  // namespace

TEST_CASE("PKG-2 row: no operation allocates") {
  const auto row = row_of<float>(normal_logits(5000, 2));
  read_request request;
  request.top_entries = 64;
  request.minimum_probability = 0.001;
  request.exact_normaliser = true;
  std::vector<float> law(5000);
  std::vector<std::uint32_t> counts(5000);
  std::vector<token_id> ids(5000);
  for_each_policy([&](auto policy) {
    row_transform cut;
    cut.truncation = {50, 0.9, 0.0, truncation_order::top_k_then_top_p};
    for (const row_transform& transform : {row_transform{}, cut}) {
      std::vector<std::byte> memory(digest_workspace_size(5000, transform, request));
      workspace space{std::span<std::byte>(memory)};
      argmax_result best;
      const one_point point;
      double number = 0;
      std::uint64_t total = 0;
      bool fine = true;
      const specverify_test::alloc_guard guard;
      const auto from = read_row(policy, logits(row), transform, request, space);
      fine = fine && from.ok() && from->sample(uniforms<>{}.at(purpose::bonus_draw)).ok();
      fine = fine && from->residual(one_count{}, uniforms<>{}.at(purpose::residual_draw)).ok();
      fine = fine && from->accept({5, 1, 10}, 0.5).ok() && from->log_probability(5).ok();
      fine = fine && from->fp16_counts(ids, counts).ok() && from->acceptance_probability(point).ok();
      fine = fine && take(best, argmax(policy, logits(row), {})).ok() &&
             take(number, log_sum_exp(policy, logits(row), {})).ok();
      fine = fine && softmax(policy, logits(row), {}, std::span<float>(law)).ok();
      space.rewind(0);
      const auto bare = read_row(policy, logits(row), transform, {.top_entries = 64, .sums = false}, space);
      fine = fine && bare.ok() && bare->sample(uniforms<>{}.at(purpose::bonus_draw)).ok();
      fine = fine && take(total, integer_weights(policy, logits(row), {}, std::span<std::uint32_t>(counts))).ok();
      const auto allocations = guard.count();
      CHECK(fine);
      CHECK(allocations == 0);
    }
  });
}

TEST_CASE("PKG-2 row: neither bounds nor readings from claimed blocks allocate") {
  const auto row = row_of<float>(normal_logits(5000, 2));
  constexpr std::uint32_t block_size = 1024;
  std::vector<float> maxima, sums;
  for (std::size_t first = 0; first < row.size(); first += block_size) {
    const auto block = std::span(row).subspan(first, std::min<std::size_t>(block_size, row.size() - first));
    maxima.push_back(*std::max_element(block.begin(), block.end()));
    double sum = 0;
    for (const float z : block) sum += std::exp(static_cast<double>(z) - static_cast<double>(maxima.back()));
    sums.push_back(static_cast<float>(sum));
  }
  const row_blocks blocks{block_size, maxima, sums, 1e-5};
  read_request request;
  request.top_entries = 64;
  const std::vector<double> temperatures{0.25, 0.75, 1.5}, drawn{0.5, 0.125, 0.9};
  for_each_policy([&](auto policy) {
    std::vector<std::byte> memory(digest_workspace_size(5000, {}, request) +
                                  row_blocks_workspace_size(5000, block_size, {}, request));
    workspace space{std::span<std::byte>(memory)};
    std::vector<double> probabilities(3);
    std::vector<probability_bounds> bounds(3);
    bool fine = true;
    const specverify_test::alloc_guard guard;
    const auto from = read_row(policy, logits(row), {}, request, space);
    fine = fine && from.ok() && tempered_draws(*from, 5, temperatures, drawn).ok();
    fine = fine && tempered_probabilities(*from, 5, temperatures, std::span(probabilities)).ok();
    fine = fine && tempered_bounds(*from, 5, temperatures, 1e-9, std::span(bounds)).ok();
    for (int look = 0; look < 3; ++look) from->narrow_total();
    fine = fine && from->total_bounds().exact();
    fine = fine && check_blocks(policy, logits(row), {}, blocks).ok();
    const auto claimed = read_row_from_blocks(policy, logits(row), {}, request, blocks, space);
    fine = fine && claimed.ok() && claimed->sample(uniforms<>{}.at(purpose::bonus_draw)).ok();
    fine = fine && claimed->residual(one_count{}, uniforms<>{}.at(purpose::residual_draw)).ok();
    fine = fine && claimed->accept({5, 1, 10}, 0.5).ok();
    const auto allocations = guard.count();
    CHECK(fine);
    CHECK(allocations == 0);
  });
}
