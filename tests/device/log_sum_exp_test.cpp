// SPDX-License-Identifier: Apache-2.0
// Log-sum-exp by one read in float, on the block simulator: the statuses of exec::seq, and its value to 2e-6.
#include <specverify/cuda/log_sum_exp.cuh>
#include <specverify/row/log_sum_exp.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

#include <cmath>

using namespace device_tests;

namespace {

constexpr std::uint32_t all_kinds = hard_rows::kinds + 1;

//! The worst error in units of what is promised.
template <class Scalar>
double compare(batch<Scalar>& rows, std::uint64_t seed) {
  std::vector<device_value> found(rows.count());
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  gpu.output(found.data(), found.size());
  REQUIRE(log_sum_exp(exec::cuda{}, rows.rows(), rows.transform(), found.data()).ok());
  REQUIRE(gpu.report() == "");
  double worst = 0;
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const auto expected = log_sum_exp(exec::seq, rows.host_row(r), rows.host_transform(r));
    REQUIRE(found[r].why == expected.error());
    if (!expected) continue;
    const double error = std::abs(found[r].value - *expected), allowed = 2e-6 + 0x1.0p-51 * std::abs(*expected);
    REQUIRE(error < allowed);
    worst = std::max(worst, error / allowed);
  }
  return worst;
}

}  // namespace

TEST_CASE_TEMPLATE("sums in float of hard rows are near the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 2u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(all_kinds, size, size % 2 * 3, static_cast<std::uint32_t>(seed % 4));
      rows.fill(0, seed);
      (void)compare(rows, seed);
      rows.transform_all(seed);
      for (std::uint32_t r = 0; r < all_kinds; ++r) rows.temperature(r) = 0.3 + 0.25 * r;
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      rows.temperature(4) = row_cases::nan_value();
      rows.temperature(5) = 1e-6;
      rows.temperature(6) = 0x1.0p120;
      (void)compare(rows, seed + 1);
    }
  }
}

TEST_CASE("a large vocabulary, spread so that distances from the largest count most") {
  double worst = 0;
  batch<float> rows(4, large_size);
  rows.fill(12, 7);
  for (std::uint32_t id = 0; id < large_size; ++id) {
    rows.set(0, id, id == 70000 ? 40.0 : 30.5 + 1e-3 * (id % 7));
    rows.set(1, id, id == 0 ? -70.1 : -79.7);
    rows.set(2, id, 1e-3 * id);  // references rise again and again
  }
  for (const double temperature : {0.9, 1.0, 1.7}) {
    for (std::uint32_t r = 0; r < 4; ++r) rows.temperature(r) = temperature;
    worst = std::max(worst, compare(rows, 2));
  }
  MESSAGE("worst error in units of what is promised: " << worst);
  CHECK(worst < 0.6);
}

TEST_CASE("numbers at the ends of their range, and rows in error") {
  batch<float> rows(9, 1551);
  rows.fill(15, 9);
  for (std::uint32_t id = 0; id < rows.size(); ++id) {
    rows.set(0, id, -row_cases::infinity);
    rows.set(1, id, -3.4028234e38);
    rows.set(2, id, id == 9 ? 3.4028234e38 : -3.4028234e38);
    rows.set(3, id, id == 1550 ? -3.4028234e38 : -row_cases::infinity);
    rows.set(4, id, 1e-45 * static_cast<double>(id % 3));
  }
  rows.set(5, 1550, row_cases::nan_value());
  rows.set(6, 700, row_cases::infinity);
  rows.set(7, 3, row_cases::infinity);
  rows.set(7, 1200, row_cases::nan_value());
  rows.temperature(8) = 1e300;
  (void)compare(rows, 1);
  for (std::uint32_t r = 0; r < 8; ++r) rows.temperature(r) = r % 2 == 0 ? 1e-6 : 0x1.0p120;
  (void)compare(rows, 2);
}

TEST_CASE("one read of a row") {
  batch<bfloat16_bits> rows(2, 32000);
  rows.fill(14, 1);
  std::vector<device_value> found(2);
  simulator::device gpu;
  rows.name_to(gpu);
  gpu.output(found.data(), found.size());
  REQUIRE(log_sum_exp(exec::cuda{}, rows.rows(), rows.transform(), found.data()).ok());
  CHECK(gpu.bytes_read(rows.row(0)) == 64000);
  CHECK(gpu.bytes_read(rows.row(1)) == 64000);
  CHECK(gpu.report() == "");
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t number = 0; number < many_batches(); ++number) {
    batch<float> rows = batch_of_many(number);
    (void)compare(rows, number);
  }
}
