// SPDX-License-Identifier: Apache-2.0
// The examples of docs/algorithms/cuda.md, on the block simulator.
#include "../../examples/cuda/one_step.cu"
#include "../../examples/cuda/verify_batch.cu"

#include <doctest/doctest.h>
#include <device/batches.hpp>
#include <device/rounds.hpp>

using namespace device_tests;

TEST_CASE("one step of a batch: tokens and largest entries are the host's") {
  constexpr std::uint32_t count = 6, size = 4001;
  batch<bfloat16_bits> rows(count, size, 7);
  rows.fill(10, 3);
  const philox_key key{{17, 4}};
  std::vector<std::uint32_t> places{9, 8, 7, 6, 5, 4};
  std::vector<device_token> tokens(count);
  std::vector<device_support> supports(count);
  std::vector<token_id> ids(count * 16);
  std::vector<std::uint32_t> weights(count * 16);
  simulator::device gpu({.seed = 5});
  rows.name_to(gpu);
  gpu.input(&key, 1);
  gpu.input(places.data(), count);
  gpu.output(tokens.data(), count);
  gpu.output(supports.data(), count);
  gpu.output(ids.data(), ids.size());
  gpu.output(weights.data(), weights.size());
  const step_memory memory{rows.memory(),
                           {&key, 0, places.data(), places.data()},
                           tokens.data(),
                           {supports.data(), ids.data(), weights.data(), 16}};
  REQUIRE(enqueue_step(rows.rows(), 0.8, memory, nullptr).ok());
  CHECK(gpu.report() == "");
  row_transform transform;
  transform.temperature = 0.8;
  read_request request;
  request.survivors = 16;
  for (std::uint32_t r = 0; r < count; ++r) {
    std::vector<std::byte> bytes(digest_workspace_size(size, transform, request));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), transform, request, scratch);
    REQUIRE(reading.ok());
    const auto drawn = reading->sample(uniforms{philox{key}, places[r], places[r]}.at(purpose::bonus_draw));
    REQUIRE(drawn.ok());
    CHECK(tokens[r].token == drawn->token);
    const auto digest = row_cases::make_digest(exec::seq, rows.host_row(r), transform, request);
    const auto expected = digest.space.at<token_id>(digest.value.survivor_ids);
    REQUIRE(supports[r].size == expected.size());
    CHECK(std::equal(expected.begin(), expected.end(), ids.data() + r * 16));
  }
}

TEST_CASE("one step of 64 requests: verdicts are the host's, also when the step is repeated") {
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t i = 0; i < 64; ++i) lengths.push_back(i % 9);
  batch<bfloat16_bits> rows(ragged_rounds<bfloat16_bits>::rows_for(lengths), 300);
  rows.fill(9, 3);
  ragged_rounds<bfloat16_bits> all(rows, lengths, 8);
  all.explicit_rows = all.with_budgets = all.with_stops = all.with_forced = false;
  simulator::device gpu({.seed = 6});
  all.name_to(gpu);
  const verification step{all.made(), all.random(), all.out().rounds, all.scratch()};
  for (std::uint32_t replay = 0; replay < 2; ++replay) {
    REQUIRE(enqueue_verification(step, nullptr).ok());
    CHECK(gpu.report() == "");
    for (std::uint32_t i = 0; i < all.count(); ++i) all.compare_verdict(token_rule{}, i);
  }
}
