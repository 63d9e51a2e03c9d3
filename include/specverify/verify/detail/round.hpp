// SPDX-License-Identifier: Apache-2.0
//! Code shared by all acceptance rules: checks a request, limits the length of a round, and builds the verdict.
#ifndef SPECVERIFY_VERIFY_DETAIL_ROUND_HPP
#define SPECVERIFY_VERIFY_DETAIL_ROUND_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/verify/concepts.hpp>
#include <specverify/verify/detail/progress.hpp>
#include <specverify/verify/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr token_id token_of(const draft& drafted) noexcept { return drafted.token(); }
[[nodiscard]] constexpr token_id token_of(const received_draft& drafted) noexcept { return drafted.token(); }
[[nodiscard]] constexpr token_id token_of(const claimed_draft& drafted) noexcept { return drafted.token; }
[[nodiscard]] constexpr token_id token_of(const mismatched_draft& drafted) noexcept { return drafted.token; }

//! A row and its transform, as the provider returns them (views or values).
template <class Rows>
struct given_row {
  decltype(std::declval<const Rows&>()(0)) row;
  decltype(std::declval<const Rows&>().transform(0)) transform;
  std::uint32_t index;
};
template <class Rows>
[[nodiscard]] SPECVERIFY_INLINE given_row<Rows> ask_row(const Rows& rows, std::uint32_t index) noexcept {
  return {rows(index), rows.transform(index), index};
}

//! Builds the verdict of one round.
class round {
 public:
  template <class Draft, class Rows>
  round(std::span<const Draft> drafts, const Rows& rows, const verify_request& request) noexcept
      : request_(request),
        limits_{request.stop_tokens.data(), request.stop_tokens.size(), request.remaining_budget, request.bonus} {
    std::uint32_t length = 0;
    while (length < drafts.size() && token_of(drafts[length]) != no_token) ++length;
    length_ = length_of_round(length, limits_);
    rows_ = rows_of_round(length_, limits_);
    result_.counters.drafted = length;
    if (!request.row_states.empty() && request.row_states.size() <= length) {
      fail(errc::output_too_small, length);
    } else if (!request.log_probabilities.empty() && request.log_probabilities.size() < rows_) {
      fail(errc::output_too_small, rows_);
    } else if (!request.forced_rejects.empty() && request.forced_rejects.size() < length) {
      fail(errc::size_mismatch, length);
    } else if (available_rows(rows) < rows_) {
      fail(errc::too_few_rows, available_rows(rows));
    } else {
      std::uint32_t index = 0;
      for (status& state : request.row_states) state = {errc::not_read, part::verify, index++};
      if (rows_ == 0) result_.stop = stop_reason::budget;
    }
  }

  [[nodiscard]] bool failed() const noexcept { return !why_.ok(); }
  [[nodiscard]] status why() const noexcept { return why_; }
  [[nodiscard]] std::uint32_t length() const noexcept { return length_; }
  [[nodiscard]] std::uint32_t rows() const noexcept { return rows_; }
  [[nodiscard]] verdict_counters& counters() noexcept { return result_.counters; }
  [[nodiscard]] bool wants_log_probabilities() const noexcept { return !request_.log_probabilities.empty(); }
  //! Takes workspace for the log-probabilities of the round's rows if they are requested. If there is too little
  //! workspace, the round fails with workspace_too_small and the function returns false.
  [[nodiscard]] bool take_log_probabilities(workspace& scratch) noexcept {
    if (!wants_log_probabilities()) return true;
    const auto room = scratch.take<double>(rows_);
    if (room) log_probabilities_ = room->data();
    if (!room) fail(errc::workspace_too_small, 0);
    return room.ok();
  }
  //! Stores ln p of the token that is committed at `index`. Returns false if the round has failed.
  [[nodiscard]] bool keep_log_probability(std::uint32_t index, const result<double>& found) noexcept {
    if (found.ok()) log_probabilities_[index] = found.value();
    if (!found.ok()) fail_row(found.error(), index);
    return found.ok();
  }
  [[nodiscard]] bool forced(std::uint32_t index) const noexcept {
    return !request_.forced_rejects.empty() && request_.forced_rejects[index] != 0;
  }

  void row_read(std::uint32_t index, errc code = errc::ok) const noexcept {
    if (index < request_.row_states.size()) request_.row_states[index] = {code, part::verify, index};
  }

  //! Records an error, whose `where` is `row`. The round then has no verdict.
  void fail(errc code, std::uint32_t row) noexcept { why_ = {code, part::verify, row}; }
  void fail_row(status why, std::uint32_t row) noexcept {
    row_read(row, why.code);
    fail(why.code, row);
  }

  //! Accepts a draft. Returns true if this draft ends the round.
  [[nodiscard]] bool accept(token_id token) noexcept { return accept_draft(result_, limits_, token); }

  //! Counts a mismatch with score `rho`. Returns true if the mismatch is accepted.
  [[nodiscard]] bool weigh(double rho, double threshold) noexcept {
    ++result_.counters.mismatches;
    const bool stands = rho < threshold;
    if (stands) {
      ++result_.counters.accepted_mismatches;
      result_.counters.accepted_score += rho;
      if (rho > result_.counters.largest_accepted_score) result_.counters.largest_accepted_score = rho;
    }
    return stands;
  }

  void finish(token_id token, token_source source) noexcept { finish_round(result_, limits_, token, source); }
  void defer() noexcept { result_.outcome = verdict_outcome::deferred; }
  void need() noexcept {
    result_.outcome = verdict_outcome::needs;
    result_.commit_length = 0;
  }

  [[nodiscard]] result<verdict> done() const noexcept {
    if (failed()) return why_;
    if (wants_log_probabilities()) {
      for (std::uint32_t i = 0; i < result_.commit_length; ++i) request_.log_probabilities[i] = log_probabilities_[i];
    }
    return result_;
  }

 private:
  template <class Rows>
  [[nodiscard]] std::uint32_t available_rows(const Rows& rows) const noexcept {
    if constexpr (sized_row_provider<Rows>) {
      return rows.size();
    } else {
      return rows_;
    }
  }

  const verify_request& request_;
  round_limits limits_;
  verdict result_{};
  status why_{};
  double* log_probabilities_ = nullptr;
  std::uint32_t length_ = 0;
  std::uint32_t rows_ = 0;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
