// SPDX-License-Identifier: Apache-2.0
//! Defines types that all modules share: token ids, the number formats of logits, and the view of one row.
//!
//! Only the modules `kernel/`, `row/`, `device/` and `cuda/` may read the entries of a `row_view`, through
//! `row_access`. A lint checks this. Every other module passes a row on without reading it.
//! Guarantees: trivially copyable, constexpr, no allocation.
//! Cost:       O(1).
//! See:        docs/algorithms/views.md, tests/unit/core/views_test.cpp
#ifndef SPECVERIFY_CORE_VIEWS_HPP
#define SPECVERIFY_CORE_VIEWS_HPP

#include <specverify/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if __cplusplus >= 202002L
#include <span>
#endif

SPECVERIFY_TYPES_BEGIN

using token_id = std::int32_t;  //!< same type as in the engines; -1: no token
inline constexpr token_id no_token = -1;
inline constexpr std::uint32_t max_vocab_size = std::uint32_t{1} << 24;
//! The highest temperature. At this and lower temperatures, if a logit is so far below the maximum that their
//! difference overflows a float, its integer weight is 0.
inline constexpr double max_temperature = 0x1p120;

//! IEEE binary16 and bfloat16 as storage: only bits, which kernels convert in registers.
struct float16_bits {
  std::uint16_t bits;
};
struct bfloat16_bits {
  std::uint16_t bits;
};

template <class Scalar>
inline constexpr bool is_row_scalar = std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double> ||
                                      std::is_same_v<Scalar, float16_bits> || std::is_same_v<Scalar, bfloat16_bits>;

enum class row_kind : std::uint8_t { logits, probabilities };

namespace detail {
template <class Element>
[[nodiscard]] SPECVERIFY_INLINE bool is_aligned(const Element* array) noexcept {
  return reinterpret_cast<std::uintptr_t>(array) % alignof(Element) == 0;
}
}  // namespace detail

struct row_access;  // the passkey; defined in kernel/row_access.hpp

//! One row of logits or probabilities. It stores `size` entries, but only the first `valid_size` are tokens, because
//! engines pad rows. Entry v is at index v * stride. A row with size 0 means "no row".
template <class Scalar>
class row_view {
  static_assert(is_row_scalar<Scalar>, "rows hold float, double, float16_bits or bfloat16_bits");

 public:
  using scalar_type = Scalar;

  SPECVERIFY_INLINE constexpr row_view() noexcept = default;
  SPECVERIFY_INLINE constexpr row_view(row_kind kind, const Scalar* data, std::uint32_t size) noexcept
      : row_view(kind, data, size, size) {}
  SPECVERIFY_INLINE constexpr row_view(row_kind kind, const Scalar* data, std::uint32_t size, std::uint32_t valid_size,
                                       std::uint32_t stride = 1) noexcept
      : data_(data), size_(size), valid_size_(valid_size < size ? valid_size : size), stride_(stride), kind_(kind) {}

  [[nodiscard]] SPECVERIFY_INLINE constexpr row_kind kind() const noexcept { return kind_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t valid_size() const noexcept { return valid_size_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t stride() const noexcept { return stride_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr bool empty() const noexcept { return valid_size_ == 0; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr bool has_data() const noexcept { return data_ != nullptr; }
  [[nodiscard]] SPECVERIFY_INLINE bool is_aligned() const noexcept { return detail::is_aligned(data_); }

 private:
  friend struct row_access;
  const Scalar* data_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t valid_size_ = 0;
  std::uint32_t stride_ = 1;
  row_kind kind_ = row_kind::logits;
};

//! Returns a number of entries as a 32-bit number, at most 2^32 - 1.
[[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t row_size(std::size_t count) noexcept {
  return count < 0xFFFFFFFFu ? static_cast<std::uint32_t>(count) : 0xFFFFFFFFu;
}
//! Returns the row of `size` logits at `values`, as an engine returns them for one position. A size above 2^32 - 1 is
//! clamped to this number, so a read rejects the row as too large instead of reading a part.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr row_view<Scalar> logits_row(const Scalar* values, std::size_t size) noexcept {
  return {row_kind::logits, values, row_size(size)};
}
//! Returns the row of `size` probabilities at `values`: the final distribution at one position.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr row_view<Scalar> probability_row(const Scalar* values,
                                                                           std::size_t size) noexcept {
  return {row_kind::probabilities, values, row_size(size)};
}

#if __cplusplus >= 202002L
//! Returns the row of logits in a span.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr row_view<Scalar> logits_row(std::span<const Scalar> values) noexcept {
  return logits_row(values.data(), values.size());
}
//! Returns the row of probabilities in a span: the final distribution at one position.
template <class Scalar>
[[nodiscard]] SPECVERIFY_INLINE constexpr row_view<Scalar> probability_row(std::span<const Scalar> values) noexcept {
  return probability_row(values.data(), values.size());
}

#endif  // C++20

SPECVERIFY_TYPES_END

#endif
