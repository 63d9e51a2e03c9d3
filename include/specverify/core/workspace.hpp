// SPDX-License-Identifier: Apache-2.0
//! Scratch memory that the caller owns: a span of bytes from which operations cut aligned arrays.
//!
//! Every operation that needs scratch has a pure `*_workspace_size` function; the library never allocates in a hot
//! path. Results that outlive a call (a digest) hold byte offsets into the workspace, not pointers, so that a workspace
//! may live in device memory. Offsets count from `data()`.
//! Guarantees: O(1), no allocation, noexcept.
//! See:        docs/algorithms/workspace.md, tests/unit/core/workspace_test.cpp
#ifndef SPECVERIFY_CORE_WORKSPACE_HPP
#define SPECVERIFY_CORE_WORKSPACE_HPP

#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

inline constexpr std::size_t workspace_alignment = 64;

//! An array inside a workspace: where it starts, in bytes from the workspace's first aligned byte, and how many
//! elements it has.
struct workspace_slice {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

//! Caller-owned scratch. Taking advances a cursor; `mark` and `rewind` give space back in the order of a stack.
class workspace {
 public:
  SPECVERIFY_INLINE constexpr workspace() noexcept = default;
  SPECVERIFY_INLINE explicit workspace(std::span<std::byte> bytes) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    const std::size_t skip = (workspace_alignment - address % workspace_alignment) % workspace_alignment;
    if (skip <= bytes.size()) {
      data_ = bytes.data() + skip;
      size_ = bytes.size() - skip;
    }
  }

  [[nodiscard]] SPECVERIFY_INLINE std::byte* data() const noexcept { return data_; }
  [[nodiscard]] SPECVERIFY_INLINE std::size_t size() const noexcept { return size_; }
  [[nodiscard]] SPECVERIFY_INLINE std::size_t used() const noexcept { return used_; }
  [[nodiscard]] SPECVERIFY_INLINE std::size_t available() const noexcept { return size_ - used_; }
  [[nodiscard]] SPECVERIFY_INLINE std::size_t mark() const noexcept { return used_; }
  SPECVERIFY_INLINE void rewind(std::size_t earlier) noexcept {
    SPECVERIFY_ASSERT(earlier <= used_, "rewind to a later mark");
    used_ = earlier;
  }

  //! Cuts `count` elements, aligned to 64 bytes. Returns false, and takes nothing, when they do not fit.
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE bool take(std::size_t count, workspace_slice& slice) noexcept {
    static_assert(std::is_trivially_copyable_v<Element>, "a workspace holds trivially copyable elements");
    if (count > available() / sizeof(Element)) return false;
    const std::size_t bytes =
        (count * sizeof(Element) + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
    if (bytes > available()) return false;
    slice = {used_, count};
    used_ += bytes;
    return true;
  }

  //! The elements of a slice that was taken from this workspace (or from an equal one at the same address).
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE std::span<Element> at(workspace_slice slice) const noexcept {
    SPECVERIFY_ASSERT(slice.offset + slice.count * sizeof(Element) <= size_, "slice outside the workspace");
    return {reinterpret_cast<Element*>(data_ + slice.offset), static_cast<std::size_t>(slice.count)};
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
};

//! Bytes that `take<Element>(count)` uses up; sums of these, plus one alignment, make a workspace size.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE constexpr std::size_t slice_bytes(std::size_t count) noexcept {
  return (count * sizeof(Element) + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
}

SPECVERIFY_TYPES_END

#endif
