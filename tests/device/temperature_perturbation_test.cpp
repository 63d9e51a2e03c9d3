// SPDX-License-Identifier: Apache-2.0
// Perturbations by the CUDA kernel, on the block simulator: the host's counts, also where only exact sums decide.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/temperature_perturbation.cuh>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

using namespace device_tests;

namespace device_tests {

//! Random numbers that a test chooses: every temperature the same, uniforms around one number.
struct chosen_numbers {
  double temperature = 0.5, drawn = 0.5, step = 0;
  [[nodiscard]] random_block operator()(random_counter at) const noexcept {
    const double factor = 1.0 + step * (static_cast<double>(at.lane) - 7.5);
    const double number = at.use == purpose::perturbation_temperature ? temperature : drawn * factor;
    const std::uint64_t bits = static_cast<std::uint64_t>(number * 0x1.0p53) << 11;
    return {{static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits), 0, 0}};
  }
};
inline random_block random_at(const chosen_numbers& key, random_counter at) noexcept { return key(at); }

}  // namespace device_tests

namespace {

[[nodiscard]] philox source_of(philox_key key) { return philox{key}; }
[[nodiscard]] chosen_numbers source_of(chosen_numbers key) { return key; }

//! A batch of drafted tokens, and what is found of them.
template <class Key>
struct drafted {
  explicit drafted(std::uint32_t count, Key wanted) : key(wanted), tokens(count), places(count), found(count) {}
  template <class Scalar>
  void launch(simulator::device& gpu, batch<Scalar>& rows, const perturbation_options& options) {
    for (std::uint32_t r = 0; r < places.size(); ++r) places[r] = 11 * r + 3;
    rows.name_to(gpu);
    gpu.input(&key, 1);
    gpu.input(tokens.data(), tokens.size());
    gpu.input(places.data(), places.size());
    gpu.output(found.data(), found.size());
    REQUIRE(read_rows(exec::cuda{}, rows.made()).ok());
    REQUIRE(temperature_perturbation(exec::cuda{}, rows.made(), tokens.data(), options, random(), found.data()).ok());
    REQUIRE(gpu.report() == "");
  }
  [[nodiscard]] device_uniforms<Key> random() const { return {&key, 0, places.data(), places.data()}; }
  Key key;
  std::vector<token_id> tokens;
  std::vector<std::uint32_t> places;
  std::vector<device_disagreement> found;
};

template <class Scalar, class Key>
std::uint32_t compare(batch<Scalar>& rows, drafted<Key>& draft, const perturbation_options& options,
                      std::uint64_t seed) {
  simulator::device gpu({.seed = seed});
  draft.launch(gpu, rows, options);
  std::uint32_t reads = 0;
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    CAPTURE(r);
    const row_transform transform = rows.host_transform(r);
    std::vector<std::byte> memory(digest_workspace_size(rows.size(), transform, {}));
    workspace space{memory};
    const auto reading = read_row(exec::seq, rows.host_row(r), transform, {}, space);
    const device_disagreement& found = draft.found[r];
    if (!reading.ok()) {
      REQUIRE(found.why == reading.error());
      continue;
    }
    const uniforms random{source_of(draft.key), draft.places[r], draft.places[r]};
    const auto expected = temperature_perturbation(*reading, draft.tokens[r], options, random);
    REQUIRE(found.why == (expected.ok() ? status{} : expected.error()));
    if (!expected.ok()) continue;
    REQUIRE(found.disagreements == expected->disagreements);
    REQUIRE(found.samples == options.samples);
    reads += found.reads;
  }
  return reads;
}

//! The tokens of a batch: now the argmax, now any id.
template <class Scalar, class Key>
void choose_tokens(batch<Scalar>& rows, drafted<Key>& draft, std::uint64_t seed) {
  generator random{seed * 7919u + 5u};
  for (std::uint32_t r = 0; r < rows.count(); ++r) {
    const auto any = static_cast<token_id>(random.next() % rows.size());
    const auto values =
        row_cases::transformed(std::vector<Scalar>(rows.row(r), rows.row(r) + rows.size()), rows.host_transform(r));
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    draft.tokens[r] = random.next() % 4 == 0 ? any : static_cast<token_id>(best);
  }
}

}  // namespace

TEST_CASE("a power under a temperature is near the exact one") {
  double worst = 0;
  for (const double temperature : {1e-6, 0.01, 0.3, 1.0, 2.0, 100.0}) {
    const float scale = cuda_detail::octaves_a_nat(temperature);
    for (int i = 0; i < 200000; ++i) {
      const auto difference = static_cast<float>(-temperature * 1e-4 * static_cast<double>(i));
      const double exact = kernel::exponential(static_cast<double>(difference) / temperature);
      const double quick = static_cast<double>(cuda_detail::tempered_power(difference, 0.0f, scale));
      worst = std::max(worst, std::abs(quick - exact) / exact);
    }
    CHECK(cuda_detail::tempered_power(-1.0e30f, 0.0f, scale) <= 0x1.0p-99f);
    CHECK(cuda_detail::tempered_power(kernel::negative_infinity<float>(), 0.0f, scale) <= 0x1.0p-99f);
  }
  CHECK(worst < 5e-6);  // down to 29 octaves
}

TEST_CASE_TEMPLATE("perturbations of hard rows are the host's", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 6u : 1u); ++seed) {
      CAPTURE(size);
      batch<Scalar> rows(hard_rows::kinds + 1, size, 1, 3);
      drafted<philox_key> draft(rows.count(), {{static_cast<std::uint32_t>(seed), size}});
      rows.fill(0, seed);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.2 + 0.15 * r;
      choose_tokens(rows, draft, seed);
      (void)compare(rows, draft, {20, 2.0}, seed);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      rows.temperature(3) = -1.0;
      choose_tokens(rows, draft, seed + 1);
      (void)compare(rows, draft, {7, 0.7}, seed + 1);
    }
  }
}

TEST_CASE("two hundred rows of 4 096 ids; ten thousand in the long run") {
  for (std::uint32_t i = 0; i < many_batches(); ++i) {
    batch<float> rows = batch_of_many(i);
    if (i % 2 == 1) rows.transform_all(i);
    drafted<philox_key> draft(rows.count(), {{i, 77}});
    choose_tokens(rows, draft, i);
    (void)compare(rows, draft, {20, 2.0}, i);
  }
}

TEST_CASE("draws that a sum in float leaves open are summed as on the host") {
  for (const std::uint32_t size : {17u, 1025u, 4001u}) {
    batch<float> rows(1, size);
    rows.fill(hard_rows::kinds, size);
    drafted<chosen_numbers> draft(1, {});
    choose_tokens(rows, draft, 8);
    std::vector<std::byte> memory(digest_workspace_size(size, {}, {}));
    workspace space{memory};
    const auto reading = read_row(exec::seq, rows.host_row(0), rows.host_transform(0), {}, space);
    REQUIRE(reading.ok());
    const double temperature = 1.25;
    double probability = 0;
    REQUIRE(tempered_probabilities(*reading, draft.tokens[0], std::span<const double>(&temperature, 1),
                                   std::span<double>(&probability, 1))
                .ok());
    draft.key = {0.625, probability, 1e-9};
    const std::uint32_t reads = compare(rows, draft, {16, 2.0}, size);
    CHECK(draft.found[0].disagreements == 8);
    CHECK(reads >= 16 + 2);
  }
}

TEST_CASE("one sample, many samples, temperatures of a point mass") {
  batch<bfloat16_bits> rows(hard_rows::kinds + 1, 1025);
  rows.fill(0, 4);
  drafted<philox_key> draft(rows.count(), {{9, 9}});
  choose_tokens(rows, draft, 3);
  (void)compare(rows, draft, {1, 2.0}, 1);
  (void)compare(rows, draft, {33, 1.0}, 2);
  (void)compare(rows, draft, {20, 1.5e-6}, 3);
  drafted<chosen_numbers> cold(rows.count(), {0x1.0p-40, 0.9, 0});
  choose_tokens(rows, cold, 3);
  (void)compare(rows, cold, {40, 2.0}, 4);
}

TEST_CASE("twenty draws take at most 1.6 reads of a large row") {
  std::uint32_t reads = 0, most = 0;
  for (const float peak : {14.0f, 18.0f, 22.0f}) {  // of a token that is likely at some temperatures
    batch<float> rows(3, large_size);
    drafted<philox_key> draft(3, {{1, static_cast<std::uint32_t>(peak)}});
    for (std::uint32_t r = 0; r < rows.count(); ++r) {
      generator random{r + 1};
      for (std::uint32_t id = 0; id < large_size; ++id) rows.set(r, id, 3.0 * random.normal());
      rows.set(r, 7, static_cast<double>(peak));
      draft.tokens[r] = 7;
      rows.temperature(r) = 0.7 + 0.4 * r;
    }
    simulator::device gpu;
    draft.launch(gpu, rows, {20, 2.0});
    for (std::uint32_t r = 0; r < rows.count(); ++r) {
      const device_disagreement& found = draft.found[r];
      const auto share = static_cast<double>(gpu.bytes_read(rows.row(r))) / (large_size * sizeof(float));
      CHECK(share <= 1.02 + found.reads);
      reads += found.reads;
      most = std::max(most, found.reads);
    }
  }
  MESSAGE("reads of nine rows beyond their digests: " << reads);
  CHECK(reads <= 10);
  CHECK(most <= 2);
}

TEST_CASE("rows in error, and arguments that are refused") {
  batch<float> rows(5, 1031);
  rows.fill(6, 4);
  rows.set(1, 1030, row_cases::nan_value());
  rows.set(2, 0, row_cases::infinity);
  drafted<philox_key> draft(5, {{1, 2}});
  draft.tokens = {5, 5, 5, -1, 1031};
  (void)compare(rows, draft, {20, 2.0}, 6);
  const auto code = [&](const token_id* tokens, const perturbation_options& options,
                        const device_uniforms<philox_key>& random, device_disagreement* found) {
    return temperature_perturbation(exec::cuda{}, rows.made(), tokens, options, random, found);
  };
  const token_id* const tokens = draft.tokens.data();
  device_disagreement* const found = draft.found.data();
  CHECK(code(tokens, {0, 2.0}, draft.random(), found) == status{errc::invalid_argument, part::uncertainty, 0});
  CHECK(code(tokens, {65537, 2.0}, draft.random(), found).where == 0);
  CHECK(code(tokens, {20, 0.0}, draft.random(), found) == status{errc::invalid_argument, part::uncertainty, 1});
  CHECK(code(nullptr, {}, draft.random(), found).code == errc::null_span);
  CHECK(code(tokens, {}, {}, found).code == errc::null_span);
  CHECK(code(tokens, {}, draft.random(), nullptr).code == errc::null_span);
}
