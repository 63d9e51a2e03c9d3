// SPDX-License-Identifier: Apache-2.0
//! Laws of integer weights, what an even tail makes of them and how far laws stand apart, by their definitions in long
//! double.
#ifndef SPECVERIFY_UNIT_SPARSIFY_TAIL_BY_HAND_HPP
#define SPECVERIFY_UNIT_SPARSIFY_TAIL_BY_HAND_HPP

#include <specverify/sparsify/vocabulary_budget.hpp>

#include <doctest/doctest.h>

#include "hand_digest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace hand {

using numbers = std::vector<long double>;

struct profiled {
  explicit profiled(const weights& row)
      : of(row, row.size()), bytes(specverify::tail_profile_workspace_size(static_cast<std::uint32_t>(row.size()))) {
    specverify::workspace scratch{std::span(bytes)};
    const auto made = specverify::make_tail_profile(of.row(), scratch);
    REQUIRE(made.ok());
    profile = *made;
  }
  digest of;
  std::vector<std::byte> bytes;
  specverify::tail_profile profile{};
};

inline numbers law_of(const weights& row) {
  numbers x(row.size());
  const auto total = static_cast<long double>(hand::total(row));
  for (std::size_t v = 0; v < row.size(); ++v) x[v] = row[v] / total;
  return x;
}

//! x^_k by its definition: the k largest stay (ties to the smaller id), the others share their mass.
inline numbers reconstruction(const numbers& x, std::size_t k) {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  numbers made = x;
  long double rest = 0;
  for (std::size_t i = k; i < x.size(); ++i) rest += x[order[i]];
  for (std::size_t i = k; i < x.size(); ++i) made[order[i]] = rest / static_cast<long double>(x.size() - k);
  return made;
}

inline long double distance(const numbers& a, const numbers& b) {
  long double sum = 0;
  for (std::size_t v = 0; v < a.size(); ++v) sum += std::fabs(a[v] - b[v]);
  return sum / 2;
}

inline numbers residual(const numbers& y, const numbers& x) {
  numbers left(y.size());
  long double sum = 0;
  for (std::size_t v = 0; v < y.size(); ++v) sum += left[v] = std::max(0.0L, y[v] - x[v]);
  for (long double& mass : left) mass = sum > 0 ? mass / sum : 0;
  return left;
}

inline weights random_law(std::mt19937_64& random, std::size_t size, double sharpness) {
  weights row(size);
  for (std::uint32_t& weight : row)
    weight =
        static_cast<std::uint32_t>(0x1.0p31 * std::exp(-sharpness * static_cast<double>(random() >> 11) * 0x1.0p-53));
  row[random() % size] = 1u << 31;
  return row;
}

}  // namespace hand

#endif
