// SPDX-License-Identifier: Apache-2.0
// Numbers of whole rows with Thrust: log-sum-exp, probabilities, integer weights and perturbations of exec::seq.
#include <specverify/device/digest.hpp>
#include <specverify/device/integer_weights.hpp>
#include <specverify/device/log_sum_exp.hpp>
#include <specverify/device/softmax.hpp>
#include <specverify/device/temperature_perturbation.hpp>
#include <specverify/row/integer_weights.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/softmax.hpp>

#include "thrust_support.hpp"

using namespace device_tests;

namespace {

template <class Scalar>
void compare_sums(batch<Scalar>& rows) {
  std::vector<device_value> values(rows.count());
  REQUIRE(log_sum_exp(on, rows.rows(), rows.transform(), values.data()).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const auto expected = log_sum_exp(exec::seq, rows.host_row(r), rows.host_transform(r));
    REQUIRE(values[r].why == expected.error());
    if (expected) REQUIRE(same_bits(values[r].value, *expected));
  }
}

template <class Scalar>
void compare_laws(batch<Scalar>& rows) {
  const std::size_t pitch = rows.size() + 2;
  std::vector<status> whys(rows.count());
  std::vector<float> laws(rows.count() * pitch, -7.0f), expected(pitch);
  REQUIRE(softmax(on, rows.rows(), rows.transform(), {whys.data(), laws.data(), pitch}).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    std::fill(expected.begin(), expected.end(), -7.0f);
    REQUIRE(whys[r] == softmax(exec::seq, rows.host_row(r), rows.host_transform(r), std::span<float>(expected)));
    REQUIRE(std::memcmp(expected.data(), laws.data() + r * pitch, pitch * sizeof(float)) == 0);
  }
}

template <class Scalar>
void compare_weights(batch<Scalar>& rows) {
  const std::size_t pitch = rows.size() + 1;
  std::vector<device_total> totals(rows.count());
  std::vector<std::uint32_t> weights(rows.count() * pitch, 7u), expected(pitch);
  REQUIRE(integer_weights(on, rows.rows(), rows.transform(), {totals.data(), weights.data(), pitch}).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    std::fill(expected.begin(), expected.end(), 7u);
    const auto total =
        integer_weights(exec::seq, rows.host_row(r), rows.host_transform(r), std::span<std::uint32_t>(expected));
    REQUIRE(totals[r].why == total.error());
    if (total) REQUIRE(totals[r].total_weight == *total);
    REQUIRE(std::memcmp(expected.data(), weights.data() + r * pitch, pitch * sizeof(std::uint32_t)) == 0);
  }
}

template <class Scalar>
void compare_perturbations(batch<Scalar>& rows, std::uint64_t seed, const perturbation_options& options) {
  const places at(rows.count());
  generator random{seed * 31u + 7u};
  std::vector<token_id> tokens(rows.count());
  std::vector<device_disagreement> found(rows.count());
  REQUIRE(read_rows(on, rows.made()).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    const bool likely = random.below(3) != 0 && rows.digests.rows[r].why.ok();
    tokens[r] = likely ? rows.digests.rows[r].argmax : static_cast<token_id>(random.below(rows.size() + 1));
  }
  REQUIRE(temperature_perturbation(on, rows.made(), tokens.data(), options, at.all(), found.data()).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r);
    const auto expected =
        host.ok() ? temperature_perturbation(*host, tokens[r], options, at.of(r)) : result<disagreement>(host.why());
    REQUIRE(found[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(found[r].samples == expected->samples);
    REQUIRE(found[r].disagreements == expected->disagreements);
    REQUIRE(found[r].reads <= options.samples);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("perturbations of hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t seed) {
    if (rows.size() > 1025 && seed != 1) return;
    compare_perturbations(rows, seed, {.samples = seed == 0 ? 20u : seed == 1 ? 1u : 70u});
  });
}

TEST_CASE("a truncation plays no part in perturbations") {
  for_each_batch<float>(truncated([](batch<float>& rows, std::uint64_t seed) {
    if (rows.size() <= 1025) compare_perturbations(rows, seed, {.samples = 20});
  }));
}

TEST_CASE("many rows: perturbations") {
  const auto check = [](batch<float>& rows, std::uint64_t seed) { compare_perturbations(rows, seed, {.samples = 4}); };
  for_many_rows(check);
  for_many_rows(truncated(check));
}

TEST_CASE("perturbations of several chunks of rows") {
  batch<float> rows(70, large_size);
  rows.fill(4, 5);
  compare_perturbations(rows, 1, {.samples = 1, .maximum_temperature = 0.9});
}

TEST_CASE_TEMPLATE("numbers of whole rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t) {
    compare_sums(rows);
    compare_laws(rows);
    compare_weights(rows);
  });
}

TEST_CASE("numbers of a large vocabulary") {
  batch<float> rows(3, large_size);
  rows.fill(12, 5);
  compare_sums(rows);
  compare_laws(rows);
  compare_weights(rows);
}

TEST_CASE("many rows: numbers of whole rows") {
  for_many_rows([](batch<float>& rows, std::uint64_t) {
    compare_sums(rows);
    compare_laws(rows);
    compare_weights(rows);
  });
}

TEST_CASE("arguments that are refused, and truncations") {
  batch<float> rows(2, 100);
  std::vector<status> whys(2);
  std::vector<float> laws(200);
  std::vector<device_value> values(2);
  const device_probabilities out{whys.data(), laws.data(), 100};
  CHECK(log_sum_exp(on, rows.rows(), rows.transform(), nullptr).code == errc::null_span);
  CHECK(softmax(on, rows.rows(), rows.transform(), {whys.data(), nullptr, 100}).code == errc::null_span);
  CHECK(softmax(on, rows.rows(), rows.transform(), {whys.data(), laws.data(), 99}) ==
        status{errc::output_too_small, part::row, 100});
  CHECK(integer_weights(on, rows.rows(), rows.transform(), {}).code == errc::null_span);
  const places at(2);
  const token_id tokens[2] = {0, 1};
  device_disagreement found[2];
  CHECK(temperature_perturbation(on, rows.made(), tokens, {.samples = 0}, at.all(), found) ==
        status{errc::invalid_argument, part::uncertainty, 0});
  CHECK(temperature_perturbation(on, rows.made(), nullptr, {}, at.all(), found).code == errc::null_span);
  auto transform = rows.transform();
  transform.truncation.top_k = 3;
  CHECK(softmax(on, rows.rows(), transform, out).code == errc::unsupported);
  const row_truncation cuts[2] = {{}, {.top_k = 3}};
  transform.truncations = cuts;
  REQUIRE(softmax(on, rows.rows(), transform, out).ok());
  CHECK(whys[0].ok());
  CHECK(whys[1] == status{errc::unsupported, part::row, 0});
}
