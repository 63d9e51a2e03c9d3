// SPDX-License-Identifier: Apache-2.0
// Readings and draws from claimed blocks by the CUDA kernels, on the block simulator: those of the host, also where a
// claim is wrong.
#include <specverify/cuda/accept.cuh>
#include <specverify/cuda/blocks.cuh>
#include <specverify/cuda/fp16_counts.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/cuda/residual.cuh>
#include <specverify/cuda/select.cuh>
#include <specverify/cuda/temperature_perturbation.cuh>
#include <specverify/cuda/threshold.cuh>
#include <specverify/row/blocks.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace {

//! What an epilogue would say of a batch, and what is drawn from that. `off`: how far sums are off, up or down.
template <class Scalar>
struct claimed {
  claimed(batch<Scalar>& all, std::uint32_t size, double wrong = 0x1.0p-10, double off = 0)
      : rows(all),
        block_size(size),
        error(wrong),
        blocks((all.size() + size - 1) / size),
        pitch(blocks + 2),
        maxima(all.count() * pitch),
        sums(maxima),
        shares(maxima.size()),
        places(all.count()),
        tokens(all.count()) {
    for (std::uint32_t r = 0; r < all.count(); ++r) {
      places[r] = 7 * r + 1;
      const row_transform transform = rows.host_transform(r);
      const auto values =
          row_cases::transformed(std::vector<Scalar>(rows.row(r), rows.row(r) + rows.size()), transform);
      for (std::uint32_t b = 0; b < blocks; ++b) claim(r, b, values, transform.temperature, off);
    }
  }
  void claim(std::uint32_t r, std::uint32_t b, const std::vector<double>& values, double temperature, double off) {
    const std::size_t first = std::size_t{b} * block_size, end = std::min<std::size_t>(rows.size(), first + block_size);
    double maximum = -row_cases::infinity, sum = 0;
    for (std::size_t v = first; v < end; ++v) maximum = std::max(maximum, values[v]);
    for (std::size_t v = first; v < end; ++v)
      if (maximum > -row_cases::infinity && values[v] > -row_cases::infinity)
        sum += temperature > 0.0 ? std::exp((values[v] - maximum) / temperature) : 1.0;
    maxima[r * pitch + b] = static_cast<float>(maximum);
    sums[r * pitch + b] = static_cast<float>(sum * (1.0 + (b % 3 == 0 ? off : b % 3 == 1 ? -off : 0.5 * off)));
  }
  [[nodiscard]] device_row_blocks view() {
    return {block_size, maxima.data(), sums.data(), shares.data(), pitch, error};
  }
  [[nodiscard]] device_stream<> stream() const {
    return device_uniforms<>{&key, 0, places.data(), places.data()}.at(purpose::bonus_draw, 2);
  }
  void name_to(simulator::device& gpu) {
    rows.name_to(gpu);
    gpu.input(maxima.data(), maxima.size());
    gpu.input(sums.data(), sums.size());
    gpu.output(shares.data(), shares.size());
    gpu.input(&key, 1);
    gpu.input(places.data(), places.size());
    gpu.output(tokens.data(), tokens.size());
  }
  void launch(std::uint32_t trial_cap) {
    REQUIRE(read_rows_from_blocks(exec::cuda{}, rows.made(), view()).ok());
    REQUIRE(sample(exec::cuda{}, rows.made(), view(), stream(), tokens.data(), {trial_cap}).ok());
  }

  batch<Scalar>& rows;
  std::uint32_t block_size;
  double error;
  std::size_t blocks, pitch;
  std::vector<float> maxima, sums;
  std::vector<double> shares;
  philox_key key{{3, 5}};
  std::vector<std::uint32_t> places;
  std::vector<device_token> tokens;
};

void compare_digest(const device_digest& found, const row_digest& expected) {
  REQUIRE(found.argmax == expected.argmax);
  REQUIRE(static_cast<double>(found.maximum) == expected.maximum);
  REQUIRE(static_cast<double>(found.reference) == expected.reference);
  REQUIRE(found.one_hot == expected.one_hot);
  REQUIRE(same_bits(found.coarse_total, expected.coarse_total));
  REQUIRE(same_bits(found.lower, expected.lower));
  REQUIRE(same_bits(found.upper, expected.upper));
}

template <class Scalar>
void compare(claimed<Scalar>& all, std::uint64_t seed, std::uint32_t trial_cap = 32) {
  CAPTURE(all.block_size);
  batch<Scalar>& rows = all.rows;
  simulator::device gpu({.seed = seed});
  all.name_to(gpu);
  all.launch(trial_cap);
  REQUIRE(gpu.report() == "");
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const row_transform transform = rows.host_transform(r);
    std::vector<std::byte> memory(row_blocks_workspace_size(rows.size(), all.block_size, transform, {}));
    workspace space{memory};
    const std::span<const float> maxima(all.maxima.data() + r * all.pitch, all.blocks);
    const std::span<const float> sums(all.sums.data() + r * all.pitch, all.blocks);
    const auto reading = read_row_from_blocks(exec::seq, rows.host_row(r), transform, {},
                                              {all.block_size, maxima, sums, all.error}, space);
    const device_digest& digest = rows.digests.rows[r];
    REQUIRE(digest.why == (reading.ok() ? status{} : reading.error()));
    REQUIRE((reading.ok() || all.tokens[r].why == digest.why));
    if (!reading.ok()) continue;
    compare_digest(digest, row_cases::reading_test_access::digest(*reading));
    const uniforms random{philox{all.key}, all.places[r], all.places[r]};
    const auto expected = reading->sample(random.at(purpose::bonus_draw, 2), {.trial_cap = trial_cap});
    const device_token& found = all.tokens[r];
    REQUIRE(found.why == (expected.ok() ? status{} : expected.error()));
    if (!expected.ok()) continue;
    REQUIRE(found.token == expected->token);
    REQUIRE(found.trials == expected->trials);
    REQUIRE(found.exact == expected->exact);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("draws from claimed blocks of hard rows are the host's", Scalar, float, float16_bits,
                   bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size, 1, 3);
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      for (const std::uint32_t block_size : {64u, 192u, 1024u}) {
        claimed<Scalar> all(rows, block_size);
        compare(all, seed + block_size);
      }
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      for (const std::uint32_t block_size : {64u, 960u, 1024u}) {
        claimed<Scalar> all(rows, block_size, 0.25, 0.2);
        compare(all, seed + block_size + 1);
      }
    }
  }
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    const bool is_off = i % 2 == 1;
    claimed<float> all(rows, 64 * (1 + i % 16), is_off ? 0.25 : 0x1.0p-10, is_off ? 0.2 : 0.0);
    compare(all, i);
  }
}

TEST_CASE("a NaN at every place is what the host finds of it") {
  batch<float> rows = nan_at_every_place(300);
  claimed<float> all(rows, 64);
  compare(all, 1);
}

TEST_CASE("few trials, none, and a temperature that is none") {
  batch<float> rows(hard_rows::kinds + 1, 4001);
  rows.fill(0, 8);
  for (const std::uint32_t trial_cap : {0u, 1u, 2u}) {
    claimed<float> all(rows, 256, 0.5, 0.4);
    compare(all, trial_cap, trial_cap);
  }
  claimed<float> all(rows, 128);
  rows.temperature(3) = -1.0;
  rows.temperature(4) = 1.0e-9;
  compare(all, 3);
}

TEST_CASE("a wrong claim is noticed where the host notices it") {
  batch<float> rows(16, 1025);
  for (std::uint32_t r = 0; r < 16; ++r) {
    generator random{r + 77};
    for (std::uint32_t id = 0; id < 1025; ++id) rows.set(r, id, random.normal());
  }
  claimed<float> all(rows, 64);
  for (std::uint32_t r = 0; r < 16; ++r) {
    float* const maxima = all.maxima.data() + r * all.pitch;
    float* const sums = all.sums.data() + r * all.pitch;
    const float infinity = std::numeric_limits<float>::infinity();
    if (r == 1) maxima[3] = std::numeric_limits<float>::quiet_NaN();
    if (r == 2) maxima[16] = infinity;
    if (r == 3) sums[5] = 0.5f;
    if (r == 4) sums[6] = 65.0f;
    if (r == 5) sums[7] = infinity;
    if (r == 6) maxima[8] = 9.0f;                           // above all: the block is read at once
    if (r == 7) rows.set(r, 70, row_cases::nan_value());    // read by a draw, perhaps
    if (r == 8) std::fill(maxima, maxima + 17, -infinity);  // empty
    if (r == 9)
      for (int b = 0; b < 17; ++b) sums[b] *= 1.5f;  // each block says so
    if (r == 10)
      for (int b = 0; b < 17; ++b) maxima[b] -= 0.01f;
    if (r == 11)
      for (std::uint32_t id = 0; id < 1025; id += 2) rows.set(r, id, row_cases::nan_value());
    if (r == 12) rows.set(r, 1024, row_cases::infinity);
    if (r == 13) sums[2] *= 0.5f;
  }
  compare(all, 4);
  CHECK(rows.digests.rows[1].why == status{errc::row_has_nan, part::row, 192});
  CHECK(rows.digests.rows[3].why == status{errc::blocks_disagree, part::row, 320});
  CHECK(rows.digests.rows[6].why == status{errc::blocks_disagree, part::row, 512});
  CHECK(rows.digests.rows[8].why == status{errc::row_is_empty, part::row, 0});
  CHECK(all.tokens[9].why.code == errc::blocks_disagree);
  for (std::uint32_t place = 0; place < 40; ++place) {
    for (std::uint32_t r = 0; r < 16; ++r) all.places[r] = 100 * place + r;
    compare(all, place);
  }
}

TEST_CASE("a draw reads a block for its digest and one a trial") {
  batch<bfloat16_bits> rows(4, large_size);
  rows.fill(15, 3);
  for (std::uint32_t r = 0; r < 4; ++r)
    for (std::uint32_t id = 0; id < large_size; id += 7) rows.set(r, id, static_cast<double>(id % 11) * 0.5);
  for (const std::uint32_t block_size : {128u, 1024u}) {
    claimed<bfloat16_bits> all(rows, block_size);
    simulator::device gpu;
    all.name_to(gpu);
    all.launch(32);
    CHECK(gpu.report() == "");
    for (std::uint32_t r = 0; r < 4; ++r) {
      const double blocks = static_cast<double>(gpu.bytes_read(rows.row(r))) / (block_size * 2.0);
      CHECK(blocks <= 1.05 + all.tokens[r].trials);
    }
  }
}

TEST_CASE("arguments that are refused") {
  batch<float> rows(2, 1025);
  rows.fill(15, 1);
  claimed<float> all(rows, 64);
  const auto code = [&](const device_row_blocks& claims) {
    const status why = read_rows_from_blocks(exec::cuda{}, rows.made(), claims);
    CHECK(sample(exec::cuda{}, rows.made(), claims, all.stream(), all.tokens.data()) == why);
    return why.code;
  };
  const auto changed = [&](auto change) {
    device_row_blocks claims = all.view();
    change(claims);
    return code(claims);
  };
  CHECK(changed([](device_row_blocks& claims) { claims.block_size = 32; }) == errc::invalid_argument);
  CHECK(changed([](device_row_blocks& claims) { claims.block_size = 100; }) == errc::invalid_argument);
  CHECK(changed([](device_row_blocks& claims) { claims.block_size = 2048; }) == errc::invalid_argument);
  CHECK(changed([](device_row_blocks& claims) { claims.error = 0.6; }) == errc::invalid_argument);
  CHECK(changed([](device_row_blocks& claims) { claims.error = row_cases::nan_value(); }) == errc::invalid_argument);
  CHECK(changed([](device_row_blocks& claims) { claims.maxima = nullptr; }) == errc::null_span);
  CHECK(changed([](device_row_blocks& claims) { claims.sums = nullptr; }) == errc::null_span);
  CHECK(changed([](device_row_blocks& claims) { claims.shares = nullptr; }) == errc::null_span);
  CHECK(changed([](device_row_blocks& claims) { claims.pitch = 16; }) == errc::size_mismatch);
  CHECK(sample(exec::cuda{}, rows.made(), all.view(), all.stream(), nullptr).code == errc::null_span);
  CHECK(sample(exec::cuda{}, rows.made(), all.view(), device_stream<>{}, all.tokens.data()).code == errc::null_span);
}

namespace {

//! What each function says of row r that takes no claims.
struct answers_of_others {
  static constexpr std::uint32_t rows = 4, room = 8;
  std::vector<drafted_token> drafted = std::vector<drafted_token>(rows, {1, 1, 9});
  std::vector<token_id> tokens = std::vector<token_id>(rows), ids = std::vector<token_id>(rows * room);
  std::vector<std::uint32_t> counts = std::vector<std::uint32_t>(rows * room);
  token_id one = 1;
  std::uint32_t unit = 1;
  std::vector<law> laws = std::vector<law>(rows, law{&one, &unit, 1, 0, 1, 1025});
  std::vector<device_token> drawn = std::vector<device_token>(rows), replaced = drawn;
  std::vector<device_support> largest = std::vector<device_support>(rows), above = largest;
  std::vector<device_law> points = std::vector<device_law>(rows), halves = points;
  std::vector<device_acceptance> tests = std::vector<device_acceptance>(rows);
  std::vector<device_disagreement> perturbed = std::vector<device_disagreement>(rows);

  void name_to(simulator::device& gpu) {
    gpu.input(drafted.data(), rows);
    gpu.input(tokens.data(), rows);
    gpu.input(&one, 1);
    gpu.input(&unit, 1);
    gpu.input(laws.data(), rows);
    gpu.output(ids.data(), ids.size());
    gpu.output(counts.data(), counts.size());
    gpu.output(drawn.data(), rows);
    gpu.output(replaced.data(), rows);
    gpu.output(largest.data(), rows);
    gpu.output(above.data(), rows);
    gpu.output(points.data(), rows);
    gpu.output(halves.data(), rows);
    gpu.output(tests.data(), rows);
    gpu.output(perturbed.data(), rows);
  }
  void launch(const device_batch<float>& batch, const device_stream<>& stream, const device_uniforms<>& random) {
    const exec::cuda how{};
    REQUIRE(sample(how, batch, stream, drawn.data()).ok());
    REQUIRE(residual(how, batch, laws.data(), stream, replaced.data()).ok());
    REQUIRE(accept(how, batch, drafted.data(), stream, tests.data()).ok());
    REQUIRE(select(how, batch, room, {largest.data(), ids.data(), counts.data(), room}).ok());
    REQUIRE(select_above(how, batch, 0.5, {above.data(), ids.data(), counts.data(), room}).ok());
    REQUIRE(quantize(how, batch, room, {points.data(), ids.data(), counts.data(), room}).ok());
    REQUIRE(fp16_counts(how, batch, {halves.data(), ids.data(), counts.data(), room}).ok());
    REQUIRE(temperature_perturbation(how, batch, tokens.data(), {}, random, perturbed.data()).ok());
  }
  void all_are(std::uint32_t r, const status& why) const {
    CAPTURE(r);
    for (const status& one_of_all : {drawn[r].why, replaced[r].why, tests[r].why, largest[r].why, above[r].why,
                                     points[r].why, halves[r].why, perturbed[r].why})
      CHECK(one_of_all == why);
  }
};

}  // namespace

TEST_CASE("digests of claims do not serve functions that take none, nor do others serve a draw with claims") {
  batch<float> rows(4, 1025);
  rows.fill(15, 1);
  rows.temperature(2) = 0.0;
  claimed<float> all(rows, 64);
  all.maxima[all.pitch] = std::numeric_limits<float>::quiet_NaN();
  answers_of_others others;
  simulator::device gpu;
  all.name_to(gpu);
  others.name_to(gpu);
  const device_uniforms<> random{&all.key, 0, all.places.data(), all.places.data()};
  REQUIRE(read_rows_from_blocks(exec::cuda{}, rows.made(), all.view()).ok());
  others.launch(rows.made(), all.stream(), random);
  REQUIRE(sample(exec::cuda{}, rows.made(), all.view(), all.stream(), all.tokens.data()).ok());
  CHECK(gpu.report() == "");
  for (const std::uint32_t r : {0u, 2u, 3u}) others.all_are(r, {errc::digest_insufficient, part::row, 0});
  others.all_are(1, {errc::row_has_nan, part::row, 0});  // its own error first
  CHECK(all.tokens[0].why.ok());

  REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
  REQUIRE(sample(exec::cuda{}, rows.made(), all.view(), all.stream(), all.tokens.data()).ok());
  CHECK(gpu.report() == "");
  for (std::uint32_t r = 0; r < 4; ++r) CHECK(all.tokens[r].why == status{errc::digest_insufficient, part::row, 0});
}

TEST_CASE("cleared memory is no digest, of whichever kind") {
  batch<float> rows(3, 1025);
  rows.fill(15, 1);
  claimed<float> all(rows, 64);
  answers_of_others others;
  simulator::device gpu;
  all.name_to(gpu);
  others.name_to(gpu);
  REQUIRE(cudaMemsetAsync(rows.digests.rows, 0, 3 * sizeof(device_digest)) == cudaSuccess);
  others.launch(rows.made(), all.stream(), {&all.key, 0, all.places.data(), all.places.data()});
  REQUIRE(sample(exec::cuda{}, rows.made(), all.view(), all.stream(), all.tokens.data()).ok());
  CHECK(gpu.report() == "");
  for (std::uint32_t r = 0; r < 3; ++r) {
    others.all_are(r, {errc::digest_insufficient, part::row, 0});
    CHECK(all.tokens[r].why == status{errc::digest_insufficient, part::row, 0});
  }
}
