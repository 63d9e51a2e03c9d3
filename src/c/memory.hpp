// SPDX-License-Identifier: Apache-2.0
// Makes the sessions of the C library allocate from the host's memory functions. Every translation unit of the C
// library must include this header before any other of the library, because the macros SPECVERIFY_ALLOCATOR and
// SPECVERIFY_ALLOCATOR_NAME change the layout of the session classes and put them in a separate namespace.
#ifndef SPECVERIFY_SRC_C_MEMORY_HPP
#define SPECVERIFY_SRC_C_MEMORY_HPP

#include <specverify_c_base.h>

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

namespace specverify_c {

// Memory functions (hooks) of the session that this thread is creating; null if it is creating none. A session
// allocates only while it is created.
inline constinit thread_local const specverify_allocator* making = nullptr;

class making_scope {
 public:
  explicit making_scope(const specverify_allocator* hooks) noexcept : before_(making) { making = hooks; }
  ~making_scope() { making = before_; }
  making_scope(const making_scope&) = delete;
  making_scope& operator=(const making_scope&) = delete;

 private:
  const specverify_allocator* before_;
};

// An allocator that keeps a pointer to the hooks with which the session was created. The hooks are stored before the
// session.
template <class Element>
class hook_allocator {
 public:
  using value_type = Element;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  hook_allocator() noexcept : hooks_(making) {}
  template <class Other>
  hook_allocator(const hook_allocator<Other>& other) noexcept : hooks_(other.hooks()) {}

  [[nodiscard]] const specverify_allocator* hooks() const noexcept { return hooks_; }
  [[nodiscard]] Element* allocate(std::size_t count) {
    const bool fits = count <= std::numeric_limits<std::size_t>::max() / 2 / sizeof(Element);
    void* const memory =
        hooks_ != nullptr && fits ? hooks_->allocate(hooks_->self, count * sizeof(Element), alignof(Element)) : nullptr;
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<Element*>(memory);
  }
  void deallocate(Element* memory, std::size_t count) noexcept {
    hooks_->deallocate(hooks_->self, memory, count * sizeof(Element), alignof(Element));
  }
  template <class Other>
  [[nodiscard]] bool operator==(const hook_allocator<Other>& other) const noexcept {
    return hooks_ == other.hooks();
  }

 private:
  const specverify_allocator* hooks_;
};

}  // namespace specverify_c

#define SPECVERIFY_ALLOCATOR specverify_c::hook_allocator
#define SPECVERIFY_ALLOCATOR_NAME c

#endif
