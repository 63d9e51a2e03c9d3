// SPDX-License-Identifier: Apache-2.0
// Truncated rows by CUDA kernels, on the block simulator: what exec::seq keeps, its weights and sums, and draws,
// supports and fp16 laws of them.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/fp16_counts.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>
#include <specverify/cuda/threshold.cuh>
#include <specverify/sparsify/threshold.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

constexpr std::uint32_t all_kinds = hard_rows::kinds + 1;
constexpr std::uint32_t selected = 20;
constexpr double beta = 0.02;

//! A batch whose rows have truncations of their own, and what kernels write.
template <class Scalar>
struct truncated_batch {
  truncated_batch(batch<Scalar>& all, std::uint32_t first, std::uint32_t capacity)
      : rows(all),
        count(all.count()),
        pitch(all.size() + selected),
        keys(count),
        places(count),
        tokens(count),
        supports(2 * count),
        laws(count),
        ids(3 * count * pitch),
        weights(ids.size()) {
    for (std::uint32_t r = 0; r < count; ++r) {
      keys[r] = {{r * 7919u + first, 0xC0FFEEu}};
      places[r] = 100 + r;
    }
    all.truncate_all(first, capacity);
    made = all.made();
  }
  void name_to(simulator::device& gpu) {
    rows.name_to(gpu);
    gpu.input(keys.data(), count);
    gpu.input(places.data(), count);
    gpu.output(tokens.data(), count);
    gpu.output(supports.data(), supports.size());
    gpu.output(laws.data(), count);
    gpu.output(ids.data(), ids.size());
    gpu.output(weights.data(), weights.size());
  }
  //! Part 0: the largest; 1: those above beta; 2: fp16 laws.
  [[nodiscard]] std::size_t place(std::uint32_t part, std::uint32_t r) const {
    return (std::size_t{part} * count + r) * pitch;
  }
  [[nodiscard]] device_supports out(std::uint32_t part) {
    return {supports.data() + part * count, ids.data() + place(part, 0), weights.data() + place(part, 0), pitch};
  }
  void launch(const device_request& request) {
    const exec::cuda how{};
    REQUIRE(read_rows(how, made, request).ok());
    const auto stream = device_uniforms<>{keys.data(), 1, places.data(), places.data()}.at(purpose::bonus_draw, 3);
    REQUIRE(sample(how, made, stream, tokens.data()).ok());
    REQUIRE(select(how, made, selected, out(0)).ok());
    REQUIRE(select_above(how, made, beta, out(1)).ok());
    REQUIRE(fp16_counts(how, made, {laws.data(), ids.data() + place(2, 0), weights.data() + place(2, 0), pitch}).ok());
  }
  batch<Scalar>& rows;
  std::uint32_t count;
  std::size_t pitch;
  std::vector<philox_key> keys;
  std::vector<std::uint32_t> places;
  std::vector<device_token> tokens;
  std::vector<device_support> supports;
  std::vector<device_law> laws;
  std::vector<token_id> ids;
  std::vector<std::uint32_t> weights;
  device_batch<Scalar> made;
};

//! A reading of a row on the host, and what it says.
template <class Scalar>
void compare_row(truncated_batch<Scalar>& batch, std::uint32_t r) {
  const row_transform transform = batch.rows.host_transform(r);
  threshold sparsifier;
  sparsifier.minimum_probability = beta;
  sparsifier.max_support_size = batch.rows.size();
  sparsifier.with_total_weight = true;
  read_request request = sparsifier.request({}, batch.rows.size());
  request.top_entries = selected;
  const auto row = batch.rows.host_row(r);
  std::vector<std::byte> bytes(digest_workspace_size(row.size(), transform, request) +
                               sparsifier.workspace_size({}, row.size()));
  workspace scratch(bytes);
  const auto reading = read_row(exec::seq, row, transform, request, scratch);
  const device_digest& digest = batch.made.digests.rows[r];
  const auto expected = row_cases::make_digest(exec::seq, row, transform, request);
  REQUIRE(expected.outcome == reading.error());
  if (!reading) {
    REQUIRE(digest.why == reading.error());
    return;
  }
  if (expected.value.truncated && !compare_kept(batch.made.digests, r, expected)) {
    REQUIRE(batch.tokens[r].why == digest.why);
    REQUIRE(batch.laws[r].why == digest.why);
    REQUIRE(batch.supports[r].why == digest.why);
    return;
  }
  REQUIRE(digest.why.ok());
  REQUIRE(digest.truncated == expected.value.truncated);
  REQUIRE(same_bits(digest.upper, expected.value.upper));
  REQUIRE(same_bits(digest.lower, expected.value.lower));
  const uniforms random{philox{batch.keys[r]}, batch.places[r], batch.places[r]};
  const auto token = reading->sample(random.at(purpose::bonus_draw, 3), {});
  REQUIRE(token.ok());
  REQUIRE(batch.tokens[r].token == token->token);
  REQUIRE(batch.tokens[r].trials == token->trials);
  REQUIRE(batch.tokens[r].exact == token->exact);
  std::vector<token_id> ids(row.size());
  std::vector<std::uint32_t> counts(row.size());
  const auto law = reading->fp16_counts(ids, counts);
  REQUIRE(law.ok());
  REQUIRE(batch.laws[r].size == law->size);
  REQUIRE(batch.laws[r].resolution == law->resolution);
  REQUIRE(std::equal(ids.begin(), ids.begin() + law->size, batch.ids.data() + batch.place(2, r)));
  REQUIRE(std::equal(counts.begin(), counts.begin() + law->size, batch.weights.data() + batch.place(2, r)));
  const auto above = sparsifier.select(*reading, {}, scratch);
  REQUIRE(above.ok());
  const device_support& support = batch.supports[batch.count + r];
  REQUIRE(support.size == above->ids.size());
  REQUIRE(support.total_weight == above->total_weight);
  REQUIRE(std::equal(above->ids.begin(), above->ids.end(), batch.ids.data() + batch.place(1, r)));
  REQUIRE(std::equal(above->weights.begin(), above->weights.end(), batch.weights.data() + batch.place(1, r)));
}

//! The largest entries are those of a reading that is asked for nothing else.
template <class Scalar>
void compare_selected(truncated_batch<Scalar>& batch, std::uint32_t r) {
  read_request request;
  request.top_entries = selected;
  const auto expected =
      row_cases::make_digest(exec::seq, batch.rows.host_row(r), batch.rows.host_transform(r), request);
  const device_support& support = batch.supports[r];
  if (!expected.outcome.ok() || !support.why.ok()) return;  // compared before
  const auto ids = expected.space.template at<token_id>(expected.value.top_ids);
  REQUIRE(support.size == ids.size());
  REQUIRE(support.complete == expected.value.top_complete);
  REQUIRE(std::equal(ids.begin(), ids.end(), batch.ids.data() + batch.place(0, r)));
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint64_t seed, std::uint32_t first, std::uint32_t capacity = 0) {
  truncated_batch<Scalar> all(rows, first, capacity);
  simulator::device gpu({.seed = seed});
  all.name_to(gpu);
  device_request request;  // truncated rows have both
  request.exact_normaliser = request.integer_total = seed % 2 == 1;
  if (request.integer_total) request.exact_normaliser = false;  // it would close the brackets of the others
  all.launch(request);
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    compare_row(all, r);
    compare_selected(all, r);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("truncated hard rows keep what the host's keep", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(all_kinds, size, size % 2 * 3, static_cast<std::uint32_t>(seed % 4));
      rows.fill(0, seed);
      const auto first = static_cast<std::uint32_t>(seed * 31 + size);
      compare(rows, seed, first);
      rows.transform_all(seed);
      for (std::uint32_t r = 0; r < all_kinds; ++r) rows.temperature(r) = 0.3 + 0.25 * r;
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      rows.temperature(4) = row_cases::nan_value();
      compare(rows, seed + 1, first + 17);
    }
  }
}

TEST_CASE("rows that would keep more than there is room for say how many") {
  for (const std::uint32_t capacity : {1u, 40u, 300u, 3000u}) {
    batch<float> rows(all_kinds, 4001);
    rows.fill(0, capacity);
    compare(rows, capacity, capacity, capacity);
  }
}

TEST_CASE("a large vocabulary: lists, searches for many, for a mass, and both") {
  batch<float> rows(3, large_size);
  rows.fill(14, 5);  // a plateau, normal numbers, all equal
  for (const std::uint32_t first : {1u, 7u, 19u}) {
    if (!is_long() && first == 7) continue;
    compare(rows, first, first);
  }
}

TEST_CASE("one truncation for all rows, with room for top_k alone") {
  batch<float> rows(3, 4001);
  rows.fill(13, 5);
  rows.truncate_alike({50, 0.9, 0.0, truncation_order::joint});
  REQUIRE(rows.digests.kept_capacity == 50);
  simulator::device gpu;
  rows.name_to(gpu);
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  CHECK(gpu.report() == "");
  for (std::uint32_t r = 0; r < 3; ++r) {
    const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), {});
    CHECK(compare_kept(rows.digests, r, expected));
  }
}

TEST_CASE("reads of a truncated row") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  const auto reads = [&](const row_truncation& cut) {
    rows.truncate_alike(cut);
    simulator::device gpu;
    rows.name_to(gpu);
    REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
    CHECK(gpu.report() == "");
    const double kept = rows.digests.rows[0].kept;  // each is read once more
    return static_cast<double>(gpu.bytes_read(rows.row(0))) / (large_size * sizeof(float)) - 1.0 - kept / large_size;
  };
  CHECK(reads({50, 0.9}) < 0.5);
  CHECK(reads({50, 0.9, 0, truncation_order::joint}) < 1.5);
  CHECK(reads({0, 1.0, 0.1}) == doctest::Approx(1).epsilon(0.02));  // a split digest reads 0.016 more
  CHECK(reads({0, 0.9}) == doctest::Approx(5).epsilon(0.02));       // a split digest reads 0.016 more
  CHECK(reads({3000, 1.0}) == doctest::Approx(5).epsilon(0.02));    // a split digest reads 0.016 more
  CHECK(reads({3000, 0.9}) == doctest::Approx(9).epsilon(0.02));    // a split digest reads 0.016 more
}

TEST_CASE("truncations that are refused, of all rows or of one") {
  batch<float> rows(3, 100);
  rows.fill(15, 2);
  rows.temperature(2) = -1;
  truncated_batch<float> all(rows, 0, 0);
  rows.truncation(0) = rows.truncation(2) = {0, 0.0};
  rows.truncation(1) = {0, 1.0, 1.5};
  simulator::device gpu;
  all.name_to(gpu);
  REQUIRE(read_rows(exec::cuda{}, all.made).ok());
  CHECK(gpu.report() == "");
  CHECK(all.made.digests.rows[0].why == status{errc::invalid_truncation, part::row, 0});
  CHECK(all.made.digests.rows[1].why == status{errc::invalid_truncation, part::row, 0});
  CHECK(all.made.digests.rows[2].why == status{errc::invalid_temperature, part::row, 0});
  device_batch<float> bad = all.made;
  bad.digests.kept_ids = nullptr;
  CHECK(read_rows(exec::cuda{}, bad).code == errc::null_span);
  bad = all.made;
  bad.digests.kept_capacity = 99;
  CHECK(read_rows(exec::cuda{}, bad).code == errc::size_mismatch);
  bad.transform.truncations = nullptr;
  bad.transform.truncation.top_p = 0;
  CHECK(read_rows(exec::cuda{}, bad).code == errc::invalid_truncation);
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    compare(rows, i, i * 37);
  }
}

TEST_CASE("a NaN at every place of a truncated row") {
  batch<float> rows = nan_at_every_place(300);
  compare(rows, 1, 3);
}
