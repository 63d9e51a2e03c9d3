// SPDX-License-Identifier: Apache-2.0
//! Defines the concepts of verification: a draft, a provider of the target's rows, and an acceptance rule.
//!
//! Symbols:    L = number of drafts; rows(i) = logits or probabilities of the target after i accepted drafts, i from 0
//!             to L; rows.transform(i) = the transform of this row (row/transform.hpp).
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

//! A drafted token in a form that an acceptance rule can verify. `strength` is the strongest guarantee that the origin
//! of the token allows.
template <class Draft>
concept token_draft = requires {
  { Draft::strength } -> std::convertible_to<guarantee>;
};

//! A token that was drawn from the distribution against which it is verified. `mismatched_draft` does not satisfy this
//! concept.
template <class Draft>
concept lossless_draft = token_draft<Draft> && Draft::strength != guarantee::lossy;

//! Provides the target's rows by index, on request. `rows(i)` must return a view of row i, and `rows.transform(i)` the
//! transform of row i, as a value or a reference. Row and transform must remain valid until the rule requests row i + 1
//! or returns. A rule requests the row and then the transform, each once.
template <class Rows>
concept row_provider = requires(const Rows& rows, std::uint32_t index) {
  requires is_row_scalar<typename std::remove_cvref_t<decltype(rows(index))>::scalar_type>;
  { rows.transform(index) } -> std::convertible_to<const row_transform&>;
};

//! A row provider with a known number of rows, `size()`. A rule checks this number before it reads the first row.
template <class Rows>
concept sized_row_provider = row_provider<Rows> && requires(const Rows& rows) {
  { rows.size() } -> std::convertible_to<std::uint32_t>;
};

//! Provides rows that are in memory. Pass either one transform for all rows or one transform per row; with fewer, the
//! rows without a transform are not used.
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

//! Verifies the drafts of one round: `verify` takes the drafts, the target's rows and uniforms, and returns a verdict
//! or an error. The position of the uniforms must be the position of the first draft.
template <class Rule, class Policy, class Draft, class Rows, class Source>
concept acceptance_rule = execution_policy<Policy> && token_draft<Draft> && row_provider<Rows> &&
    uniform_source<Source> &&
    requires(const Rule& rule, Policy policy, std::span<const Draft> drafts, const Rows& rows,
             const uniforms<Source>& random, const verify_request& request, workspace& scratch) {
  { rule.verify(policy, drafts, rows, random, request, scratch) } noexcept -> std::same_as<result<verdict>>;
  { Rule::strength } -> std::convertible_to<guarantee>;
};

//! Guarantee of a rule for drafts of one type: the weaker of the rule's guarantee and the drafts' guarantee.
template <class Rule, token_draft Draft>
inline constexpr guarantee combined_guarantee = Rule::strength < Draft::strength ? Rule::strength : Draft::strength;

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
