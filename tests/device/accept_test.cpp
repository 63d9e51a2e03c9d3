// SPDX-License-Identifier: Apache-2.0
// Accept tests by the CUDA kernel, on the block simulator: the answers of exec::seq.
#include <specverify/cuda/accept.cuh>

#include <doctest/doctest.h>
#include <device/batches.hpp>
#include <device/draws.hpp>

using namespace device_tests;

namespace {

struct tally {
  std::uint32_t accepted = 0, near_ties = 0, exact = 0;
};

template <class Scalar>
void compare(batch<Scalar>& rows, const std::vector<drafted_token>& drafted, std::uint32_t seed, tally& seen) {
  const places all(rows.count(), seed);
  std::vector<device_acceptance> found(rows.count());
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  all.name_to(gpu);
  gpu.input(drafted.data(), drafted.size());
  gpu.output(found.data(), found.size());
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  REQUIRE(accept(exec::cuda{}, rows.made(), drafted.data(), all.all().at(purpose::acceptance), found.data()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    std::vector<std::byte> bytes(digest_workspace_size(rows.size(), rows.host_transform(r), {}));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), {}, scratch);
    const auto expected = reading.ok() ? reading->accept(drafted[r], all.of(r).at(purpose::acceptance))
                                       : result<acceptance>(reading.error());
    REQUIRE(found[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(found[r].accepted == expected->accepted);
    REQUIRE(found[r].near_tie == expected->near_tie);
    REQUIRE(found[r].exact == expected->exact);
    seen.accepted += expected->accepted ? 1u : 0u;
    seen.near_ties += expected->near_tie ? 1u : 0u;
    seen.exact += expected->exact ? 1u : 0u;
  }
}

//! A claim that the test of a token meets to 2^-20; where its probability is too large, one that always stands.
template <class Scalar>
drafted_token tie_of(batch<Scalar>& rows, std::uint32_t r, token_id token, std::uint32_t seed) {
  std::vector<std::byte> bytes(digest_workspace_size(rows.size(), rows.host_transform(r), {}));
  workspace scratch(bytes);
  const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), {}, scratch);
  if (!reading) return {token, 1, 1};
  const auto logarithm = reading->log_probability(token);
  const double p = logarithm.ok() ? numeric::exp(*logarithm) : 1.0;
  const double share = p / places(rows.count(), seed).of(r).at(purpose::acceptance).uniform();
  constexpr std::uint32_t resolution = 1u << 31;
  return {token, share < 1.0 ? static_cast<std::uint32_t>(share * resolution) : 1, resolution};
}

}  // namespace

TEST_CASE_TEMPLATE("tests of tokens of hard rows", Scalar, float, float16_bits, bfloat16_bits) {
  tally seen;
  for (const std::uint32_t size : sizes) {
    for (std::uint32_t seed = 0; seed < (is_long() ? 6u : 4u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size);
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      if (seed % 2 == 1) rows.transform_all(seed);
      if (seed % 4 == 3) rows.temperature(1) = 0.0;
      if (seed % 4 == 3) rows.temperature(2) = -1.0;
      generator random{seed + size};
      std::vector<drafted_token> drafted(rows.count());
      for (std::uint32_t r = 0; r < rows.count(); ++r) {
        const auto token = static_cast<token_id>(random.next() % rows.size());
        const auto resolution = static_cast<std::uint32_t>(1 + random.next() % 100);
        drafted[r] = {token, static_cast<std::uint32_t>(random.next() % (resolution + 1)), resolution};
        if (r % 3 == 0) drafted[r] = tie_of(rows, r, token, seed);
      }
      drafted[seed % 16].token = static_cast<token_id>(size);
      drafted[(seed + 3) % 16].token = -1;
      drafted[(seed + 5) % 16].resolution = 0;
      drafted[(seed + 7) % 16].count = drafted[(seed + 7) % 16].resolution + 1;
      compare(rows, drafted, seed, seen);
    }
  }
  CHECK(seen.accepted > 0);
  CHECK(seen.near_ties > 0);
  CHECK(seen.exact > seen.near_ties);
}

TEST_CASE_TEMPLATE("tests of tokens of truncated hard rows", Scalar, float, float16_bits, bfloat16_bits) {
  tally seen;
  for (const std::uint32_t size : sizes) {
    if (!is_long() && size > 1025 && !std::is_same_v<Scalar, float>) continue;
    for (std::uint32_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size);
      rows.fill(0, seed + 20);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      if ((seed + size) % 2 == 1) rows.transform_all(seed);
      rows.truncate_all(31 * seed + size);
      rows.temperature(1) = 0.0;
      rows.truncation(2).top_p = 0.0;
      std::vector<drafted_token> drafted(rows.count());
      for (std::uint32_t r = 0; r < rows.count(); ++r) {
        std::vector<std::byte> bytes(digest_workspace_size(size, rows.host_transform(r), {}));
        workspace scratch(bytes);
        const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), {}, scratch);
        auto token = static_cast<token_id>((7 * r + seed) % size);  // kept or not
        if (reading.ok() && r % 4 != 0) token = reading->sample(places(1, r).of(0).at(purpose::draft_draw))->token;
        drafted[r] = r % 2 == 0 ? tie_of(rows, r, token, seed) : drafted_token{token, r % 5, 5};
      }
      compare(rows, drafted, seed, seen);
    }
  }
  CHECK(seen.accepted > 0);
  CHECK(seen.near_ties > 0);
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  tally seen;
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    generator random{i};
    std::vector<drafted_token> drafted(rows.count());
    for (const bool cuts : {false, true}) {
      if (cuts) rows.truncate_all(i * 16);
      for (std::uint32_t r = 0; r < rows.count(); ++r) {
        const auto token = static_cast<token_id>(random.next() % rows.size());
        drafted[r] = r % 2 == 0 ? tie_of(rows, r, token, i) : drafted_token{token, r % 5, 1 + 1000 * i};
      }
      compare(rows, drafted, i, seen);
    }
  }
  CHECK(seen.accepted > 0);
  CHECK(seen.near_ties > 0);
}

TEST_CASE("tests in a large vocabulary, at rows that begin anywhere, and their bytes") {
  tally seen;
  batch<float> rows(3, large_size, 3, 1);
  rows.fill(13, 4);
  drafted_token close = tie_of(rows, 2, 5, 9);
  close.count += close.count / 1000;  // a claim that bounds of 2e-5 tell from a tie, and those of the digest do not
  compare(rows, {tie_of(rows, 0, 5, 9), {77, 3, 1000}, close}, 9, seen);
  CHECK(seen.exact == 2);

  const places all(3, 9);
  const std::vector<drafted_token> drafted{{1, 1, 1}, tie_of(rows, 1, 5, 9), close};
  std::vector<device_acceptance> found(3);
  simulator::device gpu;
  rows.name_to(gpu);
  all.name_to(gpu);
  gpu.input(drafted.data(), 3);
  gpu.output(found.data(), 3);
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  std::uint64_t before[3];
  for (std::uint32_t r = 0; r < 3; ++r) before[r] = gpu.bytes_read(rows.row(r));
  const auto read = [&](std::uint32_t r) { return gpu.bytes_read(rows.row(r)) - before[r]; };
  REQUIRE(accept(exec::cuda{}, rows.made(), drafted.data(), all.all().at(purpose::acceptance), found.data()).ok());
  CHECK(gpu.report() == "");
  CHECK(read(0) == sizeof(float));
  CHECK(found[1].exact);
  CHECK(read(1) == (2 * large_size + 1) * sizeof(float));  // in float, and exactly
  CHECK(found[2].exact);
  CHECK(!found[2].near_tie);
  CHECK(read(2) == (large_size + 1) * sizeof(float));
}

TEST_CASE("arguments of accept that are missing or not there yet") {
  batch<float> rows(2, 100);
  rows.fill(15, 1);
  const places all(2);
  const std::vector<drafted_token> drafted(2);
  std::vector<device_acceptance> found(2);
  const auto stream = all.all().at(purpose::acceptance);
  CHECK(accept(exec::cuda{}, rows.made(), nullptr, stream, found.data()).code == errc::null_span);
  CHECK(accept(exec::cuda{}, rows.made(), drafted.data(), stream, nullptr).code == errc::null_span);
  CHECK(accept(exec::cuda{}, rows.made(), drafted.data(), device_stream<>{}, found.data()).code == errc::null_span);
  CHECK(accept(exec::cuda{}, device_batch<float>{}, drafted.data(), stream, found.data()).code ==
        errc::empty_vocabulary);
}
