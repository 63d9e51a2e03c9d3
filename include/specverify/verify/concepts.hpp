// SPDX-License-Identifier: Apache-2.0
//! What a rule takes and what a rule is: lossless drafts, row providers, acceptance rules.
//!
//! Symbols:    rows(i) = logits or probabilities of p_{i+1}, i in [0, L]; rows.transform(i) = what makes them the final
//!             law.
//! Guarantees: rows are asked for in order, each only when the draft before it was accepted.
//! See:        docs/algorithms/verify_concepts.md, tests/unit/verify/concepts_test.cpp,
//!             examples/docs/verify_concepts.cpp
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

//! A token as a rule sees it: with a strength that says how far its origin can be trusted.
template <class Draft>
concept token_draft = requires {
  { Draft::strength } -> std::convertible_to<guarantee>;
};

//! A token that was drawn from the law it is verified against. `mismatched_draft` is not one.
template <class Draft>
concept lossless_draft = token_draft<Draft> && Draft::strength != guarantee::lossy;

//! Target rows by index, produced when asked for. `rows(i)` is a view of row i. `rows.transform(i)` is a value or a
//! reference, whichever suits the provider; what either views must live until the rule asks for row i + 1, or returns.
//! A rule asks for both once a row, the row first.
template <class Rows>
concept row_provider = requires(const Rows& rows, std::uint32_t index) {
  requires is_row_scalar<typename std::remove_cvref_t<decltype(rows(index))>::scalar_type>;
  { rows.transform(index) } -> std::convertible_to<const row_transform&>;
};

//! A row provider that knows how many rows it has; a rule checks the number before it reads the first.
template <class Rows>
concept sized_row_provider = row_provider<Rows> && requires(const Rows& rows) {
  { rows.size() } -> std::convertible_to<std::uint32_t>;
};

//! Rows in memory. One transform serves all rows, or there is one per row.
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

//! Drafts, target rows and uniforms in, one verdict out, or the status that says why there is none. The position of the
//! uniforms is that of the first draft.
template <class Rule, class Policy, class Draft, class Rows, class Source>
concept acceptance_rule = execution_policy<Policy> && token_draft<Draft> && row_provider<Rows> &&
    uniform_source<Source> &&
    requires(const Rule& rule, Policy policy, std::span<const Draft> drafts, const Rows& rows,
             const uniforms<Source>& random, const verify_request& request, workspace& scratch) {
  { rule.verify(policy, drafts, rows, random, request, scratch) } noexcept -> std::same_as<result<verdict>>;
  { Rule::strength } -> std::convertible_to<guarantee>;
};

//! The guarantee of a rule on drafts of one type: the weaker of the two.
template <class Rule, token_draft Draft>
inline constexpr guarantee combined_guarantee = Rule::strength < Draft::strength ? Rule::strength : Draft::strength;

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
