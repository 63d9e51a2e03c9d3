// SPDX-License-Identifier: Apache-2.0
// Accept tests, residuals and verification with Thrust: the answers of exec::seq.
#include <specverify/device/accept.hpp>
#include <specverify/device/residual.hpp>
#include <specverify/device/sample.hpp>
#include <specverify/device/temperature_perturbation.hpp>
#include <specverify/device/verify.hpp>

#include "thrust_support.hpp"

#include <device/rounds.hpp>

using namespace device_tests;

namespace {

//! A law of every third id, with a tail.
struct one_law {
  one_law(std::uint32_t size, generator& random) {
    made.vocab_size = size;
    made.tail_count = random.below(2);
    for (std::uint32_t id = random.below(3); id < size; id += 1 + random.below(5)) {
      ids.push_back(static_cast<token_id>(id));
      counts.push_back(random.below(9));
      made.resolution += counts.back();
    }
    made.size = static_cast<std::uint32_t>(ids.size());
    made.resolution += made.tail_count * (size - made.size);
    if (made.resolution == 0) made.tail_count = 1, made.resolution = size - made.size;
  }
  law all() {
    made.ids = ids.data();
    made.counts = counts.data();
    return made;
  }
  law made{};
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
};

template <class Scalar>
void compare_tests(batch<Scalar>& rows, std::uint64_t seed, bool exact) {
  generator random{seed * 77u + 5u};
  const places at(rows.count());
  std::vector<drafted_token> drafted(rows.count());
  for (drafted_token& one : drafted) {
    one.token = static_cast<token_id>(random.below(rows.size() + 1));
    one.resolution = random.below(30);
    one.count = random.below(30) % (one.resolution + 2);
  }
  REQUIRE(read_rows(on, rows.made(), {.exact_normaliser = exact}).ok());
  for (std::uint32_t r = 0; r < rows.count(); r += 2) {
    if (rows.digests.rows[r].why.ok()) drafted[r].token = rows.digests.rows[r].argmax;
    drafted[r].resolution = 1000;
    drafted[r].count = 1 + random.below(1000);
  }
  std::vector<device_acceptance> found(rows.count());
  REQUIRE(accept(on, rows.made(), drafted.data(), at.all().at(purpose::acceptance, 2), found.data()).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r, {.exact_normaliser = exact});
    const auto expected =
        host.ok() ? host->accept(drafted[r], at.of(r).at(purpose::acceptance, 2)) : result<acceptance>(host.why());
    REQUIRE(found[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(found[r].accepted == expected->accepted);
    REQUIRE(found[r].near_tie == expected->near_tie);
    REQUIRE(found[r].exact == expected->exact);
  }
}

template <class Scalar>
void compare_residuals(batch<Scalar>& rows, std::uint64_t seed, const residual_options& options) {
  generator random{seed * 99u + 3u};
  const places at(rows.count());
  std::vector<one_law> kept;
  std::vector<law> laws;
  for (std::uint32_t r = 0; r < rows.count(); ++r) kept.emplace_back(rows.size(), random);
  for (one_law& one : kept) laws.push_back(one.all());
  laws[1].resolution = 0;
  std::vector<device_token> tokens(rows.count());
  REQUIRE(read_rows(on, rows.made()).ok());
  REQUIRE(residual(on, rows.made(), laws.data(), at.all().at(purpose::residual_draw), tokens.data(), options).ok());
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const host_reading<Scalar> host(rows, r);
    const auto expected = host.ok() ? host->residual(laws[r], at.of(r).at(purpose::residual_draw), options)
                                    : result<residual_token>(host.why());
    REQUIRE(tokens[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(tokens[r].token == expected->token);
    REQUIRE(tokens[r].trials == expected->trials);
    REQUIRE(tokens[r].exact == expected->exact);
    REQUIRE(tokens[r].fallback == expected->fallback);
  }
}

const std::vector<std::uint32_t> ragged{0, 3, 8, 1, 5, 2, 0, 4};

template <class Scalar>
void compare_rounds(ragged_rounds<Scalar>& all, std::uint32_t trial_cap = 32) {
  REQUIRE(verify_batch(on, device_token_rule{trial_cap}, all.made(), all.random(), all.out()).ok());
  for (std::uint32_t i = 0; i < all.count(); ++i) all.compare(token_rule{trial_cap}, i);
  REQUIRE(verify_batch(on, device_greedy_rule{}, all.made(), all.out()).ok());
  for (std::uint32_t i = 0; i < all.count(); ++i) all.compare(greedy_rule{}, i);
}

template <class Scalar>
struct rows_for_rounds : batch<Scalar> {
  rows_for_rounds(std::uint32_t size, std::uint64_t seed)
      : batch<Scalar>(ragged_rounds<Scalar>::rows_for(ragged), size) {
    this->fill(0, seed);
    for (std::uint32_t r = 0; r < this->count(); ++r) this->temperature(r) = 0.3 + 0.05 * r;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("accept tests on hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t seed) {
    for (std::uint64_t again = 0; again < 3; ++again) compare_tests(rows, 3 * seed + again, again == 2);
  });
}

TEST_CASE_TEMPLATE("residuals of hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>([](batch<Scalar>& rows, std::uint64_t seed) {
    compare_residuals(rows, seed, {});
    compare_residuals(rows, seed + 50, {.trial_cap = static_cast<std::uint32_t>(seed % 3), .scale = 0.7});
  });
}

TEST_CASE_TEMPLATE("tests and residuals of truncated hard rows are the host's", Scalar, float, bfloat16_bits) {
  for_each_batch<Scalar>(truncated([](batch<Scalar>& rows, std::uint64_t seed) {
    compare_tests(rows, seed, seed % 2 == 0);
    compare_residuals(rows, seed, {});
    compare_residuals(rows, seed + 50, {.trial_cap = 2, .scale = 0.7});
  }));
}

TEST_CASE_TEMPLATE("rounds over hard rows: the verdicts of the host", Scalar, float, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 3u); ++seed) {
      CAPTURE(size);
      CAPTURE(seed);
      rows_for_rounds<Scalar> rows(size, seed + size);
      ragged_rounds<Scalar> plain(rows, ragged, seed);
      compare_rounds(plain);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      ragged_rounds<Scalar> changed(rows, ragged, seed + 100);
      changed.explicit_rows = false;
      compare_rounds(changed, 2);
      rows.truncate_all(static_cast<std::uint32_t>(seed * 31 + size));
      rows.truncation(6).min_p = -1.0;
      rows.truncation(20).top_p = 0.0;
      ragged_rounds<Scalar> cut(rows, ragged, seed + 200);
      compare_rounds(cut);
    }
  }
}

TEST_CASE("rounds with rows in error, and offsets beyond the rows") {
  rows_for_rounds<float> rows(1025, 3);
  for (std::uint32_t r = 2; r < rows.count(); r += 5)
    rows.set(r, 7, r % 2 == 0 ? row_cases::nan_value() : row_cases::infinity);
  rows.temperature(4) = -1.0;
  ragged_rounds<float> all(rows, ragged, 9);
  all.bonus = false;
  compare_rounds(all);
  const std::uint32_t last = all.row_begin().back();
  all.row_begin().back() = last + 1;
  REQUIRE(verify_batch(on, device_token_rule{}, all.made(), all.random(), all.out()).ok());
  CHECK(all.verdict_of(7).why == status{errc::size_mismatch, part::verify, 0});
  all.row_begin().back() = all.row_begin()[7];
  REQUIRE(verify_batch(on, device_greedy_rule{}, all.made(), all.out()).ok());
  CHECK(all.verdict_of(7).why.code == errc::too_few_rows);
}

TEST_CASE("rounds whose truncated rows keep more than there is room for say so") {
  rows_for_rounds<float> rows(4001, 8);
  rows.truncate_all(3, 40);
  ragged_rounds<float> all(rows, ragged, 5);
  REQUIRE(verify_batch(on, device_token_rule{}, all.made(), all.random(), all.out()).ok());
  all.compare_without_room(token_rule{}, 40);
}

TEST_CASE("many rows: tests, residuals and rounds") {
  const auto check = [](batch<float>& rows, std::uint64_t seed) {
    compare_tests(rows, seed, false);
    compare_residuals(rows, seed, {});
  };
  for_many_rows(check);
  for_many_rows(truncated(check));
  for (std::uint64_t seed = 0; seed < (is_long() ? 330u : 33u); ++seed) {  // of 31 rows each
    rows_for_rounds<float> drafted(4096, seed);
    ragged_rounds<float> all(drafted, ragged, seed);
    compare_rounds(all);
    drafted.truncate_all(static_cast<std::uint32_t>(seed * 31));
    ragged_rounds<float> cut(drafted, ragged, seed + 1);
    compare_rounds(cut);
  }
}

TEST_CASE("arguments that are refused") {
  rows_for_rounds<float> rows(100, 1);
  ragged_rounds<float> all(rows, ragged, 1);
  const auto refused = [&](auto&& change) {
    auto rounds = all.made();
    auto random = all.random();
    auto out = all.out();
    change(rounds, random, out);
    return verify_batch(on, device_token_rule{}, rounds, random, out);
  };
  CHECK(refused([](auto& r, auto&, auto&) { r.count = 0; }) == status{errc::size_mismatch, part::verify, 0});
  CHECK(refused([](auto& r, auto&, auto&) { r.drafts = nullptr; }).code == errc::null_span);
  CHECK(refused([](auto&, auto& u, auto&) { u.keys = nullptr; }).code == errc::null_span);
  CHECK(refused([](auto&, auto&, auto& o) { o.rounds = nullptr; }).code == errc::null_span);
  CHECK(refused([](auto& r, auto&, auto&) { r.transform.truncation.top_p = 0; }).code == errc::invalid_truncation);
  const places at(rows.count());
  std::vector<device_token> tokens(rows.count());
  std::vector<law> laws(rows.count());
  CHECK(
      residual(on, rows.made(), laws.data(), at.all().at(purpose::residual_draw), tokens.data(), {.scale = 1.5}).code ==
      errc::invalid_argument);
  CHECK(residual(on, rows.made(), nullptr, at.all().at(purpose::residual_draw), tokens.data()).code == errc::null_span);
  CHECK(accept(on, rows.made(), nullptr, at.all().at(purpose::acceptance), nullptr).code == errc::null_span);
}

TEST_CASE("digests of claimed blocks do not serve") {
  batch<float> rows(2, 100);
  rows.fill(15, 1);
  const places at(2);
  const auto stream = at.all().at(purpose::residual_draw);
  generator random{3};
  one_law point(100, random);
  const std::vector<law> laws(2, point.all());
  const std::vector<drafted_token> drafted(2, drafted_token{1, 1, 9});
  const std::vector<token_id> tokens(2);
  std::vector<device_acceptance> tests(2);
  std::vector<device_token> drawn(2), replaced(2);
  std::vector<device_disagreement> perturbed(2);
  REQUIRE(read_rows(on, rows.made()).ok());
  rows.digests.rows[1].made_by = digest_source::claims;
  REQUIRE(accept(on, rows.made(), drafted.data(), stream, tests.data()).ok());
  REQUIRE(residual(on, rows.made(), laws.data(), stream, replaced.data()).ok());
  REQUIRE(sample(on, rows.made(), stream, drawn.data()).ok());
  REQUIRE(temperature_perturbation(on, rows.made(), tokens.data(), {}, at.all(), perturbed.data()).ok());
  for (std::uint32_t r = 0; r < 2; ++r) {
    const errc expected = r == 0 ? errc::ok : errc::digest_insufficient;
    CHECK(tests[r].why.code == expected);
    CHECK(replaced[r].why.code == expected);
    CHECK(drawn[r].why.code == expected);
    CHECK(perturbed[r].why.code == expected);
  }
}
