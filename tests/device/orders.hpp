// SPDX-License-Identifier: Apache-2.0
//! Kernels in many seeded orders: right ones must stay silent in all of them, wrong ones must be found in a few.
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

inline constexpr std::uint64_t orders_to_find = 200;  //!< in which a planted bug must be found

template <class... P, class... A>
void run(void (*kernel)(P...), unsigned blocks, unsigned threads, A... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  (void)cudaLaunchKernelEx(&config, kernel, arguments...);
}

//! `test(device)` in the ascending order and in seeded ones; nothing may be found. 2 000 in the long run.
template <class Test>
void in_all_orders(const Test& test, std::uint64_t orders = is_long() ? 2000 : 20) {
  for (std::uint64_t seed = 0; seed < orders; ++seed) {
    simulator::device gpu({.seed = seed});
    test(gpu);
    REQUIRE_MESSAGE(gpu.report() == "", "order " << seed);
  }
}

//! The first order in which `what` is found; orders_to_find if in none.
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
