// SPDX-License-Identifier: Apache-2.0
//! Defines the `law` type, a quantized distribution: ids with integer counts, and the exact sum of all counts.
//!
//! The ids ascend. All ids that are not listed share one count. For example, a `law` can be a single token, a lattice
//! point, a row of fp16 values (multiples of 2^-24), or the top k tokens plus a uniform tail.
//! Symbols:    b_i = counts, resolution = sum of all counts (l of the lattice), q^(v) = count(v) / resolution.
//! Guarantees: non-owning, trivially copyable, constexpr, noexcept, compiles as C++17; count() is O(log size); no
//!             allocation. Law-exact.
//! See:        docs/algorithms/law.md, tests/unit/distribution/law_test.cpp
#ifndef SPECVERIFY_DISTRIBUTION_LAW_HPP
#define SPECVERIFY_DISTRIBUTION_LAW_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/views.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

struct law {
  const token_id* ids = nullptr;  //!< strictly ascending, each in [0, vocab_size)
  //! one per id; zeros are allowed in memory, but not in a sparse_drop_zero message
  const std::uint32_t* counts = nullptr;
  std::uint32_t size = 0;        //!< number of listed ids
  std::uint32_t tail_count = 0;  //!< count of every id that is not listed
  std::uint32_t resolution = 0;  //!< exact sum: counts + tail_count * (vocab_size - size)
  std::uint32_t vocab_size = 0;

  //! Returns the index of an id among the listed ids, or `size`.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint32_t find(token_id id) const noexcept {
    const std::uint32_t at = numeric::count_below(ids, size, id);
    return at < size && ids[at] == id ? at : size;
  }

  //! Returns the count of an id; 0 outside the vocabulary.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr std::uint32_t count(token_id id) const noexcept {
    if (!SPECVERIFY_LIKELY(id >= 0 && static_cast<std::uint32_t>(id) < vocab_size)) return 0;
    const std::uint32_t at = find(id);
    return at < size ? counts[at] : tail_count;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks all invariants of the type. O(size).
//! Errors: empty_support, ids_not_ascending and token_out_of_range (`where` = index of the entry), counts_do_not_sum,
//!         invalid_resolution (0), vocabulary_too_large.
[[nodiscard]] SPECVERIFY_HD constexpr status check(const law& checked) noexcept {
  if (checked.vocab_size > max_vocab_size) return {errc::vocabulary_too_large, part::distribution, 0};
  if (checked.resolution == 0) return {errc::invalid_resolution, part::distribution, 0};
  if (checked.size == 0 && checked.tail_count == 0) return {errc::empty_support, part::distribution, 0};
  if (checked.size > checked.vocab_size) return {errc::token_out_of_range, part::distribution, checked.vocab_size};
  std::uint64_t sum = std::uint64_t{checked.tail_count} * (checked.vocab_size - checked.size);
  token_id previous = -1;
  for (std::uint32_t i = 0; i < checked.size; ++i) {
    const token_id id = checked.ids[i];
    if (id < 0 || static_cast<std::uint32_t>(id) >= checked.vocab_size)
      return {errc::token_out_of_range, part::distribution, i};
    if (id <= previous) return {errc::ids_not_ascending, part::distribution, i};
    previous = id;
    sum += checked.counts[i];
  }
  if (!SPECVERIFY_LIKELY(sum == checked.resolution)) return {errc::counts_do_not_sum, part::distribution, 0};
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
