// SPDX-License-Identifier: Apache-2.0
// Verification of ragged batches by the CUDA kernels, on the block simulator: verdicts, counters and row states of
// exec::seq.
#include <specverify/cuda/verify.cuh>

#include <doctest/doctest.h>
#include <device/rounds.hpp>

using namespace device_tests;

namespace {

const std::vector<std::uint32_t> ragged{0, 3, 8, 1, 5, 2, 0, 4};

template <class Scalar>
void compare(batch<Scalar>& rows, ragged_rounds<Scalar>& all, std::uint64_t seed, std::uint32_t trial_cap = 32) {
  simulator::device gpu({.seed = seed});
  all.name_to(gpu);
  REQUIRE(verify_batch(exec::cuda{}, device_token_rule{trial_cap}, all.made(), all.random(), all.out(), all.scratch())
              .ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t i = 0; i < all.count(); ++i) all.compare(token_rule{trial_cap}, i);
  REQUIRE(verify_batch(exec::cuda{}, device_greedy_rule{}, all.made(), all.out()).ok());
  REQUIRE(gpu.report() == "");
  for (std::uint32_t i = 0; i < all.count(); ++i) all.compare(greedy_rule{}, i);
  (void)rows;
}

}  // namespace

TEST_CASE_TEMPLATE("rounds over hard rows: the verdicts of the host", Scalar, float, float16_bits, bfloat16_bits) {
  for (const std::uint32_t size : sizes) {
    for (std::uint64_t seed = 0; seed < (is_long() ? 40u : 3u); ++seed) {
      CAPTURE(size);
      CAPTURE(seed);
      batch<Scalar> rows(ragged_rounds<Scalar>::rows_for(ragged), size);
      rows.fill(0, seed + size);
      for (std::uint32_t r = 0; r < rows.count(); ++r) rows.temperature(r) = 0.3 + 0.05 * r;
      ragged_rounds<Scalar> plain(rows, ragged, seed);
      compare(rows, plain, seed);
      rows.transform_all(seed);
      rows.temperature(2) = 0.0;
      ragged_rounds<Scalar> changed(rows, ragged, seed + 100);
      changed.explicit_rows = false;
      compare(rows, changed, seed + 1, 2);
    }
  }
}
