// SPDX-License-Identifier: Apache-2.0
//! Stores a text that holds a secret, and wipes the memory before it is released.
#ifndef EDGE_CLOUD_SECRET_TEXT_HPP
#define EDGE_CLOUD_SECRET_TEXT_HPP

#include <specverify/core/secret.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace edge_cloud {

template <class T>
struct wiping_allocator {
  using value_type = T;
  wiping_allocator() = default;
  template <class Other>
  wiping_allocator(const wiping_allocator<Other>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* memory, std::size_t count) noexcept {
    specverify::wipe(memory, count * sizeof(T));
    std::allocator<T>().deallocate(memory, count);
  }
  template <class Other>
  bool operator==(const wiping_allocator<Other>&) const noexcept {
    return true;
  }
};

//! The member is not a std::string, because a string stores short texts inside itself, where the wiping allocator does
//! not apply.
class secret_text {
 public:
  secret_text() = default;
  explicit secret_text(std::string_view text) : letters_(text.begin(), text.end()) {}

  operator std::string_view() const noexcept { return {letters_.data(), letters_.size()}; }  // NOLINT: reads like one
  [[nodiscard]] char& operator[](std::size_t at) { return letters_[at]; }
  [[nodiscard]] bool operator==(const secret_text&) const = default;
  void append(std::string_view text) { letters_.insert(letters_.end(), text.begin(), text.end()); }

 private:
  std::vector<char, wiping_allocator<char>> letters_;
};

}  // namespace edge_cloud

#endif
