// SPDX-License-Identifier: Apache-2.0
// fp16 laws and supports above a threshold by CUDA kernels, on the block simulator: ids, counts and weights of
// exec::seq.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/fp16_counts.cuh>
#include <specverify/cuda/threshold.cuh>
#include <specverify/sparsify/threshold.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

constexpr std::uint32_t all_kinds = hard_rows::kinds + 1;

//! Where the lists of a batch go.
struct lists {
  lists(std::uint32_t count, std::size_t places)
      : pitch(places),
        laws(count),
        law_ids(count * places),
        counts(count * places),
        supports(count),
        ids(count * places),
        weights(count * places) {}
  void name_to(simulator::device& gpu) {
    gpu.output(laws.data(), laws.size());
    gpu.output(law_ids.data(), law_ids.size());
    gpu.output(counts.data(), counts.size());
    gpu.output(supports.data(), supports.size());
    gpu.output(ids.data(), ids.size());
    gpu.output(weights.data(), weights.size());
  }
  [[nodiscard]] device_laws out_laws() { return {laws.data(), law_ids.data(), counts.data(), pitch}; }
  [[nodiscard]] device_supports out() { return {supports.data(), ids.data(), weights.data(), pitch}; }
  std::size_t pitch;
  std::vector<device_law> laws;
  std::vector<token_id> law_ids;
  std::vector<std::uint32_t> counts;
  std::vector<device_support> supports;
  std::vector<token_id> ids;
  std::vector<std::uint32_t> weights;
};

template <class Scalar>
void compare_law(batch<Scalar>& rows, lists& found, std::uint32_t r) {
  std::vector<std::byte> bytes(digest_workspace_size(rows.size(), rows.host_transform(r), {}));
  workspace scratch(bytes);
  const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), {}, scratch);
  const device_law& law = found.laws[r];
  if (!reading) {
    REQUIRE(law.why == reading.error());
    return;
  }
  std::vector<token_id> ids(found.pitch);
  std::vector<std::uint32_t> counts(found.pitch);
  const auto expected = reading->fp16_counts(ids, counts);
  REQUIRE(law.why == expected.error());
  if (!expected) return;
  REQUIRE(law.size == expected->size);
  REQUIRE(law.resolution == expected->resolution);
  REQUIRE(std::equal(ids.begin(), ids.begin() + law.size, found.law_ids.data() + r * found.pitch));
  REQUIRE(std::equal(counts.begin(), counts.begin() + law.size, found.counts.data() + r * found.pitch));
}

template <class Scalar>
void compare_support(batch<Scalar>& rows, lists& found, std::uint32_t r, double beta) {
  threshold sparsifier;
  sparsifier.minimum_probability = beta;
  sparsifier.max_support_size = rows.size();
  sparsifier.with_total_weight = true;
  const read_request request = sparsifier.request({}, rows.size());
  std::vector<std::byte> bytes(digest_workspace_size(rows.size(), rows.host_transform(r), request) +
                               sparsifier.workspace_size({}, rows.size()));
  workspace scratch(bytes);
  const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), request, scratch);
  const device_support& support = found.supports[r];
  if (!reading) {
    REQUIRE(support.why == reading.error());
    return;
  }
  const auto expected = sparsifier.select(*reading, {}, scratch);
  REQUIRE(expected.ok());
  REQUIRE(support.size == expected->ids.size());
  REQUIRE(support.total_weight == expected->total_weight);
  if (support.size > found.pitch) {
    REQUIRE(support.why == status{errc::support_too_large, part::row, support.size});
    return;
  }
  REQUIRE(support.why.ok());
  std::uint64_t kept = 0;
  for (const std::uint32_t weight : expected->weights) kept += weight;
  REQUIRE(support.complete == (kept == support.total_weight));
  REQUIRE(std::equal(expected->ids.begin(), expected->ids.end(), found.ids.data() + r * found.pitch));
  REQUIRE(std::equal(expected->weights.begin(), expected->weights.end(), found.weights.data() + r * found.pitch));
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint64_t seed, double beta, std::size_t places) {
  lists found(rows.count(), places);
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  found.name_to(gpu);
  device_request request;  // what is not there is summed by the kernels themselves
  request.exact_normaliser = seed % 2 == 1;
  request.integer_total = seed % 2 == 1;
  REQUIRE(read_rows(exec::cuda{}, rows.made(), request).ok());
  REQUIRE(fp16_counts(exec::cuda{}, rows.made(), found.out_laws()).ok());
  REQUIRE(select_above(exec::cuda{}, rows.made(), beta, found.out()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    compare_law(rows, found, r);
    compare_support(rows, found, r, beta);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("fp16 laws and supports of hard rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  const double betas[]{0.01, 1e-3, 0.0, -1.0, 0.3, 1.0, 5.0, 1e-9};
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(all_kinds, size, size % 2 * 3, static_cast<std::uint32_t>(seed % 4));
      rows.fill(0, seed);
      compare(rows, seed, betas[(seed + size) % 8], size);
      rows.transform_all(seed);
      for (std::uint32_t r = 0; r < all_kinds; ++r) rows.temperature(r) = 0.3 + 0.25 * r;
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      compare(rows, seed + 1, betas[(seed + size / 2) % 8], size);
    }
  }
}

TEST_CASE("every bound around the weights of a row, and above the largest probability") {
  batch<float> rows(all_kinds, 1025);
  rows.fill(0, 7);
  for (const double beta : {0x1.0p-40, 1.0 / 1025, 0.0009756, 0.0009757, 0.5, 0.9999, 1.0, 1.5, 1e30}) {
    CAPTURE(beta);
    compare(rows, 1, beta, 1025);
  }
}

TEST_CASE("lists that are too short say how many places they need") {
  batch<float> rows(all_kinds, 4001);
  rows.fill(0, 3);
  for (const std::size_t places : {1u, 7u, 100u, 1001u}) compare(rows, places, 1e-4, places);
}

TEST_CASE("a large vocabulary") {
  batch<float> rows(2, large_size);
  rows.fill(14, 5);
  compare(rows, 3, 1e-5, large_size);
}

TEST_CASE("reads of a row: one for each list where the digest has the totals, else two") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  lists found(1, large_size);
  simulator::device gpu;
  rows.name_to(gpu);
  found.name_to(gpu);
  std::uint64_t before = 0;
  const auto reads = [&] {
    const std::uint64_t all = gpu.bytes_read(rows.row(0)), since = all - before;
    before = all;
    return static_cast<double>(since) / (large_size * sizeof(float));
  };
  for (const bool known : {false, true}) {
    REQUIRE(read_rows(exec::cuda{}, rows.made(), {known, known}).ok());
    (void)reads();
    REQUIRE(fp16_counts(exec::cuda{}, rows.made(), found.out_laws()).ok());
    CHECK(reads() == (known ? 1.0 : 2.0));
    REQUIRE(select_above(exec::cuda{}, rows.made(), 0.01, found.out()).ok());
    CHECK(reads() == (known ? 1.0 : 2.0));
  }
  CHECK(gpu.report() == "");
}

TEST_CASE("rows in error, and arguments that are refused") {
  batch<float> rows(4, 1031);
  rows.fill(6, 4);
  rows.set(1, 1030, row_cases::nan_value());
  rows.set(2, 0, row_cases::infinity);
  compare(rows, 6, 0.01, 1031);
  lists found(4, 20);
  simulator::device gpu;
  const auto above = [&](double beta, device_supports out) {
    return select_above(exec::cuda{}, rows.made(), beta, out);
  };
  CHECK(above(row_cases::nan_value(), found.out()).code == errc::invalid_argument);
  CHECK(above(0.1, {found.supports.data(), nullptr, found.weights.data(), 20}).code == errc::null_span);
  CHECK(above(0.1, {found.supports.data(), found.ids.data(), found.weights.data(), 0}) ==
        status{errc::output_too_small, part::row, 1});
  const auto counts = [&](device_laws out) { return fp16_counts(exec::cuda{}, rows.made(), out); };
  CHECK(counts({found.laws.data(), found.law_ids.data(), nullptr, 20}).code == errc::null_span);
  CHECK(counts({found.laws.data(), found.law_ids.data(), found.counts.data(), 0}) ==
        status{errc::output_too_small, part::row, 1});
  CHECK(gpu.report() == "");
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint64_t seed = 0; seed < many_batches(); ++seed) {
    batch<float> rows(all_kinds, 4096);
    rows.fill(0, 1000 + seed);
    for (std::uint32_t r = 0; r < all_kinds; ++r)
      rows.temperature(r) = 0.05 + 0.01 * static_cast<double>(seed * 7 % 150 + r);
    compare(rows, seed, 1e-5 * static_cast<double>(1 + 4 * seed * seed), 4096);
  }
}
