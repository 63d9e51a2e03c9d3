// SPDX-License-Identifier: Apache-2.0
//! Runs kernels in many seeded orders. A correct kernel must have no finding in any order, a wrong one in a few.
#ifndef SPECVERIFY_TESTS_DEVICE_ORDERS_HPP
#define SPECVERIFY_TESTS_DEVICE_ORDERS_HPP

#include <cuda_runtime.h>

#include <doctest/doctest.h>

#include <cstdlib>

namespace device_tests {

inline bool is_long() {
  const char* wanted = std::getenv("SPECVERIFY_LONG");
  return wanted != nullptr && wanted[0] == '1';
}

inline constexpr std::uint64_t orders_to_find = 200;  //!< maximum orders until a planted bug is found

template <class... P, class... A>
void run(void (*kernel)(P...), unsigned blocks, unsigned threads, A... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

//! Runs `test(device)` in ascending and seeded orders (2 000 in the long run). There must be no finding.
template <class Test>
void in_all_orders(const Test& test, std::uint64_t orders = is_long() ? 2000 : 20) {
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    simulator::device gpu({.seed = seed});
    test(gpu);
    REQUIRE_MESSAGE(gpu.report() == "", "order " << seed);
  }
}

//! Returns the first order in which `what` is found, or orders_to_find if there is none.
template <class Test>
std::uint64_t first_order_with(simulator::fault what, const Test& test) {
  for (std::uint64_t seed = 0; seed < orders_to_find; ++seed) {
    simulator::device gpu({.seed = seed});
    test(gpu);
    if (gpu.saw(what)) return seed;
  }
  return orders_to_find;
}

}  // namespace device_tests

#endif
