// SPDX-License-Identifier: Apache-2.0
// The largest entries by the CUDA kernel, on the block simulator: ids and weights of exec::seq.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/select.cuh>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

//! Where the entries of a batch go.
struct selection {
  selection(std::uint32_t count, std::uint32_t k)
      : pitch(k + 3), supports(count), ids(count * pitch), weights(count * pitch) {}
  void name_to(simulator::device& gpu) {
    gpu.output(supports.data(), supports.size());
    gpu.output(ids.data(), ids.size());
    gpu.output(weights.data(), weights.size());
  }
  [[nodiscard]] device_supports out() { return {supports.data(), ids.data(), weights.data(), pitch}; }
  std::size_t pitch;
  std::vector<device_support> supports;
  std::vector<token_id> ids;
  std::vector<std::uint32_t> weights;
};

template <class Scalar>
void launch(batch<Scalar>& rows, selection& selected, std::uint32_t k) {
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  REQUIRE(select(exec::cuda{}, rows.made(), k, selected.out()).ok());
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint32_t k, std::uint64_t seed) {
  selection selected(rows.count(), k);
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  selected.name_to(gpu);
  launch(rows, selected, k);
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    CAPTURE(k);
    read_request request;
    request.survivors = k;
    const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), request);
    const device_support& found = selected.supports[r];
    REQUIRE(found.why == expected.outcome);
    if (!expected.outcome.ok()) continue;
    const auto ids = expected.space.template at<token_id>(expected.value.survivor_ids);
    const auto weights = expected.space.template at<std::uint32_t>(expected.value.survivor_weights);
    REQUIRE(found.size == ids.size());
    REQUIRE(found.complete == expected.value.survivors_complete);
    REQUIRE(std::equal(ids.begin(), ids.end(), selected.ids.data() + r * selected.pitch));
    REQUIRE(std::equal(weights.begin(), weights.end(), selected.weights.data() + r * selected.pitch));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("the largest entries of hard rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 30u : 2u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size);
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      compare(rows, seed == 0 ? 16 : 64, seed);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      compare(rows, seed == 0 ? 1 : 200, seed + 1);
    }
  }
}

TEST_CASE("as many as there are lanes, more than there are ids, and the most that can be asked for") {
  for (const std::uint32_t k : {15u, 16u, 17u, 64u, 65u, 1000u, 2047u, 2048u}) {
    batch<float> rows(hard_rows::kinds + 1, 4001, 1, 3);
    rows.fill(0, k);
    compare(rows, k, k);
  }
}

TEST_CASE("a large vocabulary; lists that overflow again and again") {
  for (const std::uint32_t k : {64u, 2048u}) {
    batch<float> rows(4, large_size);
    rows.fill(0, 3);  // all equal, two values, sorted up, sorted down
    if (is_long() || k == 2048) compare(rows, k, k);
    rows.fill(12, 4);
    if (is_long() || k == 64) compare(rows, k, k + 1);
  }
}

TEST_CASE("only blocks that hold large entries are read, none of them twice") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  for (const std::uint32_t k : {16u, 64u, 512u, 2048u}) {
    selection selected(1, k);
    simulator::device gpu;
    rows.name_to(gpu);
    selected.name_to(gpu);
    REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
    const std::uint64_t before = gpu.bytes_read(rows.row(0));
    REQUIRE(select(exec::cuda{}, rows.made(), k, selected.out()).ok());
    const auto share = static_cast<double>(gpu.bytes_read(rows.row(0)) - before) / (large_size * sizeof(float));
    CAPTURE(share);
    CHECK(share <= (k == 16 ? 0.3 : 1.0));
    CHECK(gpu.report() == "");
  }
}

TEST_CASE("rows in error, and arguments that are refused") {
  batch<float> rows(4, 1031);
  rows.fill(6, 4);
  rows.set(1, 1030, row_cases::nan_value());
  rows.set(2, 0, row_cases::infinity);
  compare(rows, 20, 6);
  selection selected(4, 20);
  simulator::device gpu;
  const auto code = [&](std::uint32_t k, device_supports out) { return select(exec::cuda{}, rows.made(), k, out); };
  CHECK(code(0, selected.out()).code == errc::invalid_argument);
  CHECK(code(max_device_selected + 1, selected.out()).code == errc::invalid_argument);
  CHECK(code(24, selected.out()) == status{errc::output_too_small, part::row, 24});
  CHECK(code(20, {selected.supports.data(), nullptr, selected.weights.data(), 23}).code == errc::null_span);
}

TEST_CASE("a thousand rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint64_t seed = 0; seed < (is_long() ? 625u : 63u); ++seed) {
    batch<float> rows(hard_rows::kinds + 1, 4096);
    rows.fill(0, 1000 + seed);
    for (std::uint32_t r = 0; r < rows.count(); ++r)
      rows.temperature(r) = 0.05 + 0.01 * static_cast<double>(seed % 150 + r);
    compare(rows, static_cast<std::uint32_t>(1 + seed * 7 % 100), seed);
  }
}
