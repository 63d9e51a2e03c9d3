// SPDX-License-Identifier: Apache-2.0
// The examples of docs/algorithms/cuda.md, on the block simulator.
#include "../../examples/cuda/engine_arrays.cu"
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
  request.top_entries = 16;
  for (std::uint32_t r = 0; r < count; ++r) {
    std::vector<std::byte> bytes(digest_workspace_size(size, transform, request));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), transform, request, scratch);
    REQUIRE(reading.ok());
    const auto drawn = reading->sample(uniforms{philox{key}, places[r], places[r]}.at(purpose::bonus_draw));
    REQUIRE(drawn.ok());
    CHECK(tokens[r].token == drawn->token);
    const auto digest = row_cases::make_digest(exec::seq, rows.host_row(r), transform, request);
    const auto expected = digest.space.at<token_id>(digest.value.top_ids);
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

TEST_CASE("a step of an engine's arrays: what arrives in the batch, and the tokens that come back") {
  constexpr std::uint32_t requests = 3, size = 300, width = 4, drafted = 5;
  const std::vector<std::uint32_t> begin{0, 2, 2, drafted};
  batch<float> rows(drafted + requests, size, 3);
  rows.fill(9, 3);
  const std::vector<float> temperatures{0.0f, 0.7f, 1.5f}, top_p{1.0f, 0.75f, 0.5f};
  const std::vector<std::int32_t> top_k{-1, 40, static_cast<std::int32_t>(size)};
  const std::vector<token_id> ids{7, 9, 1, 2, 3};
  const std::vector<std::uint32_t> places{5, 6, 7};
  const philox_key key{{3, 4}};
  std::vector<double> wide(rows.count());
  std::vector<row_truncation> cuts(rows.count());
  std::vector<device_draft> drafts(drafted);
  std::vector<device_verdict> verdicts(requests);
  std::vector<token_id> tokens(requests * width);
  const engine_arrays engine{
      {temperatures.data(), top_k.data(), top_p.data(), nullptr}, ids.data(), tokens.data(), width};
  const batch_arrays arrays{wide.data(), cuts.data(), drafts.data()};
  device_rounds<float> rounds;
  rounds.rows = rows.rows();
  rounds.count = requests;
  rounds.draft_begin = begin.data();
  rounds.transform.kept_capacity = size;
  point_to(rounds, arrays);
  const std::size_t needed = verify_memory_size(rounds);
  aligned_memory<std::byte> scratch(needed);
  const auto name_inputs = [&](simulator::device& gpu) {
    for (const auto* list : {&temperatures, &top_p}) gpu.input(list->data(), requests);
    gpu.input(top_k.data(), requests);
    gpu.input(ids.data(), drafted);
    gpu.input(begin.data(), begin.size());
  };
  {
    simulator::device gpu({.seed = 8});
    name_inputs(gpu);
    gpu.output(wide.data(), wide.size());
    gpu.output(cuts.data(), cuts.size());
    gpu.output(drafts.data(), drafts.size());
    REQUIRE(launch(nullptr, requests, take_kernel, engine, rounds, arrays).ok());
    CHECK(gpu.report() == "");
  }
  simulator::device gpu({.seed = 9});  // structs are copied with the bytes between their fields, which are inputs here
  rows.name_to(gpu);
  name_inputs(gpu);
  gpu.input(wide.data(), wide.size());
  gpu.input(cuts.data(), cuts.size());
  gpu.input(drafts.data(), drafts.size());
  gpu.input(places.data(), requests);
  gpu.input(&key, 1);
  gpu.output(verdicts.data(), requests);
  gpu.output(tokens.data(), tokens.size());
  gpu.output(scratch.data(), needed);
  const device_uniforms<> random{&key, 0, places.data(), places.data()};
  const device_memory memory{scratch.data(), needed};
  REQUIRE(verify_batch(exec::cuda{}, device_token_rule{}, rounds, random, {verdicts.data(), nullptr}, memory).ok());
  REQUIRE(
      launch(nullptr, requests, give_kernel, engine, rounds, static_cast<const device_verdict*>(verdicts.data())).ok());
  CHECK(gpu.report() == "");
  for (std::uint32_t i = 0; i < requests; ++i) {
    CAPTURE(i);
    for (std::uint32_t row = begin[i] + i; row < begin[i + 1] + i + 1; ++row) {
      CHECK(wide[row] == static_cast<double>(temperatures[i]));
      CHECK(cuts[row].top_k == (i == 1 ? 40 : 0));  // none, 40, and one that cuts nothing
      CHECK(cuts[row].top_p == static_cast<double>(top_p[i]));
      CHECK(cuts[row].min_p == 0);
    }
    const verdict& made = verdicts[i].decided;
    REQUIRE(verdicts[i].why.ok());
    REQUIRE(made.commit_length == made.accepted + 1);
    for (std::uint32_t k = 0; k < width; ++k) {
      token_id expected = -1;
      if (k < made.accepted) expected = ids[begin[i] + k];
      if (k == made.accepted) expected = made.next_token;
      CHECK(tokens[i * width + k] == expected);
    }
  }
}
