// SPDX-License-Identifier: Apache-2.0
#include <specverify/sparsify/top_n_sigma.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sv = specverify;
using sv::errc;
using sv::top_n_sigma;

namespace {

struct outcome {
  sv::status why{};
  std::vector<sv::token_id> kept{};
  double spread = 0;
  double dropped = 0;
};

template <class Policy, class Scalar>
outcome run(Policy policy, const top_n_sigma& sparsifier, const std::vector<Scalar>& logits,
            const sv::row_transform& transform = {}) {
  const auto size = static_cast<std::uint32_t>(logits.size());
  const auto wanted = sparsifier.request({}, size);
  std::vector<std::byte> bytes(sv::digest_workspace_size(size, transform, wanted)),
      more(sparsifier.workspace_size({}, size));
  sv::workspace space{std::span(bytes)}, scratch{std::span(more)};
  outcome out;
  const auto reading = sv::read_row(policy, sv::logits_row(std::span<const Scalar>(logits)), transform, wanted, space);
  out.why = reading.error();
  if (!reading) return out;
  out.spread = reading->standard_deviation();
  const auto kept = sparsifier.select(*reading, {}, scratch);
  out.why = kept.error();
  if (!kept) return out;
  out.kept.assign(kept->ids.begin(), kept->ids.end());
  out.dropped = sv::dropped_mass(*kept);
  return out;
}

//! Population standard deviation by its definition, in long double.
template <class Scalar>
long double plain_spread(const std::vector<Scalar>& values) {
  long double mean = 0, variance = 0;
  for (const Scalar value : values) mean += static_cast<long double>(value) / static_cast<long double>(values.size());
  for (const Scalar value : values)
    variance += (static_cast<long double>(value) - mean) * (static_cast<long double>(value) - mean);
  return std::sqrt(variance / static_cast<long double>(values.size()));
}

}  // namespace

TEST_CASE("top_n_sigma by hand") {
  const std::vector<double> logits{1, 3, 5, 7, 9};                                           // sigma = sqrt(8)
  CHECK(run(sv::exec::seq, top_n_sigma{}, logits).kept == std::vector<sv::token_id>{3, 4});  // 9 - 2.83 = 6.17
  CHECK(run(sv::exec::seq, top_n_sigma{2}, logits).kept == std::vector<sv::token_id>{2, 3, 4});
  CHECK(run(sv::exec::seq, top_n_sigma{0}, logits).kept == std::vector<sv::token_id>{4});
  CHECK(run(sv::exec::seq, top_n_sigma{3}, logits).kept.size() == 5);
  CHECK(run(sv::exec::seq, top_n_sigma{3, 2}, logits).kept == std::vector<sv::token_id>{3, 4});
  CHECK(run(sv::exec::seq, top_n_sigma{}, logits).spread == doctest::Approx(std::sqrt(8.0)).epsilon(1e-14));
  const std::vector<float> equal(7, 2.5F);
  CHECK(run(sv::exec::seq, top_n_sigma{}, equal).kept.size() == 7);
  CHECK(run(sv::exec::seq, top_n_sigma{0}, std::vector<float>{4.0F}).kept.size() == 1);
  const double dropped = run(sv::exec::seq, top_n_sigma{1, 0, true}, logits).dropped;
  const double total = 1 + std::exp(-2.0) + std::exp(-4.0) + std::exp(-6.0) + std::exp(-8.0);
  CHECK(dropped == doctest::Approx((std::exp(-4.0) + std::exp(-6.0) + std::exp(-8.0)) / total).epsilon(1e-7));
}

TEST_CASE_TEMPLATE("top_n_sigma keeps the same tokens at every temperature, and those of the definition", Policy,
                   sv::exec::seq_policy, sv::exec::simd_policy) {
  std::mt19937_64 random(2411);
  std::normal_distribution<double> normal(-3, 2);
  for (const std::uint32_t size : {1u, 2u, 17u, 1023u, 1025u, 5000u}) {
    std::vector<float> logits(size);
    for (float& z : logits) z = static_cast<float>(normal(random));
    logits[size / 2] += 6;
    const long double sigma = plain_spread(logits);
    const float largest = *std::max_element(logits.begin(), logits.end());
    for (const double n : {0.5, 1.0, 2.0}) {
      std::vector<sv::token_id> expected;
      for (std::uint32_t v = 0; v < size; ++v) {
        if (static_cast<long double>(logits[v]) >=
            static_cast<long double>(largest) - static_cast<long double>(n) * sigma) {
          expected.push_back(static_cast<sv::token_id>(v));
        }
      }
      for (const double temperature : {0.5, 1.0, 3.0}) {
        sv::row_transform transform;
        transform.temperature = temperature;
        const outcome got = run(Policy{}, top_n_sigma{n}, logits, transform);
        REQUIRE(got.why.ok());
        REQUIRE(got.kept == expected);
        REQUIRE(got.spread == doctest::Approx(static_cast<double>(sigma)).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE(
    "top_n_sigma: masked and forbidden tokens are no part of sigma, biased ones are as they stand; temperature 0 keeps "
    "the argmax") {
  const float forbidden = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{1, forbidden, 3, 100, 5};
  const std::vector<std::uint64_t> mask{0b10111};
  const std::vector<sv::token_id> biased{4};
  const std::vector<float> bias{2.0F};
  sv::row_transform transform;
  transform.mask_words = mask;
  transform.bias_ids = biased;
  transform.bias_values = bias;
  const outcome got = run(sv::exec::seq, top_n_sigma{}, logits, transform);
  CHECK(got.spread == doctest::Approx(static_cast<double>(plain_spread(std::vector<double>{1, 3, 7}))).epsilon(1e-14));
  CHECK(got.kept == std::vector<sv::token_id>{4});
  transform.temperature = 0;
  CHECK(run(sv::exec::seq, top_n_sigma{5}, logits, transform).kept == std::vector<sv::token_id>{4});
}

TEST_CASE("top_n_sigma: sigma of logits of any scale") {
  const std::vector<double> unit{1, 3, 5, 7, -9, 2.5};
  const double sigma = static_cast<double>(plain_spread(unit));
  for (const double scale : {1e-300, 1e-170, 1e-100, 1.0, 1e100, 1e153, 1e155, 1e200, 1e307}) {
    CAPTURE(scale);
    std::vector<double> logits(3000);
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = unit[i % unit.size()] * scale;
    CHECK(run(sv::exec::seq, top_n_sigma{}, logits).spread / scale == doctest::Approx(sigma).epsilon(1e-12));
    CHECK(run(sv::exec::simd, top_n_sigma{}, logits).spread / scale == doctest::Approx(sigma).epsilon(1e-12));
  }
  const std::vector<double> ends{-1.7e308, 1.7e308};
  CHECK(run(sv::exec::seq, top_n_sigma{}, ends).spread == doctest::Approx(1.7e308));
  CHECK(run(sv::exec::seq, top_n_sigma{}, std::vector<double>(70, 1.7e308)).spread <= 0);
}

TEST_CASE("top_n_sigma: what it asks for and how it fails") {
  CHECK(top_n_sigma{}.request({}, 50).standard_deviation);
  CHECK(top_n_sigma{}.request({}, 50).top_entries == 50);
  CHECK(top_n_sigma{1, 8}.request({}, 50).top_entries == 8);
  CHECK_FALSE(top_n_sigma{}.request({}, 50).integer_total);
  const std::vector<float> logits{1, 2, 3};
  CHECK(run(sv::exec::seq, top_n_sigma{-1}, logits).why.code == errc::invalid_argument);
  CHECK(run(sv::exec::seq, top_n_sigma{std::bit_cast<double>(0x7FF8000000000000u)}, logits).why.code ==
        errc::invalid_argument);
  std::vector<std::byte> bytes(4096);
  sv::workspace space{std::span(bytes)};
  const std::vector<double> law{0.5, 0.5};
  sv::read_request wanted;
  wanted.top_entries = 2;
  const auto reading =
      sv::read_row(sv::exec::seq, sv::probability_row(std::span<const double>(law)), {}, wanted, space);
  REQUIRE(reading.ok());
  CHECK(top_n_sigma{}.select(*reading, {}, space).error().code == errc::unsupported);
  wanted.standard_deviation = true;
  CHECK(
      sv::read_row(sv::exec::seq, sv::probability_row(std::span<const double>(law)), {}, wanted, space).error().code ==
      errc::unsupported);
  wanted.top_entries = 1;
  const auto narrow = sv::read_row(sv::exec::seq, sv::logits_row(std::span<const float>(logits)), {}, wanted, space);
  REQUIRE(narrow.ok());
  CHECK(top_n_sigma{3}.select(*narrow, {}, space).error().code == errc::digest_insufficient);
}

TEST_CASE("NUM-1 top_n_sigma: an option outside its range is named before any row") {
  CHECK(check(top_n_sigma{}).ok());
  CHECK(check(top_n_sigma{0}).ok());
  CHECK(check(top_n_sigma{std::bit_cast<double>(std::uint64_t{0x7FF8000000000000u})}) ==
        specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
  CHECK(check(top_n_sigma{-1}) == specverify::status{errc::invalid_argument, specverify::part::sparsify, 0});
}
