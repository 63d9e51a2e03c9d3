// SPDX-License-Identifier: Apache-2.0
// The winner of a race over random noise must have the distribution of the row, and the tokens at two positions must be
// independent.
#include <specverify/row/reading.hpp>
#include <specverify/testing/chi_square.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

using namespace specverify;

namespace {

bool long_run() {
  const char* const value = std::getenv("SPECVERIFY_LONG");
  return value != nullptr && value[0] == '1';
}

//! Twelve rows of probabilities: even, steep, with zeros, one-hot, with an entry of 1e-6, of 2 to 50 ids.
std::vector<std::vector<double>> rows() {
  std::vector<std::vector<double>> made{{.5, .5},  {.9, .1},    {1e-6, 1 - 1e-6},     {.2, .3, .5},
                                        {0, 1, 0}, {.5, 0, .5}, {.25, .25, .25, .25}, {.7, .1, .1, .05, .05}};
  for (const std::size_t size : {10u, 20u, 33u, 50u}) {
    std::vector<double> row(size);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += row[i] = std::exp(-.3 * static_cast<double>(i * i % 17));
    for (double& entry : row) entry /= sum;
    made.push_back(std::move(row));
  }
  return made;
}

//! Every kind in turn.
noise_kind kind_of(std::uint64_t number) {
  return static_cast<noise_kind>(1 + number % static_cast<std::uint64_t>(last_noise_kind));
}

}  // namespace

TEST_CASE("T1 race: the winner has the distribution of its row, for twelve rows") {
  const std::uint64_t draws = long_run() ? 10'000'000 : 100'000;
  std::uint64_t key = 0;
  for (const std::vector<double>& p : rows()) {
    const auto size = static_cast<std::uint32_t>(p.size());
    std::vector<std::byte> memory(digest_workspace_size(size, {}, race_request(size)));
    workspace scratch{std::span(memory)};
    const auto row = read_row(exec::simd, row_view<double>(row_kind::probabilities, p.data(), size), {},
                              race_request(size), scratch);
    REQUIRE(row.ok());
    std::vector<std::uint64_t> seen(size);
    for (std::uint64_t i = 0; i < draws; ++i) {
      // One key over many positions, and one position over many keys.
      const coupling_noise noise{kind_of(i / 2), i % 2 == 0 ? 77 : 1000 + key++};
      const auto position = static_cast<std::uint32_t>(i % 2 == 0 ? i : 3);
      ++seen[static_cast<std::size_t>(*row->race(noise, position))];
    }
    const auto found = chi_square(seen, p);
    REQUIRE(found.ok());
    CHECK(found->impossible == 0);
    const double p_of_the_winners = found->p_value;
    CHECK(p_of_the_winners > 1e-4);
  }
}

TEST_CASE("T1 race: winners at neighbouring positions are independent") {
  const std::uint64_t draws = long_run() ? 2'000'000 : 100'000;
  const std::vector<double> p{.4, .3, .2, .1}, q{.1, .2, .3, .4};
  std::vector<std::byte> memory(1 << 16);
  workspace scratch{std::span(memory)};
  const auto first = read_row(exec::simd, row_view<double>(row_kind::probabilities, p.data(), 4), {}, {}, scratch);
  const auto second = read_row(exec::simd, row_view<double>(row_kind::probabilities, q.data(), 4), {}, {}, scratch);
  std::vector<std::uint64_t> seen(16);
  std::vector<double> expected;
  for (const double a : p) {
    for (const double b : q) expected.push_back(a * b);
  }
  for (std::uint64_t key = 0; key < draws; ++key) {
    const coupling_noise noise{kind_of(key), key};
    seen[static_cast<std::size_t>(4 * *first->race(noise, 7) + *second->race(noise, 8))] += 1;
  }
  const double p_of_the_pairs = chi_square(seen, expected)->p_value;
  CHECK(p_of_the_pairs > 1e-4);
}
