// SPDX-License-Identifier: Apache-2.0
#include "support/alloc_guard.hpp"

#include <specverify/core/random.hpp>
#include <specverify/row/acceptance.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/fp16_row.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/log_probability.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/residual.hpp>
#include <specverify/row/sample.hpp>
#include <specverify/row/softmax.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {
struct one_count {
  std::uint32_t resolution = 10;
  std::uint32_t count(token_id id) const noexcept { return id == 5 ? 10 : 0; }
};
}  // namespace

TEST_CASE("PKG-2 row: no operation allocates") {
  const auto row = row_of<float>(normal_logits(5000, 2));
  read_request request;
  request.survivors = 64;
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
      row_digest from;
      sampled_token drawn_token;
      residual_token next;
      acceptance answer;
      argmax_result best;
      fp16_row halves;
      double number = 0;
      std::uint64_t total = 0;
      bool fine = true;
      const specverify_test::alloc_guard guard;
      fine = fine && digest(policy, logits(row), transform, request, space, from).ok();
      fine =
          fine && sample(policy, logits(row), transform, from, space, philox{}, random_counter{}, {}, drawn_token).ok();
      fine = fine && residual(policy, logits(row), transform, from, space, one_count{}, 1.0, philox{}, random_counter{},
                              {}, next)
                         .ok();
      fine = fine && accept_token(policy, logits(row), transform, from, space, 5, 1, 10, 0.5, answer).ok();
      fine = fine && log_probability(policy, logits(row), transform, from, space, 5, number).ok();
      fine = fine && fp16_row_counts(policy, logits(row), transform, from, space, std::span<token_id>(ids),
                                     std::span<std::uint32_t>(counts), halves)
                         .ok();
      fine = fine && argmax(policy, logits(row), {}, best).ok() && log_sum_exp(policy, logits(row), {}, number).ok();
      fine = fine && softmax(policy, logits(row), {}, std::span<float>(law)).ok();
      fine = fine && integer_weights(policy, logits(row), {}, std::span<std::uint32_t>(counts), total).ok();
      const auto allocations = guard.count();
      CHECK(fine);
      CHECK(allocations == 0);
    }
  });
}
