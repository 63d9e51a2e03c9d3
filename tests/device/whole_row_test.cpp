// SPDX-License-Identifier: Apache-2.0
// Log-sum-exp, softmax, integer weights and the totals of digests by CUDA kernels, on the block simulator: the bits of
// exec::seq.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/integer_weights.cuh>
#include <specverify/cuda/log_sum_exp.cuh>
#include <specverify/cuda/softmax.cuh>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/softmax.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

constexpr std::uint32_t all_kinds = hard_rows::kinds + 1;

//! Where the results of a batch go, `offset` places behind a line of memory.
struct results {
  results(std::uint32_t count, std::uint32_t size, std::uint32_t offset)
      : pitch(size + offset),
        values(count),
        whys(count),
        totals(count),
        floats(count * pitch + offset + 16),
        words(count * pitch + offset) {
    const auto at = reinterpret_cast<std::uintptr_t>(floats.data());
    first_float = floats.data() + (64 - at % 64) % 64 / sizeof(float) + offset;
  }
  void name_to(simulator::device& gpu) {
    gpu.output(values.data(), values.size());
    gpu.output(whys.data(), whys.size());
    gpu.output(totals.data(), totals.size());
    gpu.output(first_float, whys.size() * pitch);
    gpu.output(words.data(), words.size());
  }
  [[nodiscard]] device_probabilities law() { return {whys.data(), first_float, pitch}; }
  [[nodiscard]] device_weights weights() { return {totals.data(), words.data(), pitch}; }
  std::size_t pitch;
  std::vector<device_value> values;
  std::vector<status> whys;
  std::vector<device_total> totals;
  std::vector<float> floats;
  std::vector<std::uint32_t> words;
  float* first_float;
};

template <class Scalar>
void compare_row(batch<Scalar>& rows, results& found, std::uint32_t r) {
  const auto row = rows.host_row(r);
  const row_transform transform = rows.host_transform(r);
  const auto sum = log_sum_exp(exec::seq, row, transform);
  REQUIRE(found.values[r].why == sum.error());
  if (sum) REQUIRE(same_bits(found.values[r].value, *sum));
  std::vector<float> law(rows.size());
  REQUIRE(found.whys[r] == softmax(exec::seq, row, transform, std::span<float>(law)));
  std::vector<std::uint32_t> weights(rows.size());
  const auto total = integer_weights(exec::seq, row, transform, weights);
  REQUIRE(found.totals[r].why == total.error());
  if (!total) return;
  REQUIRE(found.totals[r].total_weight == *total);
  REQUIRE(std::memcmp(law.data(), found.first_float + r * found.pitch, law.size() * sizeof(float)) == 0);
  REQUIRE(std::equal(weights.begin(), weights.end(), found.words.data() + r * found.pitch));
}

template <class Scalar>
void compare_totals(batch<Scalar>& rows, std::uint32_t r, const device_request& wanted) {
  read_request request;
  request.exact_normaliser = wanted.exact_normaliser;
  request.integer_total = wanted.integer_total;
  const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), request);
  const device_digest& found = rows.digests.rows[r];
  REQUIRE(found.why == expected.outcome);
  if (!expected.outcome.ok()) return;
  const double none = 0;
  REQUIRE(same_bits(found.normaliser, wanted.exact_normaliser ? expected.value.normaliser : none));
  REQUIRE(same_bits(found.lower, expected.value.lower));
  REQUIRE(same_bits(found.upper, expected.value.upper));
  REQUIRE(found.total_weight == (wanted.integer_total ? expected.value.total_weight : 0));
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint64_t seed, std::uint32_t offset = 0) {
  results found(rows.count(), rows.size(), offset);
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  found.name_to(gpu);
  REQUIRE(log_sum_exp(exec::cuda{}, rows.rows(), rows.transform(), found.values.data(), {true}).ok());
  REQUIRE(softmax(exec::cuda{}, rows.rows(), rows.transform(), found.law()).ok());
  REQUIRE(integer_weights(exec::cuda{}, rows.rows(), rows.transform(), found.weights()).ok());
  device_request request;
  request.exact_normaliser = seed % 3 != 1;
  request.integer_total = seed % 3 != 2;
  REQUIRE(read_rows(exec::cuda{}, rows.made(), request).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    compare_row(rows, found, r);
    compare_totals(rows, r, request);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("numbers of hard rows are the host's bit for bit", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(all_kinds, size, size % 2 * 3, static_cast<std::uint32_t>(seed % 4));
      rows.fill(0, seed);
      compare(rows, seed, static_cast<std::uint32_t>(seed % 4));
      rows.transform_all(seed);
      for (std::uint32_t r = 0; r < all_kinds; ++r) rows.temperature(r) = 0.3 + 0.25 * r;
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      rows.temperature(4) = row_cases::nan_value();
      compare(rows, seed + 1, 1);
    }
  }
}

TEST_CASE("numbers of a large vocabulary") {
  batch<float> rows(2, large_size);
  rows.fill(14, 5);
  compare(rows, 3);
  batch<bfloat16_bits> halves(1, large_size);
  halves.fill(15, 6);
  compare(halves, 6);
}

TEST_CASE("a row in error writes nothing but its status") {
  batch<float> rows(5, 1551);
  rows.fill(15, 9);
  rows.set(0, 1550, row_cases::nan_value());
  rows.set(1, 700, row_cases::infinity);
  for (std::uint32_t id = 0; id < rows.size(); ++id) rows.set(2, id, -row_cases::infinity);
  rows.temperature(3) = 1e300;
  compare(rows, 0);
  results found(rows.count(), rows.size(), 0);
  simulator::device gpu;
  rows.name_to(gpu);
  found.name_to(gpu);
  REQUIRE(softmax(exec::cuda{}, rows.rows(), rows.transform(), found.law()).ok());
  REQUIRE(integer_weights(exec::cuda{}, rows.rows(), rows.transform(), found.weights()).ok());
  const std::uint64_t one_row = rows.size() * sizeof(float);
  CHECK(gpu.bytes_written(found.first_float) == one_row);
  CHECK(gpu.bytes_written(found.words.data()) == one_row);
}

TEST_CASE("reads of a row: two, three, two, and one more for each total") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  results found(1, large_size, 0);
  simulator::device gpu;
  rows.name_to(gpu);
  found.name_to(gpu);
  std::uint64_t before = 0;
  const auto reads = [&] {
    const std::uint64_t all = gpu.bytes_read(rows.row(0)), since = all - before;
    before = all;
    return static_cast<double>(since) / (large_size * sizeof(float));
  };
  REQUIRE(log_sum_exp(exec::cuda{}, rows.rows(), rows.transform(), found.values.data(), {true}).ok());
  CHECK(reads() == 2.0);
  REQUIRE(softmax(exec::cuda{}, rows.rows(), rows.transform(), found.law()).ok());
  CHECK(reads() == 3.0);
  REQUIRE(integer_weights(exec::cuda{}, rows.rows(), rows.transform(), found.weights()).ok());
  CHECK(reads() == 2.0);
  REQUIRE(read_rows(exec::cuda{}, rows.made(), {true, false}).ok());
  CHECK(reads() == doctest::Approx(2.01).epsilon(0.005));  // a split digest reads 0.016 more
  REQUIRE(read_rows(exec::cuda{}, rows.made(), {true, true}).ok());
  CHECK(reads() == doctest::Approx(3.01).epsilon(0.005));
  CHECK(gpu.report() == "");
}

TEST_CASE("truncations are refused, of all rows or of one") {
  batch<float> rows(3, 100);
  rows.fill(15, 2);
  results found(3, 100, 0);
  simulator::device gpu;
  rows.name_to(gpu);
  found.name_to(gpu);
  device_transform transform = rows.transform();
  transform.truncation.top_k = 3;
  CHECK(log_sum_exp(exec::cuda{}, rows.rows(), transform, found.values.data()).code == errc::unsupported);
  CHECK(softmax(exec::cuda{}, rows.rows(), transform, found.law()).code == errc::unsupported);
  CHECK(integer_weights(exec::cuda{}, rows.rows(), transform, found.weights()).code == errc::unsupported);
  row_truncation each[3]{};
  each[1].min_p = 0.1;
  each[2].top_p = 0;
  transform.truncations = each;
  gpu.input(each, 3);
  CHECK(log_sum_exp(exec::cuda{}, rows.rows(), transform, found.values.data(), {true}).ok());
  CHECK(softmax(exec::cuda{}, rows.rows(), transform, found.law()).ok());
  CHECK(integer_weights(exec::cuda{}, rows.rows(), transform, found.weights()).ok());
  const errc expected[3]{errc::ok, errc::unsupported, errc::invalid_truncation};
  for (std::uint32_t r = 0; r < 3; ++r) {
    CHECK(found.values[r].why.code == expected[r]);
    CHECK(found.whys[r].code == expected[r]);
    CHECK(found.totals[r].why.code == expected[r]);
  }
  CHECK(gpu.report() == "");
}

TEST_CASE("arguments that are refused, and nothing is launched") {
  batch<float> rows(2, 100);
  results found(2, 100, 0);
  simulator::device gpu;
  device_rows<float> none = rows.rows();
  none.size = 0;
  const auto transform = rows.transform();
  CHECK(log_sum_exp(exec::cuda{}, none, transform, found.values.data()).code == errc::empty_vocabulary);
  CHECK(softmax(exec::cuda{}, none, transform, found.law()).code == errc::empty_vocabulary);
  CHECK(integer_weights(exec::cuda{}, none, transform, found.weights()).code == errc::empty_vocabulary);
  CHECK(log_sum_exp(exec::cuda{}, rows.rows(), transform, nullptr).code == errc::null_span);
  CHECK(softmax(exec::cuda{}, rows.rows(), transform, {found.whys.data(), nullptr, 100}).code == errc::null_span);
  CHECK(softmax(exec::cuda{}, rows.rows(), transform, {nullptr, found.first_float, 100}).code == errc::null_span);
  CHECK(softmax(exec::cuda{}, rows.rows(), transform, {found.whys.data(), found.first_float, 99}) ==
        status{errc::output_too_small, part::row, 100});
  CHECK(integer_weights(exec::cuda{}, rows.rows(), transform, {found.totals.data(), nullptr, 100}).code ==
        errc::null_span);
  CHECK(integer_weights(exec::cuda{}, rows.rows(), transform, {found.totals.data(), found.words.data(), 99}) ==
        status{errc::output_too_small, part::row, 100});
  CHECK(gpu.report() == "");
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    compare(rows, i);
  }
}

TEST_CASE("a NaN at every place of four terms and one id") {
  batch<float> rows = nan_at_every_place(1025);
  compare(rows, 1);
}
