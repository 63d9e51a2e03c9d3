// SPDX-License-Identifier: Apache-2.0
#include <specverify/kernel/scalar/exponential.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace specverify;

TEST_CASE("kernel.coarse_exponential: an upper envelope within 1.0615, the margin covers its rounding") {
  double lowest = 2, highest = 0;
  for (const double temperature : {0.05, 0.7, 1.0, 3.0}) {
    const float scale = kernel::coarse_scale(temperature);
    for (int i = 0; i < 400000; ++i) {
      const float difference = static_cast<float>((-68.5 + 128.0 * i / 400000.0) * temperature);
      const double exact = std::exp(static_cast<double>(difference) / temperature);
      const double ratio = static_cast<double>(kernel::coarse_exponential(difference, scale)) / exact;
      lowest = ratio < lowest ? ratio : lowest;
      highest = ratio > highest ? ratio : highest;
    }
  }
  CHECK(lowest >= 1 - 0x1.0p-16);
  CHECK(lowest < 1);
  CHECK(highest <= kernel::coarse_excess * (1 + 0x1.0p-16));
  CHECK(highest > kernel::coarse_excess - 1e-4);
}

TEST_CASE("kernel.coarse_exponential: literals, and 2^-100 from there down to -infinity") {
  CHECK(kernel::coarse_exponential(0.0f, 8388608.0f) == 1.0f);
  CHECK(kernel::coarse_exponential(1.0f, 8388608.0f) == 2.0f);
  CHECK(kernel::coarse_exponential(-1.0f, 8388608.0f) == 0.5f);
  CHECK(kernel::coarse_exponential(0.5f, 8388608.0f) == 1.5f);
  for (const float low : {-100.0f, -101.0f, -1e30f, -std::numeric_limits<float>::infinity()}) {
    CHECK(kernel::coarse_exponential(low, 8388608.0f) == 0x1.0p-100f);
  }
  CHECK(kernel::coarse_difference(-1e300, 1.0) == -1.0e38f);
  CHECK(kernel::coarse_probability(0.0f) == 0.0f);
  CHECK(kernel::coarse_probability(0.25) == 0.25f);
  CHECK(kernel::coarse_probability(1e-300) == 0x1.0p-126f);
}

TEST_CASE("kernel.exponential: relative error below 2^-51 over its range, 0 below it") {
  long double worst = 0;
  for (int i = -70000; i <= 70000; ++i) {
    const double x = i * 0.01 + 1e-3;
    if (x > 700 || x < -700) continue;
    const long double exact = std::exp(static_cast<long double>(x));
    worst = std::max(worst, std::fabs(kernel::exponential(x) / exact - 1));
  }
#if !defined(__FAST_MATH__)
  CHECK(static_cast<double>(worst) < 0x1.0p-51);
  CHECK(static_cast<double>(worst) > 0x1.0p-51 / 4);  // fused products: 1.3e-16
#else
  CHECK(static_cast<double>(worst) < 1e-12);
#endif
  CHECK(kernel::exponential(0.0) == 1.0);
  CHECK(kernel::exponential(-701.0) == 0.0);
  CHECK(kernel::exponential(kernel::negative_infinity<double>()) == 0.0);
}

TEST_CASE("NUM-9 kernel: NaN and infinities are told by their bits") {
  const float quiet = kernel::bits_as<float>(std::uint32_t{0x7FC00000u}),
              signalling = kernel::bits_as<float>(std::uint32_t{0xFF800001u});
  const float up = kernel::bits_as<float>(std::uint32_t{0x7F800000u}),
              down = kernel::bits_as<float>(std::uint32_t{0xFF800000u});
  CHECK(kernel::is_nan(quiet));
  CHECK(kernel::is_nan(signalling));
  CHECK_FALSE(kernel::is_nan(up));
  CHECK_FALSE(kernel::is_nan(down));
  CHECK_FALSE(kernel::is_finite(up));
  CHECK_FALSE(kernel::is_finite(down));
  CHECK_FALSE(kernel::is_finite(quiet));
  CHECK(kernel::is_finite(3.4e38f));
  CHECK(kernel::is_positive_infinity(up));
  CHECK_FALSE(kernel::is_positive_infinity(down));
  CHECK(kernel::is_negative_infinity(down));
  const double wide = kernel::bits_as<double>(std::uint64_t{0x7FF8000000000000u});
  CHECK(kernel::is_nan(wide));
  CHECK(kernel::is_positive_infinity(kernel::bits_as<double>(std::uint64_t{0x7FF0000000000000u})));
  CHECK(kernel::is_negative_infinity(kernel::negative_infinity<double>()));
  CHECK(kernel::is_finite(1e308));
}

TEST_CASE("kernel.probability_weight: the largest is 2^31 for awkward maxima") {
  for (int i = 1; i < 20000; ++i) {
    const double maximum = i / 20011.0;
    CHECK(kernel::probability_weight(maximum, kernel::probability_scale(maximum)) == 2147483648u);
    CHECK(kernel::probability_weight(0.0, kernel::probability_scale(maximum)) == 0u);
  }
}
