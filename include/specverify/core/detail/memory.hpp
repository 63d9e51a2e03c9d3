// SPDX-License-Identifier: Apache-2.0
//! Provides types for heap memory that an object owns.
#ifndef SPECVERIFY_CORE_DETAIL_MEMORY_HPP
#define SPECVERIFY_CORE_DETAIL_MEMORY_HPP

#include <specverify/core/status.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN

//! Memory that an object owns.
template <class Element>
using owned_memory = std::vector<Element, SPECVERIFY_ALLOCATOR<Element>>;

//! Owned memory for buffers whose size is an option. Elements are unspecified until they are written, so the operating
//! system backs no page before the first write.
template <class Element>
class untouched_memory {
 public:
  static_assert(std::is_trivially_copyable_v<Element> && std::is_trivially_destructible_v<Element>);
  untouched_memory() noexcept = default;
  explicit untouched_memory(std::size_t size) : data_(size == 0 ? nullptr : allocator_.allocate(size)), size_(size) {}
  untouched_memory(untouched_memory&& from) noexcept
      : allocator_(from.allocator_), data_(std::exchange(from.data_, nullptr)), size_(std::exchange(from.size_, 0)) {}
  untouched_memory& operator=(untouched_memory&& from) noexcept {
    std::swap(allocator_, from.allocator_);
    std::swap(data_, from.data_);
    std::swap(size_, from.size_);
    return *this;
  }
  ~untouched_memory() {
    if (data_ != nullptr) allocator_.deallocate(data_, size_);
  }

  [[nodiscard]] Element* data() noexcept { return data_; }
  [[nodiscard]] const Element* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] Element* begin() noexcept { return data_; }
  [[nodiscard]] Element* end() noexcept { return data_ + size_; }
  [[nodiscard]] const Element* begin() const noexcept { return data_; }
  [[nodiscard]] const Element* end() const noexcept { return data_ + size_; }
  [[nodiscard]] Element& operator[](std::size_t index) noexcept { return data_[index]; }
  [[nodiscard]] const Element& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  [[no_unique_address]] SPECVERIFY_ALLOCATOR<Element> allocator_{};
  Element* data_ = nullptr;
  std::size_t size_ = 0;
};

namespace detail {

//! Returns the result of `make`, or out_of_memory if an allocation fails. In a build without exceptions, the program
//! terminates instead.
template <class Make>
[[nodiscard]] auto within_memory(const Make& make) -> decltype(make()) {
#if defined(__cpp_exceptions)
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return status{errc::out_of_memory, part::session, 0};
  }
#else
  return make();
#endif
}

}  // namespace detail

SPECVERIFY_NAMESPACE_END

#endif
