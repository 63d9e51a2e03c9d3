// SPDX-License-Identifier: Apache-2.0
// Largest entries, shares and lattices with Thrust: the sets and counts of exec::seq.
#include <specverify/device/digest.hpp>
#include <specverify/device/fp16_counts.hpp>
#include <specverify/device/lattice.hpp>
#include <specverify/device/select.hpp>
#include <specverify/device/threshold.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/threshold.hpp>

#include "thrust_support.hpp"

using namespace device_tests;

namespace {

struct supports {
  supports(std::uint32_t count, std::uint32_t room)
      : rows(count), ids(std::size_t{count} * room), weights(std::size_t{count} * room), pitch(room) {}
  [[nodiscard]] device_supports all() { return {rows.data(), ids.data(), weights.data(), pitch}; }
  std::vector<device_support> rows;
  std::vector<token_id> ids;
  std::vector<std::uint32_t> weights;
  std::uint32_t pitch;
};

template <class Scalar>
void compare_selected(batch<Scalar>& rows, std::uint32_t k) {
  CAPTURE(k);
  supports found(rows.count(), k + 3);
  REQUIRE(read_rows(on, rows.made()).ok());
  REQUIRE(select(on, rows.made(), k, found.all()).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r, {.top_entries = k});
    REQUIRE(found.rows[r].why == host.why());
    if (!host.ok()) continue;
    const auto ids = host->top_ids();
    const auto weights = host->top_weights();
    REQUIRE(found.rows[r].size == ids.size());
    REQUIRE(std::equal(ids.begin(), ids.end(), found.ids.begin() + r * found.pitch));
    REQUIRE(std::equal(weights.begin(), weights.end(), found.weights.begin() + r * found.pitch));
    REQUIRE(found.rows[r].complete == host->top_complete());
  }
}

//! The law without zeros that the host makes of a support.
template <class Rule>
std::vector<std::pair<token_id, std::uint32_t>> host_law(const Rule& rule, const support& kept,
                                                         std::uint32_t resolution) {
  std::vector<std::byte> bytes(1 << 20);
  workspace scratch(bytes);
  std::vector<std::uint32_t> counts(kept.size());
  const auto made = rule.quantize(kept, resolution, counts, scratch);
  REQUIRE(made.ok());
  std::vector<std::pair<token_id, std::uint32_t>> law;
  for (std::uint32_t i = 0; i < kept.size(); ++i)
    if (counts[i] > 0) law.emplace_back(kept.ids[i], counts[i]);
  return law;
}

void compare_law(const device_law& found, const token_id* ids, const std::uint32_t* counts,
                 const std::vector<std::pair<token_id, std::uint32_t>>& expected, std::uint32_t resolution) {
  REQUIRE(found.why.ok());
  REQUIRE(found.resolution == resolution);
  REQUIRE(found.size == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    REQUIRE(ids[i] == expected[i].first);
    REQUIRE(counts[i] == expected[i].second);
  }
}

template <class Scalar>
void compare_lattices(batch<Scalar>& rows, std::uint32_t resolution, bool with_total) {
  CAPTURE(resolution);
  const std::uint32_t entries = lattice_support_size(rows.size(), resolution), pitch = entries;
  std::vector<device_law> laws(rows.count()), sparse(rows.count());
  std::vector<token_id> ids(std::size_t{rows.count()} * pitch), sparse_ids(ids);
  std::vector<std::uint32_t> counts(ids.size()), sparse_counts(ids.size());
  supports kept(rows.count(), entries);
  REQUIRE(read_rows(on, rows.made(), {.integer_total = with_total}).ok());
  REQUIRE(quantize(on, rows.made(), resolution, {laws.data(), ids.data(), counts.data(), pitch}).ok());
  REQUIRE(select(on, rows.made(), entries, kept.all()).ok());
  const device_laws out{sparse.data(), sparse_ids.data(), sparse_counts.data(), pitch};
  REQUIRE(quantize(on, rows.count(), kept.all(), resolution, out).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r, {.top_entries = entries, .integer_total = true});
    REQUIRE(laws[r].why == host.why());
    if (!host.ok()) continue;
    const support whole{host->top_ids(), host->top_weights(), host->total_bounds().least, rows.size()};
    const std::size_t at = std::size_t{r} * pitch;
    compare_law(laws[r], ids.data() + at, counts.data() + at, host_law(lattice{}, whole, resolution), resolution);
    compare_law(sparse[r], sparse_ids.data() + at, sparse_counts.data() + at,
                host_law(sparse_lattice{}, whole, resolution), resolution);
  }
}

template <class Scalar>
void compare_above(batch<Scalar>& rows, double beta, std::uint32_t room, bool with_total) {
  CAPTURE(beta);
  supports found(rows.count(), room);
  REQUIRE(read_rows(on, rows.made(), {.integer_total = with_total}).ok());
  REQUIRE(select_above(on, rows.made(), beta, found.all()).ok());
  threshold kept_from{.minimum_probability = beta, .max_support_size = rows.size(), .with_total_weight = true};
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r, kept_from.request({}, rows.size()));
    const device_support& made = found.rows[r];
    if (!host.ok()) REQUIRE(made.why == host.why());
    if (!host.ok()) continue;
    std::vector<std::byte> bytes(kept_from.workspace_size({}, rows.size()));
    workspace scratch(bytes);
    const auto expected = kept_from.select(*host, {}, scratch);
    REQUIRE(expected.ok());
    REQUIRE(made.size == expected->size());
    REQUIRE(made.total_weight == expected->total_weight);
    if (made.size > room) REQUIRE(made.why == status{errc::support_too_large, part::row, made.size});
    if (made.size > room) continue;
    REQUIRE(made.why.ok());
    std::uint64_t kept = 0;
    for (const std::uint32_t weight : expected->weights) kept += weight;
    REQUIRE(made.complete == (kept == made.total_weight));
    REQUIRE(std::equal(expected->ids.begin(), expected->ids.end(), found.ids.begin() + r * room));
    REQUIRE(std::equal(expected->weights.begin(), expected->weights.end(), found.weights.begin() + r * room));
  }
}

template <class Scalar>
void compare_fp16(batch<Scalar>& rows, std::uint32_t room, bool exact) {
  std::vector<device_law> laws(rows.count());
  std::vector<token_id> ids(std::size_t{rows.count()} * room), expected_ids(room);
  std::vector<std::uint32_t> counts(ids.size()), expected_counts(room);
  REQUIRE(read_rows(on, rows.made(), {.exact_normaliser = exact}).ok());
  REQUIRE(fp16_counts(on, rows.made(), {laws.data(), ids.data(), counts.data(), room}).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r);
    const auto expected = host.ok() ? host->fp16_counts(expected_ids, expected_counts) : result<fp16_row>(host.why());
    REQUIRE(laws[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(laws[r].size == expected->size);
    REQUIRE(laws[r].resolution == expected->resolution);
    const std::size_t at = std::size_t{r} * room;
    REQUIRE(std::equal(expected_ids.begin(), expected_ids.begin() + expected->size, ids.data() + at));
    REQUIRE(std::equal(expected_counts.begin(), expected_counts.begin() + expected->size, counts.data() + at));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("shares and fp16 laws of hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t seed) {
    const double betas[] = {1e-3, 0.5, 1.5, 0.0, 1e-6, 0.02};
    compare_above(rows, betas[seed % 6], rows.size(), seed % 2 == 0);
    compare_above(rows, betas[(seed + 3) % 6], seed % 2 == 0 ? 20 : rows.size(), seed % 2 != 0);
    compare_fp16(rows, seed == 2 ? 30 : rows.size(), seed % 2 == 0);
  });
}

TEST_CASE_TEMPLATE("largest entries of hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t seed) {
    compare_selected(rows, seed == 0 ? 1 : seed == 1 ? 16 : 100);
    compare_selected(rows, seed == 0 ? 64 : seed == 1 ? 5000 : 65);
  });
}

TEST_CASE_TEMPLATE("entries and laws of truncated hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>(truncated([](batch<Scalar>& rows, std::uint64_t seed) {
    compare_selected(rows, seed == 0 ? 1 : seed == 1 ? 16 : 100);
    const double betas[] = {1e-3, 1.5, 0.0, 0.02};
    compare_above(rows, betas[seed % 4], seed == 2 ? 20 : rows.size(), seed % 2 == 0);
    compare_fp16(rows, seed == 2 ? 30 : rows.size(), false);
    compare_lattices(rows, seed == 0 ? 1 : 100, seed == 1);
  }));
}

TEST_CASE("largest entries of a large vocabulary, and several chunks of rows") {
  batch<float> rows(5, large_size);
  rows.fill(11, 5);
  compare_selected(rows, 50);
  compare_selected(rows, 2000);
  batch<float> many(600, 40);
  many.fill(0, 5);
  compare_selected(many, 7);
  compare_lattices(many, 9, false);
  many.truncate_all(3);
  compare_selected(many, 7);
  compare_fp16(many, 40, false);
}

TEST_CASE_TEMPLATE("lattices of hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t seed) {
    compare_lattices(rows, seed == 0 ? 1 : seed == 1 ? 100 : 333, seed == 1);
  });
}

TEST_CASE("many rows: entries and lattices") {
  const auto check = [](batch<float>& rows, std::uint64_t seed) {
    compare_selected(rows, 1 + static_cast<std::uint32_t>(seed % 40));
    compare_lattices(rows, 64, false);
    compare_above(rows, 0.001, 4096, true);
    compare_fp16(rows, 4096, false);
  };
  for_many_rows(check);
  for_many_rows(truncated(check));
}

TEST_CASE("arguments that are refused") {
  batch<float> rows(2, 100);
  supports kept(2, 10);
  std::vector<device_law> laws(2);
  std::vector<token_id> ids(20);
  std::vector<std::uint32_t> counts(20);
  REQUIRE(read_rows(on, rows.made()).ok());
  CHECK(select(on, rows.made(), 0, kept.all()).code == errc::invalid_argument);
  CHECK(select(on, rows.made(), 11, kept.all()) == status{errc::output_too_small, part::row, 11});
  CHECK(select(on, rows.made(), 5, {}).code == errc::null_span);
  CHECK(select_above(on, rows.made(), row_cases::nan_value(), kept.all()).code == errc::invalid_argument);
  CHECK(select_above(on, rows.made(), 0.1, {}).code == errc::null_span);
  CHECK(fp16_counts(on, rows.made(), {}).code == errc::null_span);
  const device_laws out{laws.data(), ids.data(), counts.data(), 10};
  CHECK(quantize(on, rows.made(), 0, out).code == errc::invalid_resolution);
  CHECK(quantize(on, rows.made(), 65537, out).code == errc::invalid_resolution);
  CHECK(quantize(on, rows.made(), 11, out) == status{errc::output_too_small, part::quantize, 11});
  CHECK(quantize(on, rows.made(), 10, {}).code == errc::null_span);
  CHECK(quantize(on, 0, kept.all(), 10, out).code == errc::size_mismatch);
}

TEST_CASE("digests of claimed blocks do not serve, nor those of rows that keep too much") {
  batch<float> rows(3, 100);
  rows.fill(15, 1);
  rows.truncate_all(0, 60);
  rows.truncation(0) = rows.truncation(1) = {};
  rows.truncation(2) = {80, 1.0};
  supports largest(3, 100), above(3, 100);
  std::vector<device_law> points(3), halves(3);
  std::vector<token_id> ids(300);
  std::vector<std::uint32_t> counts(300);
  REQUIRE(read_rows(on, rows.made()).ok());
  rows.digests.rows[1].made_by = digest_source::claims;
  REQUIRE(select(on, rows.made(), 5, largest.all()).ok());
  REQUIRE(select_above(on, rows.made(), 0.1, above.all()).ok());
  REQUIRE(quantize(on, rows.made(), 10, {points.data(), ids.data(), counts.data(), 100}).ok());
  REQUIRE(fp16_counts(on, rows.made(), {halves.data(), ids.data(), counts.data(), 100}).ok());
  for (std::uint32_t r = 0; r < 3; ++r) {
    const errc expected = r == 0 ? errc::ok : r == 1 ? errc::digest_insufficient : errc::support_too_large;
    CHECK(largest.rows[r].why.code == expected);
    CHECK(above.rows[r].why.code == expected);
    CHECK(points[r].why.code == expected);
    CHECK(halves[r].why.code == expected);
  }
}
