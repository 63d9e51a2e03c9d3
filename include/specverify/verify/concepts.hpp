// SPDX-License-Identifier: Apache-2.0
//! Defines concepts for verification: drafts that can be verified without loss, providers of target rows, and
//! acceptance rules.
//!
//! Symbols:    L = number of drafts; rows(i) = logits or probabilities of p_{i+1}, the target's distribution after i
//!             accepted drafts, i in [0, L]; rows.transform(i) = the transform that turns this row into the final
//!             distribution.
//! Guarantees: a rule requests rows in order, and requests a row only after it has accepted the draft before that row.
//! See:        docs/algorithms/verify_concepts.md, tests/unit/verify/concepts_test.cpp
#ifndef SPECVERIFY_VERIFY_CONCEPTS_HPP
#define SPECVERIFY_VERIFY_CONCEPTS_HPP

#include <specverify/core/concepts.hpp>
#include <specverify/core/execution.hpp>
#include <specverify/core/uniforms.hpp>
#include <specverify/core/workspace.hpp>
#include <specverify/distribution/draft.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/verify/verdict.hpp>

#include <concepts>
#include <span>
#include <type_traits>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! A drafted token as acceptance rules use it. `strength` is the strongest guarantee that the origin of the token
//! allows.
template <class Draft>
concept token_draft = requires {
  { Draft::strength } -> std::convertible_to<guarantee>;
};

//! A token that was drawn from the distribution against which it is verified. `mismatched_draft` does not satisfy this
//! concept.
template <class Draft>
concept lossless_draft = token_draft<Draft> && Draft::strength != guarantee::lossy;

//! Target rows by index, produced on request. `rows(i)` returns a view of row i. `rows.transform(i)` may return a value
//! or a reference. The memory of both must remain valid until the rule requests row i + 1 or returns. A rule requests
//! the row and then the transform, each once.
template <class Rows>
concept row_provider = requires(const Rows& rows, std::uint32_t index) {
  requires is_row_scalar<typename std::remove_cvref_t<decltype(rows(index))>::scalar_type>;
  { rows.transform(index) } -> std::convertible_to<const row_transform&>;
};

//! A row provider that knows its number of rows. A rule checks this number before it reads the first row.
template <class Rows>
concept sized_row_provider = row_provider<Rows> && requires(const Rows& rows) {
  { rows.size() } -> std::convertible_to<std::uint32_t>;
};

//! Rows in memory. There must be either one transform for all rows or one per row.
template <class Scalar>
class row_span_provider {
 public:
  constexpr row_span_provider(std::span<const row_view<Scalar>> rows,
                              std::span<const row_transform> transforms) noexcept
      : rows_(rows), transforms_(transforms) {}

  [[nodiscard]] constexpr std::uint32_t size() const noexcept {
    const bool enough = transforms_.size() == 1 || transforms_.size() >= rows_.size();
    return static_cast<std::uint32_t>(enough ? rows_.size() : transforms_.size());
  }
  [[nodiscard]] constexpr row_view<Scalar> operator()(std::uint32_t index) const noexcept { return rows_[index]; }
  [[nodiscard]] constexpr const row_transform& transform(std::uint32_t index) const noexcept {
    return transforms_[transforms_.size() == 1 ? 0 : index];
  }

 private:
  std::span<const row_view<Scalar>> rows_;
  std::span<const row_transform> transforms_;
};

//! Takes drafts, target rows and uniforms, and returns one verdict or an error status. The uniforms' position must be
//! that of the first draft.
template <class Rule, class Policy, class Draft, class Rows, class Source>
concept acceptance_rule = execution_policy<Policy> && token_draft<Draft> && row_provider<Rows> &&
    uniform_source<Source> &&
    requires(const Rule& rule, Policy policy, std::span<const Draft> drafts, const Rows& rows,
             const uniforms<Source>& random, const verify_request& request, workspace& scratch) {
  { rule.verify(policy, drafts, rows, random, request, scratch) } noexcept -> std::same_as<result<verdict>>;
  { Rule::strength } -> std::convertible_to<guarantee>;
};

//! Returns the guarantee of a rule for drafts of one type: the weaker of the rule's and the drafts' guarantees.
template <class Rule, token_draft Draft>
inline constexpr guarantee combined_guarantee = Rule::strength < Draft::strength ? Rule::strength : Draft::strength;

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
