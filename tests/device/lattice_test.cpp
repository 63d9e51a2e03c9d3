// SPDX-License-Identifier: Apache-2.0
// Lattice points by the CUDA kernels, on the block simulator: counts of the host's laws, dense and of a support.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/quantize/draft_law.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

//! Where the laws of a batch go.
struct law_memory {
  law_memory(std::uint32_t count, std::size_t room)
      : pitch(room), rows(count), ids(count * room), counts(count * room) {}
  void name_to(simulator::device& gpu) {
    gpu.output(rows.data(), rows.size());
    gpu.output(ids.data(), ids.size());
    gpu.output(counts.data(), counts.size());
  }
  [[nodiscard]] device_laws out() { return {rows.data(), ids.data(), counts.data(), pitch}; }
  std::size_t pitch;
  std::vector<device_law> rows;
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
};

//! The host's dense law of a row, or of its `k` largest entries, must be what row `r` of `laws` holds.
template <class Scalar>
void compare_row(batch<Scalar>& rows, std::uint32_t r, std::uint32_t k, std::uint32_t resolution,
                 const law_memory& laws) {
  const top_k largest{k == 0 ? 1 : k};
  draft_law_options options;
  options.format = k == 0 ? law_format::dense_lattice : law_format::sparse_drop_zero;
  options.resolution = resolution;
  const read_request wanted = draft_law_request(rows.size(), largest, {}, options);
  const row_transform transform = rows.host_transform(r);
  std::vector<std::byte> memory(digest_workspace_size(rows.size(), transform, wanted)),
      more(draft_law_workspace_size(rows.size(), largest, {}, options));
  workspace space{memory}, scratch{more};
  const device_law& found = laws.rows[r];
  const auto reading = read_row(exec::seq, rows.host_row(r), transform, wanted, space);
  REQUIRE(found.why == (reading.ok() ? status{} : reading.error()));
  if (!reading.ok()) return;
  const auto expected = make_draft_law(*reading, largest, {}, options, scratch);
  REQUIRE(expected.ok());
  const law& drafted = expected->drafted;
  REQUIRE(found.size == drafted.size);
  REQUIRE(found.resolution == drafted.resolution);
  REQUIRE(std::equal(drafted.ids, drafted.ids + drafted.size, laws.ids.data() + r * laws.pitch));
  REQUIRE(std::equal(drafted.counts, drafted.counts + drafted.size, laws.counts.data() + r * laws.pitch));
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint32_t resolution, std::uint64_t seed) {
  CAPTURE(resolution);
  law_memory laws(rows.count(), std::min(rows.size(), resolution) + 1);
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  laws.name_to(gpu);
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  REQUIRE(quantize(exec::cuda{}, rows.made(), resolution, laws.out()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    compare_row(rows, r, 0, resolution, laws);
  }
}

//! The same of the k largest entries.
template <class Scalar>
void compare_supports(batch<Scalar>& rows, std::uint32_t k, std::uint32_t resolution, std::uint64_t seed) {
  CAPTURE(k);
  CAPTURE(resolution);
  const std::size_t entries = std::size_t{rows.count()} * k;
  std::vector<device_support> supports(rows.count());
  std::vector<token_id> ids(entries);
  std::vector<std::uint32_t> weights(entries);
  law_memory laws(rows.count(), k);
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  laws.name_to(gpu);
  gpu.output(supports.data(), supports.size());
  gpu.output(ids.data(), ids.size());
  gpu.output(weights.data(), weights.size());
  const device_supports kept{supports.data(), ids.data(), weights.data(), k};
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  REQUIRE(select(exec::cuda{}, rows.made(), k, kept).ok());
  REQUIRE(quantize(exec::cuda{}, rows.count(), kept, resolution, laws.out()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    compare_row(rows, r, k, resolution, laws);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("dense laws of hard rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 2u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size, 1, seed == 0 ? 0 : 1);
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      compare(rows, seed == 0 ? 100 : 7, seed);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      compare(rows, seed == 0 ? 33 : 257, seed + 1);
    }
  }
}

TEST_CASE_TEMPLATE("dense laws of truncated rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    if (!is_long() && size > 1025 && !std::is_same_v<Scalar, float>) continue;
    for (std::uint32_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size);
      rows.fill(0, seed + 3);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      rows.truncate_all(31 * seed + size);
      rows.temperature(2) = 0.0;
      rows.truncation(3).top_p = 0.0;
      compare(rows, 100, seed);
      rows.transform_all(seed);
      compare(rows, 7, seed + 1);
    }
  }
}

TEST_CASE_TEMPLATE("laws of supports are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : {17u, 1025u}) {
    batch<Scalar> rows(hard_rows::kinds + 1, size);
    rows.fill(0, 5);
    rows.transform_all(size);
    for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
    for (const auto& [k, resolution] : {std::pair{1u, 1u}, {16u, 100u}, {64u, 10u}, {257u, 1000u}})
      compare_supports(rows, k, resolution, k);
  }
  batch<Scalar> rows(hard_rows::kinds + 1, 4001);
  rows.fill(0, 6);
  compare_supports(rows, 2048, 65536, 3);
  compare_supports(rows, 2048, 3, 4);
}

TEST_CASE("resolutions of all sizes; the largest, of a small vocabulary") {
  for (const std::uint32_t resolution : {1u, 2u, 16u, 1000u, 1023u, 1024u}) {
    batch<float> rows(hard_rows::kinds + 1, 2049, 3, 1);
    rows.fill(0, resolution);
    compare(rows, resolution, resolution);
  }
  for (const std::uint32_t resolution : {3000u, 65536u}) {
    batch<float> rows(hard_rows::kinds + 1, 2048);
    rows.fill(0, resolution);
    compare(rows, resolution, resolution);
  }
}

TEST_CASE("dense laws of a large vocabulary, by at most two reads") {
  batch<float> rows(1, large_size);
  rows.fill(hard_rows::kinds, 3);
  law_memory laws(1, 1024);
  for (const std::uint32_t resolution : {100u, 1024u}) {
    simulator::device gpu({.seed = resolution});
    rows.name_to(gpu);
    laws.name_to(gpu);
    REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
    const std::uint64_t before = gpu.bytes_read(rows.row(0));
    REQUIRE(quantize(exec::cuda{}, rows.made(), resolution, laws.out()).ok());
    REQUIRE(gpu.report() == "");
    const auto share = static_cast<double>(gpu.bytes_read(rows.row(0)) - before) / (large_size * sizeof(float));
    CAPTURE(share);
    CHECK(share <= 2.0);
    CHECK(share >= 1.0);
    compare_row(rows, 0, 0, resolution, laws);
  }
}

TEST_CASE("rows in error, supports in error, arguments that are refused") {
  batch<float> rows(4, 4097);
  rows.fill(6, 4);
  rows.set(1, 1030, row_cases::nan_value());
  rows.set(2, 0, row_cases::infinity);
  compare(rows, 20, 6);
  law_memory laws(4, 20);
  simulator::device gpu;
  const auto code = [&](std::uint32_t resolution, const device_laws& out) {
    return quantize(exec::cuda{}, rows.made(), resolution, out);
  };
  CHECK(code(0, laws.out()) == status{errc::invalid_resolution, part::quantize, 0});
  CHECK(code(65537, laws.out()) == status{errc::invalid_resolution, part::quantize, 65537});
  CHECK(code(1025, laws.out()) == status{errc::support_too_large, part::quantize, 2050});
  CHECK(code(21, laws.out()) == status{errc::output_too_small, part::quantize, 21});
  CHECK(code(20, {laws.rows.data(), nullptr, laws.counts.data(), 20}).code == errc::null_span);

  std::vector<device_support> supports(4);
  std::vector<token_id> ids(4 * 30, 1);
  std::vector<std::uint32_t> weights(4 * 30, 0);
  supports[0].why = {errc::row_is_empty, part::row, 0};
  supports[2].size = 21;
  supports[3].size = 5;
  const device_supports kept{supports.data(), ids.data(), weights.data(), 30};
  gpu.input(supports.data(), 4);
  gpu.input(ids.data(), ids.size());
  gpu.input(weights.data(), weights.size());
  laws.name_to(gpu);
  const auto sparse = [&](std::uint32_t count, std::uint32_t resolution, const device_supports& from) {
    return quantize(exec::cuda{}, count, from, resolution, laws.out());
  };
  CHECK(sparse(4, 0, kept).code == errc::invalid_resolution);
  CHECK(sparse(0, 9, kept).code == errc::size_mismatch);
  CHECK(sparse(4, 9, {supports.data(), ids.data(), nullptr, 30}).code == errc::null_span);
  REQUIRE(sparse(4, 9, kept).ok());
  CHECK(gpu.report() == "");
  CHECK(laws.rows[0].why == supports[0].why);
  CHECK(laws.rows[1].why == status{errc::empty_support, part::quantize, 0});
  CHECK(laws.rows[2].why == status{errc::output_too_small, part::quantize, 21});
  CHECK(laws.rows[3].why == status{errc::zero_weight, part::quantize, 0});
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    compare(rows, 1 + i * 7 % 128, i);
    if (i % 2 == 1) rows.transform_all(i);
    compare_supports(rows, 1 + i * 13 % 200, 1 + i * 29 % 300, i);
    rows.truncate_all(i * 16);
    compare(rows, 1 + i * 11 % 100, i);
  }
}
