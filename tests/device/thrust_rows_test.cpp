// SPDX-License-Identifier: Apache-2.0
// Digests, truncated laws, greedy tokens and draws with Thrust: those of exec::seq bit for bit.
#include <specverify/device/argmax.hpp>
#include <specverify/device/digest.hpp>
#include <specverify/device/sample.hpp>
#include <specverify/row/argmax.hpp>

#include "thrust_support.hpp"

using namespace device_tests;

namespace {

template <class Scalar>
void compare_arrays(batch<Scalar>& rows, std::uint32_t r,
                    const row_cases::held_digest<exec::seq_policy, Scalar>& host) {
  const std::size_t blocks = rows.digests.blocks, first = r * blocks;
  const auto sums = host.space.template at<double>(host.value.block_sums);
  const auto lanes = host.space.template at<float>(host.value.lane_sums);
  REQUIRE(std::memcmp(rows.digests.block_sums + first, sums.data(), blocks * sizeof(double)) == 0);
  REQUIRE(std::memcmp(rows.digests.lane_sums + first * 16, lanes.data(), blocks * 16 * sizeof(float)) == 0);
  const auto values =
      row_cases::transformed(std::vector<Scalar>(rows.row(r), rows.row(r) + rows.size()), rows.host_transform(r));
  for (std::uint32_t lane = 0; lane < rows.digests.blocks * 16; ++lane) {
    double most = -row_cases::infinity;
    const std::uint32_t begin = lane / 16 * 1024;
    for (std::uint32_t id = begin + lane % 16; id < std::min(begin + 1024, rows.size()); id += 16)
      most = std::max(most, values[id]);
    REQUIRE(static_cast<double>(rows.digests.lane_maxima[first * 16 + lane]) == most);
  }
}

template <class Scalar>
void compare_digests(batch<Scalar>& rows, const device_request& request) {
  REQUIRE(read_rows(on, rows.made(), request).ok());
  read_request wanted;
  wanted.exact_normaliser = request.exact_normaliser;
  wanted.integer_total = request.integer_total;
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const device_digest& found = rows.digests.rows[r];
    const auto host = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), wanted);
    if (!host.outcome.ok()) REQUIRE(found.why == host.outcome);
    if (!host.outcome.ok()) continue;
    const row_digest& digest = host.value;
    REQUIRE(found.truncated == digest.truncated);
    if (digest.truncated && !compare_kept(rows.digests, r, host)) continue;
    REQUIRE(found.why.ok());
    REQUIRE(found.argmax == digest.argmax);
    REQUIRE(same_bits(static_cast<double>(found.maximum), digest.maximum));
    REQUIRE(same_bits(static_cast<double>(found.reference), digest.reference));
    REQUIRE(same_bits(found.temperature, digest.temperature));
    REQUIRE(same_bits(found.coarse_total, digest.coarse_total));
    REQUIRE(same_bits(found.lower, digest.lower));
    REQUIRE(same_bits(found.upper, digest.upper));
    REQUIRE(found.one_hot == digest.one_hot);
    if (request.exact_normaliser) REQUIRE(same_bits(found.normaliser, digest.normaliser));
    if (request.integer_total) REQUIRE(found.total_weight == digest.total_weight);
    if (!digest.one_hot && !digest.truncated) compare_arrays(rows, r, host);
  }
}

template <class Scalar>
void compare_argmax(batch<Scalar>& rows) {
  std::vector<device_argmax> tokens(rows.count());
  auto transform = rows.transform();
  transform.temperatures = nullptr;
  REQUIRE(argmax(on, rows.rows(), transform, tokens.data()).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    auto plain = rows.host_transform(r);
    plain.temperature = 1;
    plain.truncation = {};
    const auto expected = argmax(exec::seq, rows.host_row(r), plain);
    REQUIRE(tokens[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(tokens[r].token == expected->token);
    REQUIRE(tokens[r].near_tie == expected->near_tie);
    REQUIRE(same_bits(tokens[r].margin, expected->margin));
  }
}

template <class Scalar>
void compare_draws(batch<Scalar>& rows, std::uint32_t trial_cap = 32) {
  const places at(rows.count());
  std::vector<device_token> tokens(rows.count());
  REQUIRE(read_rows(on, rows.made()).ok());
  REQUIRE(sample(on, rows.made(), at.all().at(purpose::bonus_draw, 3), tokens.data(), {trial_cap}).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r);
    REQUIRE(tokens[r].why == host.why());
    if (!host.ok()) continue;
    const auto expected = host->sample(at.of(r).at(purpose::bonus_draw, 3), {.trial_cap = trial_cap});
    REQUIRE(expected.ok());
    REQUIRE(tokens[r].token == expected->token);
    REQUIRE(tokens[r].trials == expected->trials);
    REQUIRE(tokens[r].exact == expected->exact);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("digests of hard rows equal the host's bit for bit", Scalar, float, float16_bits, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t seed) {
    compare_digests(rows, {});
    compare_digests(rows, {.exact_normaliser = seed % 2 == 0, .integer_total = true});
  });
}

TEST_CASE_TEMPLATE("greedy tokens of hard rows equal the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t) { compare_argmax(rows); });
}

TEST_CASE_TEMPLATE("draws from hard rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t) { compare_draws(rows); });
}

TEST_CASE_TEMPLATE("truncated hard rows keep what the host's keep", Scalar, float, float16_bits, bfloat16_bits) {
  for_each_batch<Scalar>(truncated([](batch<Scalar>& rows, std::uint64_t seed) {
    compare_digests(rows, {.exact_normaliser = seed % 2 == 0, .integer_total = seed % 3 == 0});
    compare_draws(rows);
  }));
}

TEST_CASE("one truncation for all rows: of a few entries, of some lanes, of all") {
  for (const std::uint32_t size : {17u, 1025u, 4096u, large_size}) {
    batch<float> rows(size == large_size ? 3 : hard_rows::kinds + 1, size);
    rows.fill(size == large_size ? 14 : 0, 5);
    for (std::uint32_t number = 0; number < (is_long() ? 630u : size == large_size ? 8u : 42u); ++number) {
      CAPTURE(size);
      CAPTURE(number);
      rows.truncate_alike(truncation_of(number * 17, size));
      compare_digests(rows, {});
      if (number % 4 == 0) compare_draws(rows);
    }
  }
}

TEST_CASE("rows that would keep more than there is room for say how many") {
  for (const std::uint32_t capacity : {1u, 40u, 300u, 3000u}) {
    batch<float> rows(hard_rows::kinds + 1, 4001);
    rows.fill(0, capacity);
    rows.truncate_all(capacity, capacity);
    compare_digests(rows, {});
    const places at(rows.count());
    std::vector<device_token> tokens(rows.count());
    REQUIRE(sample(on, rows.made(), at.all().at(purpose::bonus_draw), tokens.data()).ok());
    for (std::uint32_t r = 0; r < rows.count(); ++r) CHECK(tokens[r].why == rows.digests.rows[r].why);
  }
}

TEST_CASE("truncations that are refused, and what is wrong with a row besides") {
  batch<float> rows(4, 100);
  rows.fill(15, 2);
  rows.temperature(2) = -1;
  rows.set(3, 5, row_cases::nan_value());
  rows.truncate_all(0);
  rows.truncation(0) = rows.truncation(2) = rows.truncation(3) = {0, 0.0};
  rows.truncation(1) = {0, 1.0, 1.5};
  REQUIRE(read_rows(on, rows.made()).ok());
  for (const std::uint32_t r : {0u, 1u, 3u})
    CHECK(rows.digests.rows[r].why == status{errc::invalid_truncation, part::row, 0});
  CHECK(rows.digests.rows[2].why == status{errc::invalid_temperature, part::row, 0});
  device_batch<float> bad = rows.made();
  bad.digests.kept_ids = nullptr;
  CHECK(read_rows(on, bad).code == errc::null_span);
  bad = rows.made();
  bad.digests.kept_capacity = 99;
  CHECK(read_rows(on, bad).code == errc::size_mismatch);
  bad.transform.truncations = nullptr;
  bad.transform.truncation.top_p = 0;
  CHECK(read_rows(on, bad).code == errc::invalid_truncation);
}

TEST_CASE("the exact rule behind few trials") {
  for (const std::uint32_t trial_cap : {0u, 1u, 2u}) {
    batch<float> rows(is_long() ? 2000 : 200, 1025);
    rows.fill(15, 3);
    compare_draws(rows, trial_cap);
  }
}

TEST_CASE("a large vocabulary") {
  batch<float> rows(4, large_size);
  rows.fill(12, 5);  // wide, neighbours, a plateau, normal
  compare_digests(rows, {true, true});
  compare_argmax(rows);
  compare_draws(rows);
  for (const std::uint32_t first : {1u, 7u, 19u}) {
    rows.truncate_all(first);
    compare_digests(rows, {});
  }
  batch<bfloat16_bits> halves(1, large_size);
  halves.fill(15, 6);
  compare_digests(halves, {});
}

TEST_CASE("a NaN or +infinity at every place of a block and a half") {
  const std::uint32_t size = 1551;
  for (const double bad : {row_cases::nan_value(), row_cases::infinity}) {
    batch<float> rows(size, size);
    rows.fill(15, 9);
    for (std::uint32_t r = 0; r < size; ++r) rows.set(r, r, bad);
    for (std::uint32_t r = 7; r < size; r += 7) rows.set(r, (r * 31) % size, row_cases::nan_value());
    compare_digests(rows, {});
    compare_argmax(rows);
  }
}

TEST_CASE("zeros of both signs") {
  batch<float> rows(64, 40);
  for (std::uint32_t r = 0; r < rows.count(); ++r)
    for (std::uint32_t id = 0; id < rows.size(); ++id)
      rows.set(r, id, id == 20 && r % 4 == 0 ? 2.0 : (id * 7 + r * 3) % 5 < 2 ? -0.0 : (id + r) % 3 == 0 ? 0.0 : -1.0);
  compare_digests(rows, {true, true});
  compare_argmax(rows);
}

TEST_CASE("arguments that are refused, and nothing is read") {
  batch<float> rows(2, 1000);
  std::vector<device_argmax> best(2);
  const places at(2);
  const auto launch = [&](auto&& change) {
    device_batch<float> batch = rows.made();
    change(batch.rows, batch.transform, batch.digests);
    return read_rows(on, batch).code;
  };
  CHECK(launch([](auto& r, auto&, auto&) { r.size = 0; }) == errc::empty_vocabulary);
  CHECK(launch([](auto& r, auto&, auto&) { r.data = nullptr; }) == errc::null_span);
  CHECK(launch([](auto& r, auto&, auto&) { r.pitch = 999; }) == errc::size_mismatch);
  CHECK(launch([](auto&, auto&, auto& d) { d.blocks = 2; }) == errc::size_mismatch);
  CHECK(argmax(on, rows.rows(), rows.transform(), nullptr).code == errc::null_span);
  CHECK(sample(on, rows.made(), at.all().at(purpose::bonus_draw), nullptr).code == errc::null_span);
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  const auto check = [](batch<float>& rows, std::uint64_t) {
    compare_digests(rows, {});
    compare_argmax(rows);
    compare_draws(rows);
  };
  for_many_rows(check);
  for_many_rows(truncated(check));
}
