// SPDX-License-Identifier: Apache-2.0
// The counting operator new of every test executable. It is in a separate file, because a compiler that sees both new
// and delete warns of a mismatch.
#include "support/alloc_guard.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // new and delete are both replaced here, by malloc and free
#endif
namespace specverify_test {

thread_local std::uint64_t counted_allocations = 0, counted_bytes = 0;

[[nodiscard]] static void* counted(std::size_t size, std::size_t alignment) noexcept {
  ++counted_allocations;
  counted_bytes += size;
  if (size == 0) size = 1;
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
[[nodiscard]] static void* counted_or_thrown(std::size_t size, std::size_t alignment) {
  void* const memory = counted(size, alignment);
#if defined(__cpp_exceptions)
  if (memory == nullptr) throw std::bad_alloc();
#else
  if (memory == nullptr) std::abort();
#endif
  return memory;
}
}  // namespace specverify_test
void* operator new(std::size_t size) { return specverify_test::counted_or_thrown(size, 1); }
void* operator new[](std::size_t size) { return specverify_test::counted_or_thrown(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return specverify_test::counted_or_thrown(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return specverify_test::counted_or_thrown(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return specverify_test::counted(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return specverify_test::counted(size, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
