// SPDX-License-Identifier: Apache-2.0
// The kernels of whole rows in many seeded orders: nothing is found. Twins plant one bug each and must be found here.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/integer_weights.cuh>
#include <specverify/cuda/log_sum_exp.cuh>
#include <specverify/cuda/softmax.cuh>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

// Four rows with a last block of one id: a plateau, normal numbers, all equal, and one with a NaN.
batch<float> four_rows(std::uint32_t size) {
  batch<float> rows(4, size);
  rows.fill(14, 3);
  rows.set(3, size / 2, row_cases::nan_value());
  return rows;
}

}  // namespace

TEST_CASE("sums of whole rows are clean in many orders") {
  batch<float> rows = four_rows(3 * 1024 + 1);
  std::vector<device_value> values(rows.count());
  in_all_orders([&](simulator::device& gpu) {
    rows.name_to(gpu);
    gpu.output(values.data(), values.size());
    REQUIRE(log_sum_exp(exec::cuda{}, rows.rows(), rows.transform(), values.data()).ok());
    REQUIRE(values[3].why == status{errc::row_has_nan, part::row, 1536});
  });
}

TEST_CASE("rows written as laws and as integers are clean in many orders") {
  batch<float> rows = four_rows(1025);
  rows.temperature(2) = 0;
  std::vector<status> whys(rows.count());
  std::vector<device_total> totals(rows.count());
  std::vector<float> law(rows.count() * std::size_t{1025});
  std::vector<std::uint32_t> weights(law.size());
  in_all_orders([&](simulator::device& gpu) {
    rows.name_to(gpu);
    gpu.output(whys.data(), whys.size());
    gpu.output(totals.data(), totals.size());
    gpu.output(law.data(), law.size());
    gpu.output(weights.data(), weights.size());
    REQUIRE(softmax(exec::cuda{}, rows.rows(), rows.transform(), {whys.data(), law.data(), 1025}).ok());
    REQUIRE(integer_weights(exec::cuda{}, rows.rows(), rows.transform(), {totals.data(), weights.data(), 1025}).ok());
  });
}

TEST_CASE("totals of digests are clean in many orders") {
  batch<float> rows = four_rows(3 * 1024 + 1);
  in_all_orders([&](simulator::device& gpu) {
    rows.name_to(gpu);
    REQUIRE(read_rows(exec::cuda{}, rows.made(), {true, true}).ok());
  });
}
