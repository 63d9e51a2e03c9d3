// SPDX-License-Identifier: Apache-2.0
// Verification of ragged batches by the CUDA kernels, on the block simulator: verdicts, counters and row states of
// exec::seq.
#include <specverify/cuda/verify.cuh>

#include <doctest/doctest.h>
#include <device/rounds.hpp>

using namespace device_tests;

namespace {

const std::vector<std::uint32_t> ragged{0, 3, 8, 1, 5, 2, 0, 4};

//! A card on which all rows are read first, each in `parts` parts.
exec::cuda reading_first(std::uint32_t parts, std::uint32_t rows) {
  exec::cuda how;
  how.tuning = {90, parts * rows, 1, 1};
  how.tuning.split_rounds = 1;
  return how;
}

//! Rows of large_size logits, normal with a standard deviation of 3.
template <class Scalar>
void fill_large(batch<Scalar>& rows) {
  generator normal{5};
  for (std::uint32_t r = 0; r < rows.count(); ++r)
    for (std::uint32_t id = 0; id < large_size; ++id) rows.set(r, id, 3.0 * normal.normal());
}

//! The token rule in one form: a block a round reads its rows, or all rows are read first.
template <class Scalar>
void verify(ragged_rounds<Scalar>& all, std::uint32_t parts, std::uint32_t trial_cap = 32) {
  const bool alone = parts == 0;
  REQUIRE(verify_batch(alone ? exec::cuda{} : reading_first(parts, all.made().rows.count), device_token_rule{trial_cap},
                       all.made(), all.random(), all.out(), alone ? all.scratch() : all.scratch_of_rows())
              .ok());
}

//! `forms`: parts of a row, as of `verify`.
template <class Scalar>
void compare(batch<Scalar>& rows, ragged_rounds<Scalar>& all, std::uint64_t seed, std::uint32_t trial_cap = 32,
             const std::vector<std::uint32_t>& forms = {0, 3}) {
  for (const std::uint32_t parts : forms) {
    CAPTURE(parts);
    simulator::device gpu({.seed = seed});
    all.name_to(gpu);
    verify(all, parts, trial_cap);
    REQUIRE(gpu.report() == "");
    for (std::uint32_t i = 0; i < all.count(); ++i) all.compare(token_rule{trial_cap}, i);
  }
  simulator::device gpu({.seed = seed});
  all.name_to(gpu);
  REQUIRE(verify_batch(exec::cuda{}, device_greedy_rule{}, all.made(), all.out()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t i = 0; i < all.count(); ++i) all.compare(greedy_rule{}, i);
  (void)rows;
}

}  // namespace

TEST_CASE_TEMPLATE("rounds over hard rows: the verdicts of the host", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 2u); ++seed) {
      CAPTURE(size);
      CAPTURE(seed);
      batch<Scalar> rows(ragged_rounds<Scalar>::rows_for(ragged), size);
      rows.fill(0, seed + size);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.3 + 0.05 * r;
      ragged_rounds<Scalar> plain(rows, ragged, seed);
      compare(rows, plain, seed);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      ragged_rounds<Scalar> changed(rows, ragged, seed + 100);
      changed.explicit_rows = false;
      compare(rows, changed, seed + 1, 2);
    }
  }
}

TEST_CASE_TEMPLATE("rounds over truncated hard rows: the verdicts of the host", Scalar, float, float16_bits,
                   bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    if (!is_long() && size > 1025 && !std::is_same_v<Scalar, float>) continue;
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      CAPTURE(seed);
      batch<Scalar> rows(ragged_rounds<Scalar>::rows_for(ragged), size);
      rows.fill(0, seed + size);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.3 + 0.05 * r;
      rows.truncate_all(static_cast<std::uint32_t>(seed * 31 + size));
      ragged_rounds<Scalar> plain(rows, ragged, seed);
      compare(rows, plain, seed);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      rows.truncation(6).min_p = -1.0;
      rows.truncation(20).top_p = 0.0;
      ragged_rounds<Scalar> changed(rows, ragged, seed + 100);
      compare(rows, changed, seed + 1, 2);
    }
  }
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run, plain and truncated") {
  std::uint32_t rows_seen = 0;
  for (std::uint32_t i = 0; rows_seen < (is_long() ? 10000u : 200u); ++i) {
    batch<float> rows(ragged_rounds<float>::rows_for(ragged), 4096);
    rows.fill(i, 1000 + i);
    for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.05 + 0.01 * (i * 7 % 150 + r);
    if (i % 2 == 1) rows.transform_all(i);
    ragged_rounds<float> plain(rows, ragged, i);
    compare(rows, plain, i, 32, {i % 4});
    rows.truncate_all(i * 31);
    ragged_rounds<float> cut(rows, ragged, i + 1);
    compare(rows, cut, i, 32, {(i + 1) % 4});
    for (std::uint32_t round = 0; round < plain.count(); ++round)
      rows_seen += plain.verdict_of(round).decided.counters.evaluated + 1;
  }
}

TEST_CASE("a NaN at every place of a round's row, but the last place, which no round looks at") {
  batch<float> rows = nan_at_every_place(1030);
  std::vector<std::uint32_t> lengths(1029, 0);
  lengths.back() = 1;
  ragged_rounds<float> all(rows, lengths, 5);
  compare(rows, all, 1);
}

TEST_CASE("rounds whose truncated rows keep more than there is room for say so") {
  constexpr std::uint32_t room = 40;
  batch<float> rows(ragged_rounds<float>::rows_for(ragged), 4001);
  rows.fill(0, 8);
  rows.truncate_all(3, room);
  ragged_rounds<float> all(rows, ragged, 5);
  for (const auto parts : {0u, 2u}) {
    CAPTURE(parts);
    simulator::device gpu({.seed = 5});
    all.name_to(gpu);
    verify(all, parts);
    REQUIRE(gpu.report() == "");
    all.compare_without_room(token_rule{}, room);
  }
}

namespace {

//! One round of a batch by itself.
template <class Scalar>
device_rounds<Scalar> only(const device_rounds<Scalar>& all, std::uint32_t round) {
  device_rounds<Scalar> one = all;
  one.count = 1;
  one.draft_begin += round;
  one.row_begin += round;
  one.remaining_budgets += round;
  one.stop_begin += round;
  return one;
}

}  // namespace

TEST_CASE("rows in error leave other rounds alone, and a round's place does not matter") {
  batch<float> rows(ragged_rounds<float>::rows_for(ragged), 1031, 2, 3);
  rows.fill(4, 6);
  rows.set(6, 1030, row_cases::nan_value());
  rows.set(20, 0, row_cases::infinity);
  rows.temperature(14) = -1.0;
  rows.temperature(0) = row_cases::nan_value();
  ragged_rounds<float> all(rows, ragged, 3);
  compare(rows, all, 4);
  std::uint32_t in_error = 0;
  for (std::uint32_t i = 0; i < all.count(); ++i) in_error += all.verdict_of(i).why.ok() ? 0u : 1u;
  CHECK(in_error > 1);
  simulator::device gpu({.seed = 9});
  all.name_to(gpu);
  REQUIRE(verify_batch(exec::cuda{}, device_token_rule{}, all.made(), all.random(), all.out(), all.scratch()).ok());
  for (std::uint32_t i = 0; i < all.count(); ++i) {
    const device_verdict in_batch = all.verdict_of(i);
    device_uniforms<> random = all.random();
    random.keys += i;
    random.positions += i;
    random.rounds += i;
    device_verdicts out = all.out();
    out.rounds += i;
    REQUIRE(verify_batch(exec::cuda{}, device_token_rule{}, only(all.made(), i), random, out, all.scratch()).ok());
    CHECK(all.verdict_of(i).why == in_batch.why);
    if (in_batch.why.ok()) all.compare(all.verdict_of(i).decided, in_batch.decided);
  }
  CHECK(gpu.report() == "");
}

TEST_CASE("rounds with too few rows, and offsets that lie") {
  batch<float> rows(ragged_rounds<float>::rows_for(ragged), 100);
  rows.fill(2, 6);
  ragged_rounds<float> all(rows, ragged, 5);
  all.with_budgets = false;
  all.row_begin()[2] -= 2;  // round 1 has two rows for three drafts; round 2 begins earlier and has more than it needs
  compare(rows, all, 1);
  CHECK(all.verdict_of(1).why == status{errc::too_few_rows, part::verify, 2});
  all.row_begin()[7] = all.row_begin()[6] - 1;
  all.row_begin()[8] = rows.count() + 1;
  for (const auto parts : {0u, 1u}) {
    CAPTURE(parts);
    simulator::device gpu;
    all.name_to(gpu);
    verify(all, parts);
    CHECK(gpu.report() == "");
    CHECK(all.verdict_of(6).why == status{errc::size_mismatch, part::verify, 0});
    CHECK(all.verdict_of(7).why == status{errc::size_mismatch, part::verify, 0});
    all.compare(token_rule{}, 5);
  }
}

TEST_CASE("a round without bonus, without limits, and with exact rules at once") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    batch<float> rows(ragged_rounds<float>::rows_for(ragged), 2049);
    rows.fill(static_cast<std::uint32_t>(seed), seed);
    ragged_rounds<float> all(rows, ragged, seed + 40);
    all.bonus = seed % 2 == 0;
    all.with_budgets = all.with_stops = all.with_forced = false;
    compare(rows, all, seed, 0);
  }
}

TEST_CASE("each row that is looked at is read once, others not at all") {
  const std::vector<std::uint32_t> lengths{4, 2, 0, 1};
  batch<float> rows(ragged_rounds<float>::rows_for(lengths), large_size);
  fill_large(rows);
  ragged_rounds<float> all(rows, lengths, 21);
  all.with_stops = all.with_forced = all.with_budgets = false;
  simulator::device gpu({.seed = 3});
  all.name_to(gpu);
  REQUIRE(verify_batch(exec::cuda{}, device_token_rule{}, all.made(), all.random(), all.out(), all.scratch()).ok());
  REQUIRE(gpu.report() == "");
  std::uint32_t unread = 0, read_once = 0;
  for (std::uint32_t i = 0; i < all.count(); ++i) {
    CAPTURE(i);
    all.compare(token_rule{}, i);
    const verdict& found = all.verdict_of(i).decided;
    const std::uint32_t looked_at = found.counters.evaluated + (found.source == token_source::bonus ? 1u : 0u);
    std::uint64_t bytes = 0;
    for (std::uint32_t k = 0; k < all.rows_of(i); ++k) {
      const std::uint64_t mine = gpu.bytes_read(rows.row(all.first_row(i) + k));
      if (k >= looked_at) CHECK(mine == 0);
      unread += k >= looked_at ? 1u : 0u;
      bytes += mine;
    }
    const std::uint64_t row = large_size * sizeof(float), block = 1024 * sizeof(float);
    const bool by_exact_rule = found.counters.residual_trials == 32;  // its sum, then as far as the token
    const std::uint32_t again = found.counters.exact_normalisers + (by_exact_rule ? 2u : 0u);
    read_once += again == 0 ? 1u : 0u;
    const std::uint64_t trials = found.counters.residual_trials * (64u + 1u) * sizeof(float);
    CHECK(bytes <= (looked_at + again) * row + block + trials);
  }
  CHECK(unread > 0);
  CHECK(read_once > 1);
}

namespace {

//! Bytes of a large row that were read, in rows.
template <class Scalar>
double reads_of(const simulator::device& gpu, batch<Scalar>& rows, std::uint32_t row) {
  return static_cast<double>(gpu.bytes_read(rows.row(row))) / (large_size * sizeof(Scalar));
}

}  // namespace

TEST_CASE("few rounds: all rows are read first, once each, where the scratch holds their digests") {
  const std::vector<std::uint32_t> lengths{4, 2, 0, 1};
  batch<bfloat16_bits> rows(ragged_rounds<bfloat16_bits>::rows_for(lengths), large_size);
  fill_large(rows);
  ragged_rounds<bfloat16_bits> all(rows, lengths, 21);
  all.with_stops = all.with_forced = all.with_budgets = false;
  const auto run_with = [&](const exec::cuda& how, std::size_t size) {
    simulator::device gpu({.seed = 3});
    all.name_to(gpu);
    const device_memory scratch{all.scratch_of_rows().data, size};
    REQUIRE(verify_batch(how, device_token_rule{}, all.made(), all.random(), all.out(), scratch).ok());
    REQUIRE(gpu.report() == "");
    std::uint32_t unread = 0;
    for (std::uint32_t r = 0; r < rows.count(); ++r) unread += gpu.bytes_read(rows.row(r)) == 0 ? 1u : 0u;
    for (std::uint32_t i = 0; i < all.count(); ++i) {
      CAPTURE(i);
      all.compare(token_rule{}, i);
      const verdict_counters& counters = all.verdict_of(i).decided.counters;
      const double again = counters.exact_normalisers + (counters.residual_trials == 32 ? 2 : 0);
      double reads = 0;
      for (std::uint32_t k = 0; k < all.rows_of(i); ++k) reads += reads_of(gpu, rows, all.first_row(i) + k);
      CHECK(reads <= 1.02 * all.rows_of(i) + again);
    }
    return unread;
  };
  const exec::cuda how{};
  const std::size_t enough = verify_memory_size(how, all.made());
  REQUIRE(enough == device_batch_size(rows.rows(), rows.transform()));
  CHECK(run_with(how, enough) == 0);
  CHECK(run_with(how, enough - 1) > 0);
  exec::cuda never = how;
  never.tuning.split_rounds = 0;
  CHECK(verify_memory_size(never, all.made()) == verify_memory_size(all.made()));
  CHECK(run_with(never, enough) > 0);
}

TEST_CASE("what the host does: rounds are few up to one a multiprocessor") {
  device_rounds<float> rounds;
  rounds.rows = {nullptr, large_size, 5 * 132, large_size};
  rounds.count = 132;
  const exec::cuda how{nullptr, tuning_for(90)};
  const std::size_t all = device_batch_size(rounds.rows, rounds.transform);
  CHECK(verify_memory_size(how, rounds) == all);
  rounds.rows.count = 100;  // some rounds have no row
  CHECK(verify_memory_size(how, rounds) == verify_memory_size(rounds));
  rounds.rows.count = 5 * 133;
  rounds.count = 133;
  CHECK(verify_memory_size(how, rounds) == verify_memory_size(rounds));
  CHECK(verify_memory_size(exec::cuda{nullptr, tuning_for(100)}, rounds) > all);
}

TEST_CASE("arguments of verify_batch") {
  batch<float> rows(ragged_rounds<float>::rows_for({2, 1}), 100);
  rows.fill(15, 1);
  ragged_rounds<float> all(rows, {2, 1}, 1);
  const auto code = [&](const device_rounds<float>& rounds, const device_uniforms<>& random, const device_verdicts& out,
                        device_memory scratch) {
    return verify_batch(exec::cuda{}, device_token_rule{}, rounds, random, out, scratch).code;
  };
  const device_rounds<float> good = all.made();
  device_rounds<float> bad = good;
  bad.count = 0;
  CHECK(code(bad, all.random(), all.out(), all.scratch()) == errc::size_mismatch);
  CHECK(verify_batch(exec::cuda{}, device_greedy_rule{}, bad, all.out()).code == errc::size_mismatch);
  bad = good;
  bad.drafts = nullptr;
  CHECK(code(bad, all.random(), all.out(), all.scratch()) == errc::null_span);
  bad = good;
  bad.draft_begin = nullptr;
  CHECK(code(bad, all.random(), all.out(), all.scratch()) == errc::null_span);
  bad = good;
  bad.stop_tokens = nullptr;
  CHECK(code(bad, all.random(), all.out(), all.scratch()) == errc::null_span);
  bad = good;
  bad.rows.size = 0;
  CHECK(code(bad, all.random(), all.out(), all.scratch()) == errc::empty_vocabulary);
  bad = good;
  bad.transform.truncation.top_k = 3;  // what is kept takes room too
  CHECK(code(bad, all.random(), all.out(), all.scratch()) == errc::workspace_too_small);
  bad.transform.truncation.top_p = 0;
  CHECK(code(bad, all.random(), all.out(), all.scratch()) == errc::invalid_truncation);
  CHECK(code(good, device_uniforms<>{}, all.out(), all.scratch()) == errc::null_span);
  CHECK(code(good, all.random(), device_verdicts{}, all.scratch()) == errc::null_span);
  CHECK(code(good, all.random(), all.out(), device_memory{}) == errc::null_span);
  device_memory little = all.scratch();
  --little.size;
  const status why = verify_batch(exec::cuda{}, device_token_rule{}, good, all.random(), all.out(), little);
  CHECK(why == status{errc::workspace_too_small, part::row, static_cast<std::uint32_t>(verify_memory_size(good))});
  CHECK(verify_batch(exec::cuda{}, device_greedy_rule{}, good, device_verdicts{}).code == errc::null_span);
}
