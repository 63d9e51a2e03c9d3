// SPDX-License-Identifier: Apache-2.0
// Greedy tokens by the CUDA kernel, on the block simulator: token and margin of exec::seq bit for bit.
#include <specverify/cuda/argmax.cuh>
#include <specverify/row/argmax.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint64_t seed) {
  std::vector<device_argmax> found(rows.count());
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  gpu.output(found.data(), found.size());
  REQUIRE(argmax(exec::cuda{}, rows.rows(), rows.transform(), found.data()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const auto expected = argmax(exec::seq, rows.host_row(r), rows.host_transform(r));
    REQUIRE(found[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(found[r].token == expected->token);
    REQUIRE(found[r].near_tie == expected->near_tie);
    REQUIRE(same_bits(found[r].margin, expected->margin));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("greedy tokens of hard rows", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 2u); ++seed) {
      batch<Scalar> rows(hard_rows::kinds + 1, size);
      rows.fill(0, seed);
      compare(rows, seed);
      rows.transform_all(seed);
      compare(rows, seed + 1);
    }
  }
}

TEST_CASE("greedy tokens of a large vocabulary, read once, and of rows that begin anywhere") {
  batch<float> rows(2, large_size);
  rows.fill(14, 5);
  compare(rows, 3);
  {
    std::vector<device_argmax> found(2);
    simulator::device gpu;
    rows.name_to(gpu);
    gpu.output(found.data(), 2);
    REQUIRE(argmax(exec::cuda{}, rows.rows(), rows.transform(), found.data()).ok());
    CHECK(gpu.bytes_read(rows.row(1)) == large_size * sizeof(float));
  }
  for (const std::uint32_t offset : {1u, 2u, 3u}) {
    batch<float> shifted(4, 4001, offset, offset);
    shifted.fill(4, offset);
    compare(shifted, offset);
  }
}

TEST_CASE("zeros of both signs: the value of the smaller id, as on the host") {
  batch<float> rows(4, 70);
  for (std::uint32_t r = 0; r < 4; ++r) {
    for (std::uint32_t id = 0; id < 70; ++id) rows.set(r, id, -1.0);
    rows.set(r, 5, r % 2 == 0 ? 0.0 : -0.0);
    rows.set(r, 60, r % 2 == 0 ? -0.0 : 0.0);
    if (r > 1) rows.set(r, 40, 1.0);
  }
  compare(rows, 1);
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    if (i % 2 == 1) rows.transform_all(i);
    compare(rows, i);
  }
}

TEST_CASE("a NaN at every place of a block and a half") {
  batch<float> rows = nan_at_every_place(1551);
  compare(rows, 1);
}

TEST_CASE("a NaN at every place, +infinity, nothing finite") {
  const std::uint32_t size = 300;
  batch<float> rows(size + 2, size);
  rows.fill(15, 2);
  for (std::uint32_t r = 0; r < size; ++r) rows.set(r, r, row_cases::nan_value());
  for (std::uint32_t id = 0; id < size; ++id) rows.set(size, id, -row_cases::infinity);
  rows.set(size + 1, 299, row_cases::infinity);
  compare(rows, 1);
  simulator::device gpu;
  CHECK(argmax(exec::cuda{}, rows.rows(), rows.transform(), nullptr).code == errc::null_span);
}
