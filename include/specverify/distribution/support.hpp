// SPDX-License-Identifier: Apache-2.0
//! Defines a support, which holds the tokens that a sparsifier keeps: ascending ids and their integer weights.
//!
//! Symbols:    X = ids, w_v = integer weights (row/integer_weights.hpp), W = total_weight of the row, q = the row's
//!             distribution, d = dropped mass.
//! Guarantees: non-owning, trivially copyable.
//! Cost:       O(size); no allocation.
//! See:        docs/algorithms/support.md, tests/unit/distribution/support_test.cpp
#ifndef SPECVERIFY_DISTRIBUTION_SUPPORT_HPP
#define SPECVERIFY_DISTRIBUTION_SUPPORT_HPP

#include <specverify/core/views.hpp>
#include <specverify/cpp20.hpp>

#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

struct support {
  std::span<const token_id> ids{};           //!< strictly ascending
  std::span<const std::uint32_t> weights{};  //!< integer weight of each id, in [0, 2^31], not all zero
  //! integer weight of the whole row, W >= the sum of `weights`; 0: not requested
  std::uint64_t total_weight = 0;
  std::uint32_t vocab_size = 0;
  bool cut = false;  //!< a budget removed ids that the sparsifier would have kept (policy/budgeted.hpp)

  [[nodiscard]] SPECVERIFY_INLINE constexpr std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(ids.size());
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the sum of the support's weights. O(size).
[[nodiscard]] constexpr std::uint64_t retained_weight(const support& kept) noexcept {
  std::uint64_t sum = 0;
  for (const std::uint32_t weight : kept.weights) sum += weight;
  return sum;
}

//! Returns the mass of the row that the support keeps, 1 - d, in [0, 1]; 0 if W was not requested.
[[nodiscard]] constexpr double retained_mass(const support& kept) noexcept {
  return kept.total_weight == 0 ? 0.0
                                : static_cast<double>(retained_weight(kept)) / static_cast<double>(kept.total_weight);
}

//! Returns the mass of the row that the support drops, d = TV(q, q restricted to X and normalized), in [0, 1]; 0 if W
//! was not requested.
[[nodiscard]] constexpr double dropped_mass(const support& kept) noexcept {
  return kept.total_weight == 0
             ? 0.0
             : static_cast<double>(kept.total_weight - retained_weight(kept)) / static_cast<double>(kept.total_weight);
}

//! Checks a support. O(size).
//! Errors: size_mismatch (ids and weights differ in length, or W is less than the sum of the weights), empty_support,
//!         zero_weight; ids_not_ascending, token_out_of_range and weight_too_large (`where` = index of the entry).
[[nodiscard]] constexpr status check(const support& kept) noexcept {
  if (kept.ids.size() != kept.weights.size()) return {errc::size_mismatch, part::distribution, 0};
  if (kept.ids.empty()) return {errc::empty_support, part::distribution, 0};
  token_id previous = -1;
  for (std::size_t i = 0; i < kept.ids.size(); ++i) {
    const auto where = static_cast<std::uint32_t>(i);
    if (kept.ids[i] < 0 || static_cast<std::uint32_t>(kept.ids[i]) >= kept.vocab_size)
      return {errc::token_out_of_range, part::distribution, where};
    if (kept.ids[i] <= previous) return {errc::ids_not_ascending, part::distribution, where};
    if (kept.weights[i] > (std::uint32_t{1} << 31)) return {errc::weight_too_large, part::distribution, where};
    previous = kept.ids[i];
  }
  const std::uint64_t sum = retained_weight(kept);
  if (sum == 0) return {errc::zero_weight, part::distribution, 0};
  if (kept.total_weight != 0 && sum > kept.total_weight) return {errc::size_mismatch, part::distribution, 1};
  return {};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
