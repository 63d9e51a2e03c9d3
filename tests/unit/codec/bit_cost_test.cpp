// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/bit_cost.hpp>

#include <doctest/doctest.h>

#include "unit/codec/exact_bits.hpp"

using namespace specverify;
using specverify_test::exact_binomial;
using specverify_test::whole_number;

namespace {
// to the two digits of the tables
bool shows(double value, double printed) { return std::fabs(value - printed) <= 0.005 + 1e-9; }
}  // namespace

TEST_CASE("T12 E1 dense lattice: the law costs log2 of a binomial, V = 50272") {
  const std::uint32_t resolutions[] = {4, 12, 16, 24, 100, 240, 720, 1280};
  const std::uint64_t bits[] = {58, 159, 206, 296, 1038, 2193, 5451, 8642};
  for (int i = 0; i < 8; ++i) {
    CHECK(dense_law_bits(50272, resolutions[i]) == bits[i]);
    CHECK(exact_binomial(resolutions[i] + 50271, resolutions[i]).ceil_log2() == bits[i]);
    CHECK(resolution_for_bits(bits[i], 50272) >= resolutions[i]);
    CHECK(dense_law_bits(50272, resolution_for_bits(bits[i], 50272)) <= bits[i]);
    CHECK(dense_law_bits(50272, resolution_for_bits(bits[i], 50272) + 1) > bits[i]);
  }
  CHECK(dense_token_bits(50272, 240) == 2209);
  CHECK(dense_token_bits(50272, 720) == 5467);
  CHECK(resolution_for_bits(15, 50272) == 0);
  CHECK(resolution_for_bits(16, 50272) == 1);
  CHECK(resolution_for_bits(100, 1) == 0);
}

TEST_CASE(
    "T12 E10 K-SQS and C-SQS, V = 50257, l = 100, B = 5000: from 81 tokens on a support costs more than all of V") {
  struct line {
    std::uint32_t size;
    double ids, counts, top_k;
    int top_k_length;
    double threshold;
    int threshold_length;
  };
  const line table[] = {
      {1, 15.62, 0, 15.62, 320, 32.00, 156},          {2, 30.23, 6.66, 36.89, 135, 53.66, 93},
      {4, 57.88, 17.43, 75.32, 66, 91.43, 54},        {8, 109.64, 34.60, 144.24, 34, 160.60, 31},
      {16, 205.62, 61.06, 266.67, 18, 283.06, 17},    {32, 382.07, 99.80, 481.87, 10, 498.80, 10},
      {64, 703.44, 152.92, 856.36, 5, 872.92, 5},     {100, 1036.80, 194.85, 1231.65, 4, 1247.85, 4},
      {128, 1282.59, 220.45, 1503.03, 3, 1519.45, 3}, {256, 2313.03, 300.09, 2613.12, 1, 2630.09, 1},
      {512, 4116.99, 388.36, 4505.35, 1, 4521.36, 1}, {1024, 7207.70, 481.99, 7689.69, 0, 7705.99, 0},
      {50257, 0, 1037.08, 1037.08, 4, 1053.08, 4},
  };
  for (const line& row : table) {
    CAPTURE(row.size);
    CHECK(shows(log2_binomial(50257, row.size), row.ids));
    CHECK(shows(log2_binomial(100 + row.size - 1, row.size - 1), row.counts));
    const double top_k = top_k_law_bits(50257, row.size, 100), threshold = threshold_law_bits(50257, row.size, 100);
    CHECK(shows(top_k, row.top_k));
    CHECK(static_cast<int>(5000 / top_k) == row.top_k_length);
    CHECK(shows(threshold, row.threshold));
    CHECK(static_cast<int>(5000 / threshold) == row.threshold_length);
  }
  // Where one token exceeds the budget, and where the dense code is cheaper than a support.
  CHECK(threshold_law_bits(50257, 582, 100) <= 5000);
  CHECK(threshold_law_bits(50257, 583, 100) > 5000);
  CHECK(threshold_law_bits(50257, 49770, 100) > 5000);
  CHECK(threshold_law_bits(50257, 49771, 100) <= 5000);
  CHECK(top_k_law_bits(50257, 585, 100) <= 5000);
  CHECK(top_k_law_bits(50257, 586, 100) > 5000);
  CHECK(top_k_law_bits(50257, 80, 100) < top_k_law_bits(50257, 50257, 100));
  CHECK(top_k_law_bits(50257, 81, 100) > top_k_law_bits(50257, 50257, 100));
}

TEST_CASE("T12 zero counts dropped, V = 50257, l = 100") {
  const std::uint32_t positive[] = {1, 2, 4, 8, 16, 32, 64, 100};
  const double bits[] = {22.26, 43.51, 81.79, 150.07, 269.84, 473.95, 800.11, 1043.44};
  for (int i = 0; i < 8; ++i) CHECK(shows(drop_zero_law_bits(50257, positive[i], 100), bits[i]));
  CHECK(std::fabs(drop_zero_law_bits(128256, 8, 100) - 160.9) <= 0.05);
  CHECK(std::fabs(drop_zero_law_bits(128256, 64, 100) - 886.7) <= 0.05);
}

TEST_CASE("T12 E10 the drop-zero code never exceeds the dense one by more than log2 l") {
  // sum over k of C(V,k) C(l-1,k-1) = C(l+V-1, V-1), as whole numbers.
  whole_number sum(0);
  for (std::uint32_t k = 1; k <= 24; ++k) {
    whole_number term(1);
    for (std::uint32_t i = 0; i < k; ++i) {
      term.multiply(300 - i);
      term.divide(i + 1);
    }
    for (std::uint32_t i = 0; i + 1 < k; ++i) {
      term.multiply(23 - i);
      term.divide(i + 1);
    }
    sum.add(term);
  }
  CHECK(sum == exact_binomial(24 + 299, 24));
  for (std::uint32_t k = 1; k <= 100; ++k) CHECK(drop_zero_law_bits(50257, k, 100) <= 1037.08 + std::log2(100.0));
}

TEST_CASE("token ids, indices, downlink, full laws") {
  CHECK(token_bits(50272) == 16);
  CHECK(token_bits(32000) == 15);
  CHECK(token_bits(128256) == 17);
  CHECK(token_bits(1) == 0);
  CHECK(token_bits(65536) == 16);
  CHECK(token_bits(65537) == 17);
  CHECK(index_bits(64) == 6);
  CHECK(downlink_bits(1, 50272) == 17);
  CHECK(downlink_bits(4, 50272) == 19);
  CHECK(full_law_bits(32000, 8 + 15) == 736000);
  static_assert(downlink_bits(8, 128256) == 21);
}

TEST_CASE("a law of K ids and a tail: its subset and its composition in whole numbers") {
  for (const std::uint32_t size : {1u, 30u, 832u}) {
    const double want =
        std::log2(32000.0) + exact_binomial(32000, size).log2() + exact_binomial(255 + size, size).log2();
    CHECK(std::fabs(top_k_tail_law_bits(32000, size, 255) - want) <= 1e-10 * want);
  }
  // K = V: no tail, and one bar less.
  CHECK(std::fabs(top_k_tail_law_bits(40, 40, 255) - std::log2(40.0) - exact_binomial(255 + 39, 39).log2()) <= 1e-9);
}

TEST_CASE("log2 of binomials against whole numbers") {
  for (const std::uint32_t n : {1u, 2u, 5u, 33u, 64u, 65u, 99u, 400u, 4097u, 128256u}) {
    for (const std::uint32_t k : {0u, 1u, 2u, 3u, 16u, 31u, 32u, 33u, 34u, 50u, 64u, 98u, 399u, 1000u}) {
      if (k > n) continue;
      CAPTURE(n);
      CAPTURE(k);
      const whole_number exact = exact_binomial(n, k);
      CHECK(std::fabs(log2_binomial(n, k) - exact.log2()) <= 1e-11 * (1 + exact.log2()));
      CHECK(ceil_log2_binomial(n, k) == exact.ceil_log2());
      CHECK(ceil_log2_binomial(n, n - k) == exact.ceil_log2());
    }
  }
  CHECK(log2_binomial(5, 9) == 0);
  CHECK(ceil_log2_binomial(65536, 1) == 16);
  CHECK(ceil_log2_binomial(65536, 65535) == 16);
  static_assert(noexcept(log2_binomial(1, 1))&& noexcept(resolution_for_bits(1, 1)));
}
