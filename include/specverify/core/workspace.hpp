// SPDX-License-Identifier: Apache-2.0
//! Divides temporary storage of the caller into aligned arrays for operations.
//!
//! The library does not allocate while it processes tokens, so the caller must provide a workspace. For each operation
//! that needs one, a function `*_workspace_size` returns the size in bytes. Results that outlive a call (for example,
//! `row_digest`) hold byte offsets from `data()` instead of pointers, so a workspace can also be in device memory.
//! Guarantees: O(1), no allocation, noexcept.
//! See:        docs/algorithms/workspace.md, tests/unit/core/workspace_test.cpp
#ifndef SPECVERIFY_CORE_WORKSPACE_HPP
#define SPECVERIFY_CORE_WORKSPACE_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

SPECVERIFY_TYPES_BEGIN

inline constexpr std::size_t workspace_alignment = 64;

//! An array inside a workspace: the start, in units of 64 bytes from the first aligned byte, and the number of
//! elements.
struct workspace_slice {
  std::uint32_t offset = 0;
  std::uint32_t count = 0;
};
static_assert(sizeof(workspace_slice) == 8);

//! Address of a workspace: enough to find a slice again, but not to take one.
class workspace_base {
 public:
  SPECVERIFY_INLINE constexpr explicit workspace_base(std::byte* data) noexcept : data_(data) {}

  [[nodiscard]] SPECVERIFY_INLINE constexpr std::byte* data() const noexcept { return data_; }
  //! Returns a pointer to the first element of a slice; compiles faster than a span.
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE Element* first_of(workspace_slice slice) const noexcept {
    return reinterpret_cast<Element*>(data_ + std::size_t{slice.offset} * workspace_alignment);
  }
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE std::span<Element> at(workspace_slice slice) const noexcept {
    return {first_of<Element>(slice), slice.count};
  }

 private:
  std::byte* data_;
};

//! State of a reading, stored in the workspace. A rewind below the mark clears the stamp, and this expires the reading.
struct reading_mark {
  double normaliser = 0;    //!< Z once an operation computed it, else 0
  double close = 0;         //!< Z to kernel::quick_error once a quick sum was computed, else 0
  std::uint64_t least = 0;  //!< least <= W <= most: current bounds on the total weight; both 0: not requested
  std::uint64_t most = 0;
  //! While most is 0, sets the bounds on W from the read. Later calls read the row for closer bounds, or compute W
  //! exactly; they require least < most.
  void (*narrow)(reading_mark& mark, bool exactly) noexcept = nullptr;
  bool summed = false;         //!< one more read computed W exactly
  bool reopened = false;       //!< a decision needed Z more precisely than the digest's bounds
  std::uint64_t stamp = 0;     //!< identifies this reading; 0: expired
  std::uint64_t previous = 0;  //!< the previous reading, as offset in bytes + 1; 0: none
  std::uint64_t check = 0;     //!< checksum of stamp and previous
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Expires the readings after the mark `earlier`. Returns the newest remaining reading.
[[nodiscard, gnu::noinline]] inline std::uint64_t expire_readings(workspace_base base, std::uint64_t newest,
                                                                  std::size_t earlier) noexcept {
  while (newest > earlier) {
    auto* mark = reinterpret_cast<reading_mark*>(base.data() + (newest - 1));
    const std::uint64_t previous = mark->previous;
    // If other code has overwritten this memory, the list of readings is lost, so stop here.
    newest = mark->check == (mark->stamp ^ ~previous) && previous < newest ? previous : 0;
    if (newest == previous) mark->stamp = 0;
  }
  return newest;
}

//! Returns the end of a slice of `count` elements with `bytes_each` bytes that begins after `used` of `size` bytes.
//! Errors: as for `workspace::take`.
[[nodiscard, gnu::noinline]] inline result<std::size_t> slice_end(std::size_t size, std::size_t used, std::size_t count,
                                                                  std::size_t bytes_each) noexcept {
  const std::size_t available = size - used, room = available / bytes_each;
  const std::size_t bytes = (count * bytes_each + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
  if (count > room || bytes > available || count > 0xFFFFFFFFu || used / workspace_alignment > 0xFFFFFFFFu) {
    return status{errc::workspace_too_small, part::core,
                  room < 0xFFFFFFFFu ? static_cast<std::uint32_t>(room) : 0xFFFFFFFFu};
  }
  return used + bytes;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
SPECVERIFY_TYPES_BEGIN

//! Caller-owned temporary storage. Taking advances a cursor; `mark` and `rewind` release space in stack order.
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
    if (newest_ > earlier) newest_ = detail::expire_readings(base(), newest_, earlier);
  }

  //! Takes `count` elements, aligned to 64 bytes, with unspecified values. On an error nothing is taken.
  //! Errors: workspace_too_small (`where` = elements that fit).
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE result<std::span<Element>> take(std::size_t count) noexcept {
    const auto slice = take_slice<Element>(count);
    if (!slice) return slice.error();
    return base().at<Element>(*slice);
  }
  //! Takes the elements as a slice, for a value that holds offsets (`row_digest`). Errors: as `take`.
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE result<workspace_slice> take_slice(std::size_t count) noexcept {
    static_assert(std::is_trivially_copyable_v<Element>, "a workspace holds trivially copyable elements");
    const result<std::size_t> end = detail::slice_end(size_, used_, count, sizeof(Element));
    if (!end) return end.error();
    const workspace_slice taken{static_cast<std::uint32_t>(used_ / workspace_alignment),
                                static_cast<std::uint32_t>(count)};
    used_ = *end;
    return taken;
  }

  //! Returns the elements of a slice that was taken from this workspace or from another workspace object on the same
  //! memory.
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE std::span<Element> at(workspace_slice slice) const noexcept {
    SPECVERIFY_ASSERT(std::size_t{slice.offset} * workspace_alignment + slice.count * sizeof(Element) <= size_,
                      "slice outside the workspace");
    return base().at<Element>(slice);
  }
  //! Returns a pointer to the first element of a slice; compiles faster than a span.
  template <class Element>
  [[nodiscard]] SPECVERIFY_INLINE Element* first_of(workspace_slice slice) const noexcept {
    return base().first_of<Element>(slice);
  }
  [[nodiscard]] SPECVERIFY_INLINE workspace_base base() const noexcept { return workspace_base(data_); }

  //! Adds a reading to the list of readings that a rewind can expire. `slice`: the reading's mark. Returns a stamp,
  //! never 0, made from `content` and the number of readings so far.
  [[nodiscard]] SPECVERIFY_INLINE std::uint64_t enter(workspace_slice slice, std::uint64_t content) noexcept {
    reading_mark& mark = *first_of<reading_mark>(slice);
    mark.stamp = ((content ^ ++reads_) * 0x9E3779B97F4A7C15u) | 1u;
    mark.previous = newest_;
    mark.check = mark.stamp ^ ~newest_;
    newest_ = std::uint64_t{slice.offset} * workspace_alignment + 1;
    return mark.stamp;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  std::uint64_t newest_ = 0;  // offset in bytes + 1 of the newest reading_mark; 0: none
  std::uint64_t reads_ = 0;   // number of readings made here
};

//! Releases everything taken during its scope, unless `keep` was called.
class workspace_scope {
 public:
  SPECVERIFY_INLINE explicit workspace_scope(workspace& scratch) noexcept : scratch_(&scratch), mark_(scratch.mark()) {}
  SPECVERIFY_INLINE ~workspace_scope() {
    if (scratch_ != nullptr) scratch_->rewind(mark_);
  }
  workspace_scope(const workspace_scope&) = delete;
  workspace_scope& operator=(const workspace_scope&) = delete;

  //! Keeps everything that was taken.
  SPECVERIFY_INLINE void keep() noexcept { scratch_ = nullptr; }

 private:
  workspace* scratch_;
  std::size_t mark_;
};

//! Returns the number of bytes that `take<Element>(count)` uses, at most 2^64 - 1. A workspace needs the sum of these
//! sizes plus one alignment.
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE constexpr std::size_t slice_bytes(std::size_t count) noexcept {
  return static_cast<std::size_t>((saturating(count) * sizeof(Element)).rounded_up(workspace_alignment).value);
}

SPECVERIFY_TYPES_END

#endif
