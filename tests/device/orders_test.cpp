// SPDX-License-Identifier: Apache-2.0
// The shipped kernels in many seeded orders: nothing is found. Twins plant one bug each and must be found here; results
// are compared with the host elsewhere.
#include <specverify/cuda/accept.cuh>
#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/blocks.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/cuda/residual.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>
#include <specverify/cuda/temperature_perturbation.cuh>
#include <specverify/cuda/verify.cuh>

#include <doctest/doctest.h>
#include <device/orders.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace specverify;
using device_tests::in_all_orders;

namespace device_tests {

// Temperatures of 1 and uniforms so near a probability that only exact sums decide.
struct near_ties {
  double probability;
};
inline random_block random_at(const near_ties& key, random_counter at) noexcept {
  const double number = at.use == purpose::perturbation_temperature ? 0.5 : key.probability + 1e-10 * (at.lane + 1);
  const std::uint64_t bits = static_cast<std::uint64_t>(number * 0x1.0p53) << 11;
  return {{static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits), 0, 0}};
}

}  // namespace device_tests

namespace {

// Four rows: neighbouring numbers, all equal, ascending, and one with a NaN.
struct rows_of_all_kinds {
  explicit rows_of_all_kinds(std::uint32_t vocab_size)
      : size(vocab_size), logits(count * std::size_t{size}), memory(device_batch_size(rows(), {}) + 64) {
    for (std::uint32_t id = 0; id < size; ++id) {
      logits[id] = static_cast<float>(id * 2654435761u >> 8) * 0x1.0p-21f;
      logits[size + id] = 2.0f;
      logits[2 * size + id] = static_cast<float>(id) * 0.001f;
      logits[3 * size + id] = id == size / 2 ? __builtin_nanf("") : 1.0f;
    }
    const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
    const auto made = make_device_batch(rows(), {}, {memory.data() + (64 - at % 64) % 64, memory.size() - 64});
    REQUIRE(made.ok());
    batch = *made;
  }
  void name_to(simulator::device& gpu) {
    const device_digests& digests = batch.digests;
    const std::size_t blocks = std::size_t{count} * digests.blocks;
    gpu.input(logits.data(), logits.size());
    gpu.output(digests.rows, count);
    gpu.output(digests.parts, count);
    gpu.output(digests.block_sums, blocks);
    gpu.output(digests.lane_sums, blocks * 16);
    gpu.output(digests.lane_maxima, blocks * 16);
  }
  [[nodiscard]] device_rows<float> rows() const { return {logits.data(), size, count, size}; }
  //! `processors`: 1 splits no row.
  void digest(std::uint32_t processors = 108) const {
    exec::cuda how;
    how.tuning.multiprocessors = processors;
    REQUIRE(read_rows(how, batch).ok());
  }

  static constexpr std::uint32_t count = 4;
  std::uint32_t size;
  std::vector<float> logits;
  std::vector<std::byte> memory;
  device_batch<float> batch;
};

}  // namespace

TEST_CASE("digests are clean in many orders") {
  rows_of_all_kinds all(9 * 1024 + 1);  // two warps, an odd number of blocks
  in_all_orders([&](simulator::device& gpu) {
    all.name_to(gpu);
    all.digest();
  });
}

TEST_CASE("digests of more blocks than threads take at once are clean") {
  rows_of_all_kinds all(257 * 1024);  // places of sums are used again from the fourth pass on
  const auto test = [&](simulator::device& gpu) {
    all.name_to(gpu);
    all.digest(1);
  };
  in_all_orders(test, device_tests::is_long() ? 40 : 2);
}

TEST_CASE("greedy tokens are clean in many orders") {
  rows_of_all_kinds all(1025);
  std::vector<device_argmax> tokens(all.count);
  in_all_orders([&](simulator::device& gpu) {
    all.name_to(gpu);
    gpu.output(tokens.data(), tokens.size());
    REQUIRE(argmax(exec::cuda{}, all.rows(), {}, tokens.data()).ok());
  });
  CHECK(tokens[1].token == 0);
  CHECK(tokens[2].token == 1024);
  CHECK(tokens[3].why == status{errc::row_has_nan, part::row, 512});
}

TEST_CASE("draws are clean in many orders") {
  rows_of_all_kinds all(2 * 1024 + 1);
  const philox_key key{{5, 6}};
  std::vector<std::uint32_t> places(all.count);
  std::vector<device_token> tokens(all.count);
  std::uint32_t retries = 0;
  std::uint32_t place = 0;
  in_all_orders([&](simulator::device& gpu) {
    for (std::uint32_t& one : places) one = place++;
    all.name_to(gpu);
    gpu.input(&key, 1);
    gpu.input(places.data(), places.size());
    gpu.output(tokens.data(), tokens.size());
    all.digest();
    const auto stream = device_uniforms<>{&key, 0, places.data(), places.data()}.at(purpose::draft_draw);
    REQUIRE(sample(exec::cuda{}, all.batch, stream, tokens.data(), {3}).ok());
    for (const device_token& one : tokens) retries += one.trials > 1 ? 1 : 0;
    REQUIRE(sample(exec::cuda{}, all.batch, stream, tokens.data(), {0}).ok());
  });
  CHECK(retries > 0);
}

TEST_CASE("largest entries are clean in many orders") {
  rows_of_all_kinds all(9 * 1024 + 1);        // two rounds of eight warps
  constexpr std::uint32_t few = 20, k = 150;  // fewer and more than the 145 lanes of a row: all equal overflow the list
  std::vector<device_support> supports(all.count);
  std::vector<token_id> ids(all.count * std::size_t{k});
  std::vector<std::uint32_t> weights(all.count * std::size_t{k});
  exec::cuda how;
  how.tuning.multiprocessors = 1;
  in_all_orders([&](simulator::device& gpu) {
    all.name_to(gpu);
    gpu.output(supports.data(), supports.size());
    gpu.output(ids.data(), ids.size());
    gpu.output(weights.data(), weights.size());
    all.digest();
    const device_supports out{supports.data(), ids.data(), weights.data(), k};
    for (const std::uint32_t wanted : {few, k}) {
      REQUIRE(select(how, all.batch, wanted, out).ok());
      REQUIRE(gpu.report() == "");
      for (std::uint32_t i = 0; i < wanted; ++i) REQUIRE(ids[k + i] == static_cast<token_id>(i));
    }
  });
}

TEST_CASE("lattice points are clean in many orders") {
  rows_of_all_kinds all(3 * 1024 + 1);  // four warps
  constexpr std::uint32_t resolution = 75, k = 140;
  std::vector<device_law> laws(all.count);
  std::vector<device_support> supports(all.count);
  std::vector<token_id> ids(all.count * std::size_t{k}), kept_ids(ids);
  std::vector<std::uint32_t> counts(all.count * std::size_t{k}), weights(counts);
  const auto sums_up = [&](std::uint32_t r) {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < laws[r].size; ++i) sum += counts[r * k + i];
    return sum == resolution;
  };
  in_all_orders([&](simulator::device& gpu) {
    all.name_to(gpu);
    gpu.output(laws.data(), laws.size());
    gpu.output(supports.data(), supports.size());
    gpu.output(ids.data(), ids.size());
    gpu.output(kept_ids.data(), kept_ids.size());
    gpu.output(counts.data(), counts.size());
    gpu.output(weights.data(), weights.size());
    all.digest();
    const device_laws out{laws.data(), ids.data(), counts.data(), k};
    const device_supports kept{supports.data(), kept_ids.data(), weights.data(), k};
    REQUIRE(quantize(exec::cuda{}, all.batch, resolution, out).ok());
    REQUIRE(gpu.report() == "");
    for (std::uint32_t i = 0; i < resolution; ++i) REQUIRE(ids[k + i] == static_cast<token_id>(i));
    for (const std::uint32_t r : {0u, 1u, 2u}) REQUIRE(sums_up(r));
    REQUIRE(select(exec::cuda{}, all.batch, k, kept).ok());
    REQUIRE(quantize(exec::cuda{}, all.count, kept, resolution, out).ok());
    REQUIRE(gpu.report() == "");
    for (const std::uint32_t r : {0u, 1u, 2u}) REQUIRE(sums_up(r));
  });
  CHECK(laws[3].why == status{errc::row_has_nan, part::row, 1536});
}

TEST_CASE("perturbations are clean in many orders") {
  rows_of_all_kinds all(8 * 1024 + 1);  // more than an exact sum takes at once
  const philox_key key{{5, 6}};
  const device_tests::near_ties ties{1.0 / all.size};  // of the row of equal logits
  const std::vector<token_id> tokens{1, 1, static_cast<token_id>(all.size - 1), 1};
  std::vector<std::uint32_t> places(all.count);
  std::vector<device_disagreement> found(all.count);
  std::uint32_t place = 0, reads = 0;
  in_all_orders([&](simulator::device& gpu) {
    for (std::uint32_t& one : places) one = place++;
    all.name_to(gpu);
    gpu.input(&key, 1);
    gpu.input(&ties, 1);
    gpu.input(tokens.data(), tokens.size());
    gpu.input(places.data(), places.size());
    gpu.output(found.data(), found.size());
    all.digest();
    const device_uniforms<> random{&key, 0, places.data(), places.data()};
    REQUIRE(temperature_perturbation(exec::cuda{}, all.batch, tokens.data(), {40, 2.0}, random, found.data()).ok());
    REQUIRE(gpu.report() == "");
    for (const device_disagreement& one : found) reads += one.reads;
    const device_uniforms<device_tests::near_ties> near{&ties, 0, places.data(), places.data()};
    REQUIRE(temperature_perturbation(exec::cuda{}, all.batch, tokens.data(), {9, 2.0}, near, found.data()).ok());
    REQUIRE(gpu.report() == "");
    REQUIRE(found[1].disagreements == 9);
    REQUIRE(found[1].reads == 2 + 9);
  });
  CHECK(reads > 0);
  CHECK(found[3].why == status{errc::row_has_nan, part::row, all.size / 2});
}

namespace {

//! A key and places that change from order to order, and laws: a point mass, the law of a row of equal logits, a list.
struct tests_of_all_kinds {
  explicit tests_of_all_kinds(std::uint32_t vocab_size)
      : all(vocab_size),
        laws{{&ids[0], &counts[0], 1, 0, 1, vocab_size},
             {nullptr, nullptr, 0, 1, vocab_size, vocab_size},
             {&ids[0], &counts[0], 3, 0, 6, vocab_size},
             {&ids[0], &counts[0], 1, 0, 1, vocab_size}} {}
  void name_to(simulator::device& gpu) {
    for (std::uint32_t& one : places) one = place++;
    all.name_to(gpu);
    gpu.input(&key, 1);
    gpu.input(places.data(), places.size());
    gpu.input(ids.data(), ids.size());
    gpu.input(counts.data(), counts.size());
    gpu.input(laws.data(), laws.size());
  }
  [[nodiscard]] device_uniforms<> random() const { return {&key, 0, places.data(), places.data()}; }

  rows_of_all_kinds all;
  philox_key key{{15, 6}};
  std::uint32_t place = 0;
  std::vector<std::uint32_t> places = std::vector<std::uint32_t>(4);
  std::vector<token_id> ids{1, 2, 40};
  std::vector<std::uint32_t> counts{1, 2, 3};
  std::vector<law> laws;
};

constexpr std::uint32_t two_warps = 9 * 1024 + 1;  // ids, and an odd number of blocks

}  // namespace

TEST_CASE("accept tests and residuals are clean in many orders") {
  tests_of_all_kinds all(two_warps);
  const std::vector<drafted_token> drafted{{1, 1, 9216}, {1, 10, two_warps * 10}, {9216, 1, 1000}, {1, 1, 1}};
  std::vector<device_acceptance> found(4);
  std::vector<device_token> tokens(4);
  std::uint32_t exact = 0;
  const auto test = [&](simulator::device& gpu) {
    all.name_to(gpu);
    gpu.input(drafted.data(), 4);
    gpu.output(found.data(), 4);
    gpu.output(tokens.data(), 4);
    all.all.digest();
    const auto random = all.random();
    REQUIRE(accept(exec::cuda{}, all.all.batch, drafted.data(), random.at(purpose::acceptance), found.data()).ok());
    const auto stream = random.at(purpose::residual_draw);
    REQUIRE(residual(exec::cuda{}, all.all.batch, all.laws.data(), stream, tokens.data(), {9, 1.0}).ok());
    REQUIRE(gpu.report() == "");
    for (const device_acceptance& one : found) exact += one.exact ? 1u : 0u;
    REQUIRE(tokens[0].token != 1);
    REQUIRE(tokens[1].fallback);
  };
  in_all_orders(test);
  CHECK(exact > 0);
}

namespace {

__global__ void told_kernel(std::uint32_t* out) {
  __shared__ std::uint32_t place;
  const std::uint32_t first = cuda_detail::tell(threadIdx.x + 3, &place);
  const std::uint32_t second = cuda_detail::tell(threadIdx.x + 5, &place);
  out[threadIdx.x] = 10 * first + second;
}

}  // namespace

TEST_CASE("two words told by one place are clean in many orders") {
  std::vector<std::uint32_t> out(64);
  in_all_orders([&](simulator::device& gpu) {
    gpu.output(out.data(), out.size());
    device_tests::run(told_kernel, 1, 64, out.data());
    REQUIRE(gpu.report() == "");
    for (const std::uint32_t one : out) REQUIRE(one == 35);
  });
}

TEST_CASE("rounds are clean in many orders") {
  tests_of_all_kinds all(two_warps);
  const std::vector<device_draft> drafts{
      {1, 0, 0, {}}, {1, 0, 0, all.laws[1]}, {40, 0, 0, all.laws[2]}, {9216, 1, 1900, {}}};
  const std::vector<std::uint32_t> draft_begin{0, 3, 4, 4}, row_begin{0, 3, 4, 4};
  std::vector<device_verdict> verdicts(3);
  std::vector<status> states(4);
  device_rounds<float> rounds;
  rounds.rows = all.all.rows();
  rounds.count = 3;
  rounds.drafts = drafts.data();
  rounds.draft_begin = draft_begin.data();
  rounds.row_begin = row_begin.data();
  rounds.bonus = false;
  const exec::cuda split{nullptr, {90, 12, 1, 1}};  // rows of three parts
  std::vector<std::byte> memory(verify_memory_size(split, rounds) + 64);
  const auto at = reinterpret_cast<std::uintptr_t>(memory.data());
  const device_memory scratch{memory.data() + (64 - at % 64) % 64, memory.size() - 64};
  std::uint32_t rejected = 0;
  const auto test = [&](simulator::device& gpu) {
    all.name_to(gpu);
    gpu.input(drafts.data(), drafts.size());
    gpu.input(draft_begin.data(), draft_begin.size());
    gpu.input(row_begin.data(), row_begin.size());
    gpu.output(verdicts.data(), verdicts.size());
    gpu.output(states.data(), states.size());
    gpu.output(static_cast<std::byte*>(scratch.data), scratch.size);
    const device_verdicts out{verdicts.data(), states.data()};
    for (const bool reads_first : {false, true}) {
      const device_memory enough{scratch.data, reads_first ? scratch.size : verify_memory_size(rounds)};
      REQUIRE(verify_batch(split, device_token_rule{6}, rounds, all.random(), out, enough).ok());
      REQUIRE(gpu.report() == "");
      REQUIRE(verdicts[0].decided.source == token_source::residual);
      REQUIRE(verdicts[1].why == status{errc::row_has_nan, part::verify, 0});
      REQUIRE(verdicts[2].why == status{errc::too_few_rows, part::verify, 0});
      rejected += verdicts[0].decided.counters.residual_trials;
    }
    REQUIRE(verify_batch(exec::cuda{}, device_greedy_rule{}, rounds, out).ok());
    REQUIRE(verdicts[0].decided.source == token_source::residual);
  };
  in_all_orders(test);
  CHECK(rejected > 20);
}

TEST_CASE("draws from claimed blocks are clean in many orders") {
  rows_of_all_kinds all(5 * 1024 + 1);  // 41 blocks of 128 ids: two warps look at the claims
  constexpr std::uint32_t block_size = 128, blocks = 41;
  const philox_key key{{5, 6}};
  std::vector<float> maxima(all.count * blocks, 2.0f), sums(all.count * blocks, static_cast<float>(block_size));
  std::vector<double> shares(all.count * blocks);
  for (std::uint32_t r = 0; r < all.count; ++r) sums[(r + 1) * blocks - 1] = 1.0f;
  sums[3 * blocks + 40] = 2.0f;  // wrong by itself
  for (const std::uint32_t r : {0u, 2u}) {
    for (std::uint32_t b = 0; b < blocks; ++b) {
      const auto first = all.logits.begin() + r * all.size + b * block_size;
      const auto end = b + 1 == blocks ? first + 1 : first + block_size;
      maxima[r * blocks + b] = *std::max_element(first, end);
      float sum = 0;
      for (auto at = first; at != end; ++at) sum += std::exp(*at - maxima[r * blocks + b]);
      sums[r * blocks + b] = sum;
    }
  }
  std::vector<std::uint32_t> places(all.count);
  std::vector<device_token> tokens(all.count);
  std::uint32_t place = 0, retries = 0;
  in_all_orders([&](simulator::device& gpu) {
    for (std::uint32_t& one : places) one = place++;
    all.name_to(gpu);
    gpu.input(maxima.data(), maxima.size());
    gpu.input(sums.data(), sums.size());
    gpu.output(shares.data(), shares.size());
    gpu.input(&key, 1);
    gpu.input(places.data(), places.size());
    gpu.output(tokens.data(), tokens.size());
    const device_row_blocks claims{block_size, maxima.data(), sums.data(), shares.data(), blocks, 0x1.0p-10};
    const auto stream = device_uniforms<>{&key, 0, places.data(), places.data()}.at(purpose::draft_draw);
    REQUIRE(read_rows_from_blocks(exec::cuda{}, all.batch, claims).ok());
    REQUIRE(sample(exec::cuda{}, all.batch, claims, stream, tokens.data(), {3}).ok());
    REQUIRE(gpu.report() == "");
    for (const std::uint32_t r : {0u, 1u, 2u}) REQUIRE(tokens[r].token != no_token);
    for (const device_token& one : tokens) retries += one.trials > 1 ? 1 : 0;
  });
  CHECK(retries > 0);
  CHECK(tokens[3].why == status{errc::blocks_disagree, part::row, 40 * block_size});
}
