// SPDX-License-Identifier: Apache-2.0
// Residual draws by the CUDA kernel, on the block simulator: tokens, trials and rules of exec::seq.
#include <specverify/cuda/residual.cuh>
#include <specverify/distribution/fp16_law.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>
#include <device/draws.hpp>

using namespace device_tests;

namespace {

struct tally {
  std::uint32_t exact = 0, fallbacks = 0, retries = 0, late = 0;
};

//! A law a row, of changing kinds.
class laws_of_rows {
 public:
  template <class Scalar>
  laws_of_rows(batch<Scalar>& rows, std::uint64_t seed) : all(rows.count()), arrays_(rows.count()) {
    generator random{seed * 31u + 5u};
    for (std::uint32_t r = 0; r < rows.count(); ++r) {
      law& made = all[r];
      arrays& mine = arrays_[r];
      made.vocab_size = rows.size();
      if ((r + seed) % 3 == 0) {
        take_own_law(rows, r, mine);
      } else {
        const std::uint32_t step = 1 + static_cast<std::uint32_t>(random.next() % (rows.size() / 8 + 1));
        for (std::uint32_t id = 0; id < rows.size(); id += step) {
          mine.ids.push_back(static_cast<token_id>(id));
          mine.counts.push_back(static_cast<std::uint32_t>(random.next() % 4));
        }
        made.tail_count = (r + seed) % 3 == 1 ? 2 : 0;
      }
      made.ids = mine.ids.data();
      made.counts = mine.counts.data();
      made.size = static_cast<std::uint32_t>(mine.ids.size());
      for (const std::uint32_t count : mine.counts) made.resolution += count;
      made.resolution += made.tail_count * (made.vocab_size - made.size);
    }
  }
  void name_to(simulator::device& gpu) const {
    gpu.input(all.data(), all.size());
    for (const arrays& mine : arrays_) {
      gpu.input(mine.ids.data(), mine.ids.size());
      gpu.input(mine.counts.data(), mine.counts.size());
    }
  }
  std::vector<law> all;

 private:
  struct arrays {
    std::vector<token_id> ids;
    std::vector<std::uint32_t> counts;
  };
  //! The row's own law in fp16: next to nothing is left.
  template <class Scalar>
  static void take_own_law(batch<Scalar>& rows, std::uint32_t r, arrays& mine) {
    const row_transform transform = rows.host_transform(r);
    std::vector<std::byte> bytes(digest_workspace_size(rows.size(), transform, {}) +
                                 fp16_law_workspace_size(rows.size()));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), transform, {}, scratch);
    if (!reading) return;
    const auto made = fp16_law(*reading, scratch);
    if (!made) return;
    mine.ids.assign(made->ids, made->ids + made->size);
    mine.counts.assign(made->counts, made->counts + made->size);
  }
  std::vector<arrays> arrays_;
};

template <class Scalar>
void compare(batch<Scalar>& rows, const laws_of_rows& laws, std::uint32_t seed, residual_options options, tally& seen) {
  const places all(rows.count(), seed);
  std::vector<device_token> found(rows.count());
  simulator::device gpu({.seed = seed});
  rows.name_to(gpu);
  all.name_to(gpu);
  laws.name_to(gpu);
  gpu.output(found.data(), found.size());
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  const auto stream = all.all().at(purpose::residual_draw);
  REQUIRE(residual(exec::cuda{}, rows.made(), laws.all.data(), stream, found.data(), options).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    std::vector<std::byte> bytes(digest_workspace_size(rows.size(), rows.host_transform(r), {}));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), {}, scratch);
    const auto expected = reading.ok() ? reading->residual(laws.all[r], all.of(r).at(purpose::residual_draw), options)
                                       : result<residual_token>(reading.error());
    REQUIRE(found[r].why == expected.error());
    if (!expected) continue;
    REQUIRE(found[r].token == expected->token);
    REQUIRE(found[r].trials == expected->trials);
    REQUIRE(found[r].exact == expected->exact);
    REQUIRE(found[r].fallback == expected->fallback);
    seen.exact += expected->exact ? 1u : 0u;
    seen.fallbacks += expected->fallback ? 1u : 0u;
    seen.retries += expected->trials > 1 ? 1u : 0u;
    seen.late += expected->trials > 4 && !expected->exact ? 1u : 0u;
  }
}

}  // namespace

TEST_CASE_TEMPLATE("residuals of hard rows", Scalar, float, float16_bits, bfloat16_bits) {
  tally seen;
  for (const std::uint32_t size : sizes) {
    for (std::uint32_t seed = 0; seed < (is_long() ? 6u : 3u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size);
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      if (seed % 2 == 1) rows.transform_all(seed);
      if (seed == 1) rows.temperature(4) = 0.0;
      if (seed == 2) rows.set(5, size / 2, row_cases::nan_value());
      const laws_of_rows laws(rows, seed);
      compare(rows, laws, seed, {}, seen);
      compare(rows, laws, seed + 1, {.trial_cap = 0}, seen);
      compare(rows, laws, seed + 2, {.trial_cap = 2, .scale = 0.7}, seen);
      compare(rows, laws, seed + 3, {.trial_cap = 7, .scale = 1.0}, seen);  // four at once, then three
    }
  }
  CHECK(seen.exact > 0);
  CHECK(seen.fallbacks > 0);
  CHECK(seen.retries > 0);
  CHECK(seen.late > 0);
}

TEST_CASE("the exact rule of a row whose terms are not staged is the host's") {
  tally seen;
  batch<float> rows(1, cuda_detail::staged_terms * kernel::exact_size + 700);
  rows.fill(0, 3);
  compare(rows, laws_of_rows(rows, 4), 4, {.trial_cap = 0}, seen);
  CHECK(seen.exact == 1);
}

TEST_CASE_TEMPLATE("residuals of truncated hard rows", Scalar, float, float16_bits, bfloat16_bits) {
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
      rows.temperature(4) = 0.0;
      rows.truncation(2).top_p = 0.0;
      rows.set(5, size / 2, row_cases::nan_value());
      const laws_of_rows laws(rows, seed);
      compare(rows, laws, seed, {}, seen);
      compare(rows, laws, seed + 2, {.trial_cap = 2, .scale = 0.7}, seen);
    }
  }
  CHECK(seen.exact > 0);
  CHECK(seen.fallbacks > 0);
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  tally seen;
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    for (const bool cuts : {false, true}) {
      if (cuts) rows.truncate_all(i * 16);
      const laws_of_rows laws(rows, i);
      compare(rows, laws, i, {.trial_cap = i % 4 == 0 ? 2u : 32u, .scale = i % 3 == 0 ? 0.7 : 1.0}, seen);
    }
  }
  CHECK(seen.exact > 0);
  CHECK(seen.retries > 0);
}

TEST_CASE("residuals of a large vocabulary") {
  tally seen;
  batch<float> rows(3, large_size, 1, 2);
  rows.fill(13, 3);
  const laws_of_rows laws(rows, 1);
  compare(rows, laws, 1, {.trial_cap = 3}, seen);
  compare(rows, laws, 2, {}, seen);
}

namespace {

//! The exact rule against the host's, for uniforms of both halves of a row of 4096 ids.
void compare_exact_rule(batch<float>& rows, const law& point, std::vector<token_id>& ids,
                        std::vector<std::uint32_t>& counts) {
  const scripted_key key;
  const std::uint32_t zero = 0;
  device_token found;
  for (const double uniform : {0.0, 0.25, 0.5, 1024.0 / 4095.0, 0.999999}) {
    CAPTURE(uniform);
    uniform_script script;
    script.set_uniform({0, 0, 0, purpose::residual_draw, 0}, 0, uniform);
    const scripted_source source(script);
    simulator::device gpu;
    rows.name_to(gpu);
    gpu.input(&point, 1);
    gpu.input(ids.data(), 1);
    gpu.input(counts.data(), 1);
    gpu.input(&key, 1);
    gpu.input(&zero, 1);
    gpu.output(&found, 1);
    answer_with(source);
    REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
    const device_uniforms<scripted_key> random{&key, 0, &zero, &zero};
    REQUIRE(
        residual(exec::cuda{}, rows.made(), &point, random.at(purpose::residual_draw), &found, {.trial_cap = 0}).ok());
    CHECK(gpu.report() == "");
    std::vector<std::byte> bytes(digest_workspace_size(4096, rows.host_transform(0), {}));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(0), rows.host_transform(0), {}, scratch);
    REQUIRE(reading.ok());
    const auto stream = uniforms{source, 0, 0}.at(purpose::residual_draw);
    const auto expected = reading->residual(point, stream, {.trial_cap = 0});
    REQUIRE(expected.ok());
    CHECK(found.token == expected->token);
    CHECK(found.exact);
  }
}

}  // namespace

TEST_CASE("the exact rule at the border of two ids: sums of blocks prove nothing, the serial sum decides") {
  batch<float> rows(1, 4096);
  rows.fill(0, 1);  // all equal
  std::vector<token_id> ids{0};
  std::vector<std::uint32_t> counts{1};
  const law point{ids.data(), counts.data(), 1, 0, 1, 4096};
  compare_exact_rule(rows, point, ids, counts);
}

TEST_CASE("ids behind the vocabulary of a law with a tail have no share") {
  batch<float> rows(1, 4096);
  rows.fill(0, 1);  // all equal, but for the first quarter: it has more than the law takes
  for (std::uint32_t id = 0; id < 1024; ++id) rows.row(0)[id] += 2.0f;
  std::vector<token_id> ids{0};
  std::vector<std::uint32_t> counts{1};
  const law tail{ids.data(), counts.data(), 0, 1, 2048, 2048};
  compare_exact_rule(rows, tail, ids, counts);
}

TEST_CASE("a trial reads a lane of the row, and arguments of residual that are missing") {
  batch<float> rows(1, large_size);
  rows.fill(15, 1);
  std::vector<token_id> ids{3};
  std::vector<std::uint32_t> counts{1};
  const law point{ids.data(), counts.data(), 1, 0, 1, large_size};
  const places all(1);
  device_token found;
  simulator::device gpu;
  rows.name_to(gpu);
  all.name_to(gpu);
  gpu.input(&point, 1);
  gpu.input(ids.data(), 1);
  gpu.input(counts.data(), 1);
  gpu.output(&found, 1);
  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  const std::uint64_t before = gpu.bytes_read(rows.row(0));
  const auto stream = all.all().at(purpose::residual_draw);
  REQUIRE(residual(exec::cuda{}, rows.made(), &point, stream, &found).ok());
  CHECK(gpu.report() == "");
  CHECK_FALSE(found.exact);
  const std::uint32_t made = (found.trials + 7) / 8 * 8;  // eight at once
  CHECK(gpu.bytes_read(rows.row(0)) - before <= made * 65u * sizeof(float));

  const law* const none = nullptr;
  CHECK(residual(exec::cuda{}, rows.made(), none, stream, &found).code == errc::null_span);
  CHECK(residual(exec::cuda{}, rows.made(), &point, stream, nullptr).code == errc::null_span);
  CHECK(residual(exec::cuda{}, rows.made(), &point, device_stream<>{}, &found).code == errc::null_span);
  for (const double scale : {0.0, -0.5, 1.5, row_cases::infinity})
    CHECK(residual(exec::cuda{}, rows.made(), &point, stream, &found, {.scale = scale}).code == errc::invalid_argument);
}
