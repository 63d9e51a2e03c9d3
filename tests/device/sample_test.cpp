// SPDX-License-Identifier: Apache-2.0
// Draws by the CUDA kernel, on the block simulator: the tokens, trials and rules of exec::seq.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/sample.cuh>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

//! What a batch of draws reads and writes besides its rows.
struct draws {
  explicit draws(std::uint32_t count) : keys(count), positions(count), rounds(count), tokens(count) {
    for (std::uint32_t r = 0; r < count; ++r) {
      keys[r] = {{r * 7919u + 1u, 0xC0FFEEu ^ r}};
      positions[r] = 100 + r;
      rounds[r] = r % 5;
    }
  }
  void name_to(simulator::device& gpu) {
    gpu.input(keys.data(), keys.size());
    gpu.input(positions.data(), positions.size());
    gpu.input(rounds.data(), rounds.size());
    gpu.output(tokens.data(), tokens.size());
  }
  [[nodiscard]] device_stream<> stream() const {
    return device_uniforms<>{keys.data(), 1, positions.data(), rounds.data()}.at(purpose::bonus_draw, 3);
  }
  std::vector<philox_key> keys;
  std::vector<std::uint32_t> positions, rounds;
  std::vector<device_token> tokens;
};

template <class Scalar>
void launch(batch<Scalar>& rows, draws& drawn, std::uint32_t trial_cap) {
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  REQUIRE(sample(exec::cuda{}, rows.made(), drawn.stream(), drawn.tokens.data(), {trial_cap}).ok());
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint64_t seed, std::uint32_t trial_cap = 32) {
  draws drawn(rows.count());
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  drawn.name_to(gpu);
  launch(rows, drawn, trial_cap);
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    std::vector<std::byte> bytes(digest_workspace_size(rows.size(), rows.host_transform(r), {}));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), {}, scratch);
    const device_token& found = drawn.tokens[r];
    REQUIRE(found.why == reading.error());
    if (!reading) continue;
    const uniforms random{philox{drawn.keys[r]}, drawn.positions[r], drawn.rounds[r]};
    const auto expected = reading->sample(random.at(purpose::bonus_draw, 3), {.trial_cap = trial_cap});
    REQUIRE(expected.ok());
    REQUIRE(found.token == expected->token);
    REQUIRE(found.trials == expected->trials);
    REQUIRE(found.exact == expected->exact);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("draws from hard rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 3u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size);
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      compare(rows, seed);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      compare(rows, seed + 1);
    }
  }
}

TEST_CASE("many draws from one flat row, and the exact rule behind few trials") {
  for (const std::uint32_t trial_cap : {0u, 1u, 2u, 32u}) {
    batch<float> rows(is_long() ? 2000 : 200, 1025);
    for (std::uint32_t r = 0; r < rows.count(); ++r) {
      generator random{77};
      for (std::uint32_t id = 0; id < rows.size(); ++id) rows.set(r, id, random.normal());
    }
    compare(rows, trial_cap, trial_cap);
  }
}

TEST_CASE("draws from a large vocabulary, and from more blocks than are staged") {
  batch<float> rows(3, large_size);
  rows.fill(13, 5);
  compare(rows, 2);
  batch<bfloat16_bits> wide(1, 513 * 1024 + 3);
  wide.fill(15, 8);
  compare(wide, 1);
}

TEST_CASE("rows that begin anywhere, and rows in error") {
  batch<float> rows(9, 1031, 2, 3);
  rows.fill(6, 4);
  rows.set(4, 1030, row_cases::nan_value());
  rows.set(5, 0, row_cases::infinity);
  compare(rows, 6);
}

TEST_CASE("digest and draw together read little more than the row") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  draws drawn(1);
  simulator::device gpu;
  rows.name_to(gpu);
  drawn.name_to(gpu);
  launch(rows, drawn, 32);
  CHECK(gpu.report() == "");
  CHECK(static_cast<double>(gpu.bytes_read(rows.row(0))) <= 1.02 * large_size * sizeof(float));
}

TEST_CASE("keys that stand apart") {
  batch<float> rows(3, 100);
  rows.fill(15, 1);
  draws drawn(3);
  const std::vector<philox_key> apart{drawn.keys[0], {}, drawn.keys[1], {}, drawn.keys[2]};
  simulator::device gpu;
  rows.name_to(gpu);
  drawn.name_to(gpu);
  gpu.input(apart.data(), apart.size());
  launch(rows, drawn, 32);
  const std::vector<device_token> side_by_side = drawn.tokens;
  auto stream = drawn.stream();
  stream.keys = apart.data();
  stream.key_pitch = 2;
  REQUIRE(sample(exec::cuda{}, rows.made(), stream, drawn.tokens.data()).ok());
  for (std::uint32_t r = 0; r < 3; ++r) CHECK(drawn.tokens[r].token == side_by_side[r].token);
  CHECK(gpu.report() == "");
}

TEST_CASE("one key for all rows, and missing arguments") {
  batch<float> rows(3, 100);
  rows.fill(15, 1);
  draws drawn(3);
  drawn.keys[1] = drawn.keys[2] = drawn.keys[0];
  simulator::device gpu;
  rows.name_to(gpu);
  drawn.name_to(gpu);
  launch(rows, drawn, 32);
  const std::vector<device_token> one_each = drawn.tokens;
  auto stream = drawn.stream();
  stream.key_pitch = 0;
  REQUIRE(sample(exec::cuda{}, rows.made(), stream, drawn.tokens.data()).ok());
  for (std::uint32_t r = 0; r < 3; ++r) CHECK(drawn.tokens[r].token == one_each[r].token);
  stream.rounds = nullptr;
  CHECK(sample(exec::cuda{}, rows.made(), stream, drawn.tokens.data()).code == errc::null_span);
  CHECK(gpu.report() == "");
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t seed = 0; seed < many_batches(); ++seed) {
    batch<float> rows = batch_of_many(seed);
    compare(rows, seed);
  }
}
