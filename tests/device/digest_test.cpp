// SPDX-License-Identifier: Apache-2.0
// Digests by the CUDA kernel, on the block simulator: those of exec::seq bit for bit.
#include <specverify/cuda/digest.cuh>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

template <class Scalar>
void compare_row(batch<Scalar>& rows, std::uint32_t r) {
  const device_digest& found = rows.digests.rows[r];
  const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), {});
  REQUIRE(found.why == expected.outcome);
  if (!expected.outcome.ok()) return;
  const row_digest& digest = expected.value;
  REQUIRE(found.argmax == digest.argmax);
  REQUIRE(same_bits(static_cast<double>(found.maximum), digest.maximum));
  REQUIRE(same_bits(static_cast<double>(found.reference), digest.reference));
  REQUIRE(same_bits(found.temperature, digest.temperature));
  REQUIRE(same_bits(found.coarse_total, digest.coarse_total));
  REQUIRE(same_bits(found.lower, digest.lower));
  REQUIRE(same_bits(found.upper, digest.upper));
  REQUIRE(found.one_hot == digest.one_hot);
  if (digest.one_hot) return;
  const std::size_t blocks = rows.digests.blocks, first = r * blocks;
  const auto sums = expected.space.template at<double>(digest.block_sums);
  const auto lanes = expected.space.template at<float>(digest.lane_sums);
  REQUIRE(std::memcmp(rows.digests.block_sums + first, sums.data(), blocks * sizeof(double)) == 0);
  REQUIRE(std::memcmp(rows.digests.lane_sums + first * 16, lanes.data(), blocks * 16 * sizeof(float)) == 0);
}

template <class Scalar>
void compare_maxima(batch<Scalar>& rows, std::uint32_t r) {
  const auto values =
      row_cases::transformed(std::vector<Scalar>(rows.row(r), rows.row(r) + rows.size()), rows.host_transform(r));
  for (std::uint32_t lane = 0; lane < rows.digests.blocks * 16; ++lane) {
    double most = -row_cases::infinity;
    const std::uint32_t first = lane / 16 * 1024;
    for (std::uint32_t id = first + lane % 16; id < std::min(first + 1024, rows.size()); id += 16)
      most = std::max(most, values[id]);
    REQUIRE(static_cast<double>(rows.digests.lane_maxima[std::size_t{r} * rows.digests.blocks * 16 + lane]) == most);
  }
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint64_t seed) {
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    compare_row(rows, r);
    if (rows.digests.rows[r].why.ok()) compare_maxima(rows, r);
  }
}

constexpr std::uint32_t all_kinds = hard_rows::kinds + 1;

}  // namespace

TEST_CASE_TEMPLATE("digests of hard rows equal the host's bit for bit", Scalar, float, float16_bits, bfloat16_bits) {
  const std::uint64_t orders = is_long() ? 40 : 3;
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
      CAPTURE(size);
      CAPTURE(seed);
      batch<Scalar> rows(all_kinds, size);
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < all_kinds; ++r) rows.temperature(r) = seed == 0 ? 1.0 : 0.3 + 0.25 * r;
      compare(rows, seed);
    }
  }
}

TEST_CASE("digests of a large vocabulary") {
  batch<float> rows(4, large_size);
  rows.fill(12, 5);  // wide, neighbours, a plateau, normal
  for (std::uint64_t seed = 0; seed < (is_long() ? 10u : 2u); ++seed) compare(rows, seed);
  batch<bfloat16_bits> halves(1, large_size);
  halves.fill(15, 6);
  compare(halves, 1);
}

TEST_CASE("a row of more blocks than its threads take at once") {
  batch<float> rows(2, 3 * 128 * 1024 + 5);  // the third and fourth pass hold no first logits
  rows.fill(14, 3);
  compare(rows, 2);
}

TEST_CASE_TEMPLATE("rows that begin anywhere, with padding that is never read", Scalar, float, bfloat16_bits) {
  for (const std::uint32_t offset : {1u, 2u, 3u}) {
    batch<Scalar> rows(5, 4001, offset * 2, offset);
    rows.fill(11, offset);
    compare(rows, offset);
  }
}

TEST_CASE_TEMPLATE("biases, masks and temperatures of each row", Scalar, float, float16_bits) {
  for (const std::uint32_t size : sizes) {
    batch<Scalar> rows(all_kinds, size, 3, 1);
    rows.fill(0, size);
    rows.transform_all(size);
    for (std::uint32_t r = 0; r < all_kinds; ++r) rows.temperature(r) = r == 3 ? 0.0 : r == 5 ? 1e-7 : 0.1 * (r + 1);
    rows.temperature(7) = -1.0;
    rows.temperature(8) = row_cases::nan_value();
    compare(rows, size);
  }
}

TEST_CASE("a NaN, +infinity or nothing finite: the host's status, at every place of a block and a half") {
  const std::uint32_t size = 1551;
  for (const double bad : {row_cases::nan_value(), row_cases::infinity}) {
    batch<float> rows(size, size);
    rows.fill(15, 9);
    for (std::uint32_t r = 0; r < size; ++r) rows.set(r, r, bad);
    for (std::uint32_t r = 7; r < size; r += 7) rows.set(r, (r * 31) % size, row_cases::nan_value());
    compare(rows, 1);
  }
  batch<float> rows(3, size);
  for (std::uint32_t r = 0; r < 3; ++r)
    for (std::uint32_t id = 0; id < size; ++id) rows.set(r, id, -row_cases::infinity);
  rows.set(1, 1550, -3.0);  // one finite id
  rows.set(2, 0, 0.0);
  compare(rows, 4);
}

TEST_CASE("one read of a row: the bytes that loads ask for") {
  for (const std::uint32_t size : {4096u, 32000u, large_size, 262144u}) {
    batch<float> rows(1, size);
    rows.fill(15, 1);
    simulator::device gpu;
    rows.name_to(gpu);
    exec::cuda small;  // a card so small that no row is split
    small.tuning.multiprocessors = small.tuning.digest_blocks = 1;
    REQUIRE(read_rows(small, rows.made()).ok());
    CHECK(gpu.report() == "");
    const auto share = static_cast<double>(gpu.bytes_read(rows.row(0))) / (size * sizeof(float));
    CAPTURE(share);
    CHECK(share >= 1.0);
    CHECK(share <= 1.02);
  }
}

TEST_CASE("arguments that are refused, and nothing is launched") {
  batch<float> rows(2, 1000);
  simulator::device gpu;
  const auto launch = [&](auto&& change) {
    device_batch<float> batch = rows.made();
    change(batch.rows, batch.transform, batch.digests);
    return read_rows(exec::cuda{}, batch).code;
  };
  CHECK(launch([](auto& r, auto&, auto&) { r.size = 0; }) == errc::empty_vocabulary);
  CHECK(launch([](auto& r, auto&, auto&) { r.size = max_vocab_size + 1; }) == errc::vocabulary_too_large);
  CHECK(launch([](auto& r, auto&, auto&) { r.data = nullptr; }) == errc::null_span);
  CHECK(launch([](auto& r, auto&, auto&) { r.pitch = 999; }) == errc::size_mismatch);
  CHECK(launch([](auto& r, auto&, auto&) { r.count = 3; }) == errc::size_mismatch);
  CHECK(launch([](auto& r, auto&, auto&) { r.count = 0; }) == errc::size_mismatch);
  CHECK(launch([](auto&, auto&, auto& d) { d.blocks = 2; }) == errc::size_mismatch);
  CHECK(launch([](auto&, auto&, auto& d) { d.lane_maxima = nullptr; }) == errc::null_span);
  CHECK(launch([](auto&, auto& t, auto&) { t.temperatures = nullptr, t.temperature = -1; }) ==
        errc::invalid_temperature);
  const std::uint32_t begin[3]{};
  CHECK(launch([&](auto&, auto& t, auto&) { t.bias_begin = begin; }) == errc::null_span);
  CHECK(gpu.report() == "");
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t seed = 0; seed < many_batches(); ++seed) {
    batch<float> rows(all_kinds, 4096);
    rows.fill(0, 1000 + seed);
    for (std::uint32_t r = 0; r < all_kinds; ++r) rows.temperature(r) = 0.05 + 0.01 * (seed * 7 % 150 + r);
    compare(rows, seed);
  }
}
