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
    request.top_entries = k;
    const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), request);
    const device_support& found = selected.supports[r];
    REQUIRE(found.why == expected.outcome);
    if (!expected.outcome.ok()) continue;
    const auto ids = expected.space.template at<token_id>(expected.value.top_ids);
    const auto weights = expected.space.template at<std::uint32_t>(expected.value.top_weights);
    REQUIRE(found.size == ids.size());
    REQUIRE(found.complete == expected.value.top_complete);
    REQUIRE(std::equal(ids.begin(), ids.end(), selected.ids.data() + r * selected.pitch));
    REQUIRE(std::equal(weights.begin(), weights.end(), selected.weights.data() + r * selected.pitch));
  }
}

//! How much of the first row a selection reads behind its digest.
double share_read(batch<float>& rows, std::uint32_t k) {
  selection selected(rows.count(), k);
  simulator::device gpu;
  rows.name_to(gpu);
  selected.name_to(gpu);
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  const std::uint64_t before = gpu.bytes_read(rows.row(0));
  REQUIRE(select(exec::cuda{}, rows.made(), k, selected.out()).ok());
  CHECK(gpu.report() == "");
  return static_cast<double>(gpu.bytes_read(rows.row(0)) - before) / (rows.size() * sizeof(float));
}

//! Rows whose lane maxima say little. `kind` 0: one entry of each lane is far above the others, by place; 1: the same,
//! all equal; 2: ids descend in value; 3: they ascend; 4: half of them tie with the largest of every second lane.
void fill_hard(batch<float>& rows, std::uint32_t r, std::uint32_t kind) {
  for (std::uint32_t id = 0; id < rows.size(); ++id) {
    const bool is_top = id % 1024 / 16 == id % 61;  // one id of each lane
    const double small = 1e-6 * (id % 977), place = 1e-4 * id;
    double value = kind == 2 ? -place : place;
    if (kind < 2) value = !is_top ? small : kind == 0 ? 8.0 + place : 8.0;
    if (kind == 4) value = id % 2 == 0 ? 2.0 : is_top ? 2.5 : small;
    rows.set(r, id, value);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("the largest entries of hard rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 2u); ++seed) {
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
    const double share = share_read(rows, k);
    CAPTURE(share);
    CHECK(share <= (k == 16 ? 0.3 : 1.0));
  }
}

TEST_CASE("ties at the bar and one entry a lane: the host's entries in one read") {
  constexpr std::uint32_t size = 20001, lanes = 20 * 16;
  for (const std::uint32_t k : {1u, lanes - 1, lanes, lanes + 1, 2048u}) {
    batch<float> rows(5, size);
    for (std::uint32_t r = 0; r < 5; ++r) fill_hard(rows, r, r);
    rows.temperature(1) = 0.05;
    rows.temperature(2) = 60.0;  // neighbours share a weight
    compare(rows, k, k);
    for (std::uint32_t kind = 0; kind < 5; ++kind) {
      batch<float> one(1, size);
      fill_hard(one, 0, kind);
      CAPTURE(kind);
      CAPTURE(k);
      CHECK(share_read(one, k) <= 1.0);
    }
  }
}

TEST_CASE("W of the row goes with its largest entries, where it was asked for") {
  batch<float> rows(3, 4001);
  for (std::uint32_t r = 0; r < rows.count(); ++r) fill_hard(rows, r, r);
  rows.temperature(1) = 0.0;  // one id has all
  selection selected(rows.count(), 16);
  simulator::device gpu;
  rows.name_to(gpu);
  selected.name_to(gpu);
  REQUIRE(read_rows(exec::cuda{}, rows.made(), {false, true}).ok());
  REQUIRE(select(exec::cuda{}, rows.made(), 16, selected.out()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CHECK(selected.supports[r].total_weight >= kernel::weight_one);
    CHECK(selected.supports[r].total_weight == rows.digests.rows[r].total_weight);
  }
}

TEST_CASE("more entries than a large row has lanes with a large one, in one read") {
  batch<float> rows(1, large_size);
  fill_hard(rows, 0, 0);
  compare(rows, 2048, 1);
  CHECK(share_read(rows, 2048) <= 1.0);
}

TEST_CASE("many rows a multiprocessor, and rows of few allowed ids of which one is lifted") {
  batch<float> rows(120, 17 * 1024 + 5);
  for (std::uint32_t r = 0; r < rows.count(); ++r) fill_hard(rows, r, r % 5);
  rows.allow_few(7, 7 * 1500, 3.5f);
  compare(rows, 50, 1);
  batch<float> few(5, 17 * 1024 + 5);
  for (std::uint32_t r = 0; r < few.count(); ++r) fill_hard(few, r, r);
  few.allow_few(7, 7 * 1500, -30.0f);
  compare(few, 2047, 2);
}

TEST_CASE("rows of more blocks than there are places for, and zeros of both signs") {
  batch<float> rows(1, (1u << 20) + 1025);
  for (std::uint32_t id = 0; id < rows.size(); ++id) rows.set(0, id, 0.001 * (id * 2654435761u % 9973));
  rows.set(0, rows.size() - 1, 12.0);
  for (const std::uint32_t k : {3u, 2048u}) compare(rows, k, k);
  batch<float> zeros(2, 4001);
  for (std::uint32_t id = 0; id < zeros.size(); ++id) {
    zeros.set(0, id, id % 3 == 0 ? -0.0 : 0.0);
    zeros.set(1, id, id == 0 ? -0.0 : id % 2 == 0 ? 0.0 : -1e-30);
  }
  for (const std::uint32_t k : {5u, 300u, 2048u}) compare(zeros, k, k);
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

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t seed = 0; seed < many_batches(); ++seed) {
    batch<float> rows = batch_of_many(seed);
    compare(rows, 1 + seed * 7 % 100, seed);
  }
}
