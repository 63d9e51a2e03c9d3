// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/expected_length.hpp>

#include <specverify/distribution/law.hpp>
#include <specverify/row/reading.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace sv = specverify;

namespace {

// Published elsewhere as sum of k times the probability of a round of k tokens.
double by_round_length(const std::vector<double>& acceptance) {
  double sum = 0, reached = 1;
  for (std::size_t k = 0; k < acceptance.size(); ++k) {
    sum += static_cast<double>(k + 1) * reached * (1 - acceptance[k]);
    reached *= acceptance[k];
  }
  return sum + static_cast<double>(acceptance.size() + 1) * reached;
}

}  // namespace

TEST_CASE("T18 expected tokens: literals") {
  static_assert(sv::expected_tokens(0.5, 3) == 1.875);
  static_assert(sv::expected_tokens(1.0, 4) == 5.0);  // the quotient form would be 0 / 0
  static_assert(sv::expected_tokens(0.0, 4) == 1.0);
  static_assert(sv::expected_tokens(0.7, 0) == 1.0);
  constexpr std::array<double, 2> acceptance{0.5, 0.25};
  static_assert(sv::expected_tokens(acceptance) == 1.625);
  CHECK(sv::expected_tokens({}) == 1.0);
}

TEST_CASE("T18 expected tokens: the quotient form and the form by round length are the same number") {
  for (const double a : {0.1, 0.35, 0.8, 0.999}) {
    for (const std::uint32_t length : {1u, 2u, 7u, 32u}) {
      const double quotient = (1 - std::pow(a, length + 1)) / (1 - a);
      CHECK(std::fabs(sv::expected_tokens(a, length) - quotient) <= 1e-12 * quotient);
      CHECK(std::fabs(by_round_length(std::vector<double>(length, a)) - quotient) <= 1e-12 * quotient);
    }
  }
  const std::vector<double> mixed{0.9, 0.2, 0.0, 0.7};
  CHECK(std::fabs(sv::expected_tokens(mixed) - by_round_length(mixed)) <= 1e-15);
}

TEST_CASE("COR-10 expected acceptance of a law = sum of min(p, q)") {
  const std::array<double, 4> p{0.5, 0.25, 0.25, 0.0};
  const auto row = sv::probability_row<double>(p);
  const sv::row_transform transform;
  sv::read_request wanted;
  wanted.exact_normaliser = true;
  std::vector<std::byte> bytes(sv::digest_workspace_size(4, transform, wanted) + 64);
  sv::workspace scratch{std::span<std::byte>(bytes)};
  const auto reading = sv::read_row(sv::exec::seq, row, transform, wanted, scratch);
  REQUIRE(reading.ok());
  const std::array<sv::token_id, 2> ids{1, 3};
  const std::array<std::uint32_t, 2> counts{2, 2};
  auto acceptance = reading->acceptance_probability(sv::law{ids.data(), counts.data(), 2, 0, 4, 4});
  REQUIRE(acceptance.ok());
  CHECK(std::fabs(*acceptance - 0.25) <= 1e-12);
  const std::array<std::uint32_t, 2> fewer{1, 1};  // q = (1/4, 1/4, 1/4, 1/4) with a tail count
  acceptance = reading->acceptance_probability(sv::law{ids.data(), fewer.data(), 2, 1, 4, 4});
  REQUIRE(acceptance.ok());
  CHECK(std::fabs(*acceptance - 0.75) <= 1e-12);
  const std::array<sv::token_id, 1> foreign{9};  // an id that the target does not have
  acceptance = reading->acceptance_probability(sv::law{foreign.data(), fewer.data(), 1, 0, 1, 10});
  REQUIRE(acceptance.ok());
  CHECK(*acceptance == 0.0);
}
