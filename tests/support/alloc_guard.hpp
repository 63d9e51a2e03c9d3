// SPDX-License-Identifier: Apache-2.0
// Counts the heap allocations of this thread, and their bytes: `alloc_guard guard; ...; CHECK(guard.count() == 0);`
// The counter is defined next to the counting operator new (alloc_guard.cpp), so a guard that links does count.
#ifndef SPECVERIFY_TESTS_SUPPORT_ALLOC_GUARD_HPP
#define SPECVERIFY_TESTS_SUPPORT_ALLOC_GUARD_HPP

#include <cstdint>

namespace specverify_test {

extern thread_local std::uint64_t counted_allocations, counted_bytes;

class alloc_guard {
 public:
  [[nodiscard]] std::uint64_t count() const noexcept { return counted_allocations - before_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return counted_bytes - bytes_before_; }

 private:
  std::uint64_t before_ = counted_allocations, bytes_before_ = counted_bytes;
};

}  // namespace specverify_test

#endif
