// SPDX-License-Identifier: Apache-2.0
// Few rows, each split over several thread blocks: the digests of rows that one block reads, bit for bit.
#include <specverify/cuda/digest.cuh>

#include <doctest/doctest.h>
#include <device/batches.hpp>
#include <device/orders.hpp>

using namespace device_tests;

namespace {

//! A card on which a row is split into `parts` parts, whatever its size.
exec::cuda splitting(std::uint32_t parts, std::uint32_t rows) {
  exec::cuda how;
  how.tuning = {90, parts * rows, 1, 1};
  return how;
}

//! What the digests of a batch say, and their arrays.
struct found {
  explicit found(const device_digests& from)
      : rows(from.rows, from.rows + from.count),
        block_sums(from.block_sums, from.block_sums + count_of(from)),
        lane_sums(from.lane_sums, from.lane_sums + 16 * count_of(from)),
        lane_maxima(from.lane_maxima, from.lane_maxima + 16 * count_of(from)) {}
  static std::size_t count_of(const device_digests& from) { return std::size_t{from.count} * from.blocks; }
  std::vector<device_digest> rows;
  std::vector<double> block_sums;
  std::vector<float> lane_sums, lane_maxima;
};

template <class T>
bool same_row(const std::vector<T>& a, const std::vector<T>& b, std::uint32_t row, std::uint32_t rows) {
  const std::size_t each = a.size() / rows;
  return std::memcmp(a.data() + row * each, b.data() + row * each, each * sizeof(T)) == 0;
}

template <class Scalar>
found digests_of(batch<Scalar>& rows, std::uint32_t parts, std::uint64_t seed) {
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  REQUIRE(read_rows(splitting(parts, rows.count()), rows.made()).ok());
  REQUIRE(gpu.report() == "");
  return found(rows.digests);
}

template <class Scalar>
void compare(batch<Scalar>& rows, std::uint32_t parts, std::uint64_t seed) {
  const found split = digests_of(rows, parts, seed), whole = digests_of(rows, 1, seed);
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const device_digest &a = split.rows[r], &b = whole.rows[r];
    REQUIRE(a.why == b.why);
    if (!a.why.ok()) continue;
    REQUIRE(a.argmax == b.argmax);
    REQUIRE(same_bits(a.maximum, b.maximum));
    REQUIRE(same_bits(a.reference, b.reference));
    REQUIRE(a.one_hot == b.one_hot);
    REQUIRE(same_row(split.lane_sums, whole.lane_sums, r, rows.count()));
    REQUIRE(same_row(split.lane_maxima, whole.lane_maxima, r, rows.count()));
    REQUIRE(same_row(split.block_sums, whole.block_sums, r, rows.count()));
    REQUIRE(same_bits(a.coarse_total, b.coarse_total));
    REQUIRE(same_bits(a.lower, b.lower));
    REQUIRE(same_bits(a.upper, b.upper));
  }
}

}  // namespace

TEST_CASE_TEMPLATE("hard rows split into parts of every size", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : {1025u, 4001u, 9 * 1024u + 1}) {
    for (const std::uint32_t parts : {2u, 3u, 5u, 9u}) {
      if (!is_long() && size == 4001 && parts % 2 == 1) continue;
      batch<Scalar> rows(hard_rows::kinds + 1, size, 3, size == 4001 ? 1 : 0);
      rows.fill(0, parts);
      if (parts != 3) rows.transform_all(parts);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = r == 3 ? 0.0 : 0.1 * (r + 1);
      rows.temperature(7) = -1.0;
      compare(rows, parts, size);
    }
  }
}

TEST_CASE("a NaN at every place of a row of three parts") {
  batch<float> rows = nan_at_every_place(2 * 1024 + 5);
  for (std::uint32_t r = 3; r < rows.count(); r += 3) rows.set(r, r * 31 % rows.size(), row_cases::nan_value());
  const found split = digests_of(rows, 3, 1);
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    const std::uint32_t least = r % 3 == 0 && r > 0 ? std::min(r, r * 31 % rows.size()) : r;
    REQUIRE(split.rows[r].why == status{errc::row_has_nan, part::row, least});
  }
}

TEST_CASE("rows in error, equal rows, zeros of both signs, and a reference that does not serve") {
  batch<float> rows(9, 5 * 1024 + 7);
  rows.fill(15, 4);
  for (std::uint32_t id = 0; id < rows.size(); ++id) {
    rows.set(0, id, 1.5);
    rows.set(1, id, id % 3 == 0 ? -0.0 : 0.0);
    rows.set(2, id, id % 3 == 1 ? 0.0 : -0.0);
    rows.set(3, id, -row_cases::infinity);
  }
  rows.set(4, 4000, row_cases::nan_value());
  rows.set(4, 20, row_cases::nan_value());
  rows.set(5, 5 * 1024 + 6, row_cases::infinity);
  rows.set(6, 3000, 900.0);  // not among the first 16 ids of a block
  rows.set(7, 3000, row_cases::nan_value());
  rows.set(7, 0, row_cases::infinity);
  for (const std::uint32_t parts : {2u, 6u}) compare(rows, parts, parts);
}

TEST_CASE("what the host does: parts follow from the card and the number of rows") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  compare(rows, 31, 1);
  CHECK(cuda_detail::parts_of(tuning_for(90), rows.made()) == 31);  // of four blocks of 1024 ids at least
  batch<float> many(64, 4096);
  CHECK(cuda_detail::parts_of(tuning_for(90), many.made()) == 1);
  CHECK(cuda_detail::parts_of({90, 132, 2, 1}, many.made()) == 4);
}

TEST_CASE("a split row is read once, but for the first 16 ids of its blocks and the block of its maximum") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  simulator::device gpu;
  rows.name_to(gpu);
  REQUIRE(read_rows(splitting(31, 1), rows.made()).ok());
  CHECK(gpu.report() == "");
  const auto share = static_cast<double>(gpu.bytes_read(rows.row(0))) / (large_size * sizeof(float));
  CAPTURE(share);
  CHECK(share >= 1.0);
  CHECK(share <= 1.02);
}

TEST_CASE("split rows are clean in many orders") {
  batch<float> rows(3, 5 * 1024 + 1);
  rows.fill(13, 2);
  rows.set(2, 17, row_cases::nan_value());
  in_all_orders([&](simulator::device& gpu) {
    rows.name_to(gpu);
    REQUIRE(read_rows(splitting(3, 3), rows.made()).ok());
    REQUIRE(gpu.report() == "");
    REQUIRE(rows.digests.rows[0].why.ok());
    REQUIRE(rows.digests.rows[2].why == status{errc::row_has_nan, part::row, 17});
  });
}
