// SPDX-License-Identifier: Apache-2.0
//! A row of any policy and scalar, for as long as the call that brought it: all that an edge asks of one, in five
//! calls.
//!
//! It stands on the stack of `supply_row`. A sparsifier sees its `row_summary` alone, which names neither type.
#ifndef SPECVERIFY_SESSION_DETAIL_ANY_ROW_HPP
#define SPECVERIFY_SESSION_DETAIL_ANY_ROW_HPP

#include <specverify/distribution/fp16_law.hpp>
#include <specverify/policy/observe_skip.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/reading.hpp>

#include <optional>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

class any_row {
 public:
  any_row(const any_row&) = delete;
  any_row& operator=(const any_row&) = delete;

  [[nodiscard]] virtual result<token_id> most_probable() noexcept = 0;
  //! Reads the row once. Then its summary stands, and the calls below may be made.
  [[nodiscard]] virtual status read(const read_request& request, workspace& scratch) noexcept = 0;
  [[nodiscard]] const row_summary& summary() const noexcept { return *summary_; }
  [[nodiscard]] virtual result<token_id> sample(const uniform_stream<>& stream) noexcept = 0;
  [[nodiscard]] virtual result<law> in_fp16(workspace& scratch) noexcept = 0;
  //! How often draws at random temperatures give another token. Takes and gives back `scratch`.
  [[nodiscard]] virtual result<disagreement> perturb(token_id token, const perturbation_options& options,
                                                     const uniforms<>& random, workspace& scratch) noexcept = 0;

 protected:
  any_row() noexcept = default;
  ~any_row() = default;

  const row_summary* summary_ = nullptr;
};

template <execution_policy Policy, class Scalar>
class row_of final : public any_row {
 public:
  row_of(Policy policy, row_view<Scalar> row, const row_transform& transform) noexcept
      : policy_(policy), row_(row), transform_(transform) {}

  result<token_id> most_probable() noexcept override {
    const result<argmax_result> best = argmax(policy_, row_, transform_);
    if (!best) return best.error();
    return best->token;
  }
  status read(const read_request& request, workspace& scratch) noexcept override {
    const auto made = read_row(policy_, row_, transform_, request, scratch);
    if (!made) return made.error();
    summary_ = &reading_.emplace(*made);
    return {};
  }
  result<token_id> sample(const uniform_stream<>& stream) noexcept override {
    const auto drawn = reading_->sample(stream);
    if (!drawn) return drawn.error();
    return drawn->token;
  }
  result<law> in_fp16(workspace& scratch) noexcept override { return fp16_law(*reading_, scratch); }
  result<disagreement> perturb(token_id token, const perturbation_options& options, const uniforms<>& random,
                               workspace& scratch) noexcept override {
    return measure_disagreement(*reading_, token, options, random, scratch);
  }

 private:
  [[no_unique_address]] Policy policy_;
  row_view<Scalar> row_;
  const row_transform& transform_;
  std::optional<row_reading<Policy, Scalar>> reading_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
