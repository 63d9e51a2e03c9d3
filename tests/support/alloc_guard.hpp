// SPDX-License-Identifier: Apache-2.0
// Counts the heap allocations of this thread: `alloc_guard guard; ...; CHECK(guard.count() == 0);`
// The counter is defined next to the operator new that counts (alloc_guard.cpp), so a guard that links does count.
#ifndef SPECVERIFY_TESTS_SUPPORT_ALLOC_GUARD_HPP
#define SPECVERIFY_TESTS_SUPPORT_ALLOC_GUARD_HPP

#include <cstdint>

namespace specverify_test {

extern thread_local std::uint64_t counted_allocations;

class alloc_guard {
 public:
  [[nodiscard]] std::uint64_t count() const noexcept { return counted_allocations - before_; }

 private:
  std::uint64_t before_ = counted_allocations;
};

}  // namespace specverify_test

#endif
