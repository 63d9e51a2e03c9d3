// SPDX-License-Identifier: Apache-2.0
//! Wraps the function that `enumerate_law` measures. The wrapper takes a script of random numbers and returns the index
//! of the outcome.
#ifndef SPECVERIFY_TESTING_DETAIL_LAW_SUBJECT_HPP
#define SPECVERIFY_TESTING_DETAIL_LAW_SUBJECT_HPP

#include <specverify/testing/uniform_script.hpp>

#include <cstdint>
#include <map>

SPECVERIFY_NAMESPACE_BEGIN

//! A function whose outcomes are numbered. `run` is virtual, so that the search is compiled once for all functions.
class law_subject {
 public:
  //! Runs the function on the script. Outcomes are numbered from 0 in order of first appearance; equal outcomes have
  //! equal numbers.
  [[nodiscard]] virtual std::uint32_t run(uniform_script& script) = 0;

 protected:
  ~law_subject() = default;
};

//! Numbers the outcomes of a function for the search.
template <class Function, class Outcome>
class numbered_outcomes final : public law_subject {
 public:
  explicit numbered_outcomes(Function& function) : function_(function) {}
  [[nodiscard]] std::uint32_t run(uniform_script& script) override {
    return numbers_.try_emplace(function_(scripted_source(script)), static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }
  [[nodiscard]] const std::map<Outcome, std::uint32_t>& numbers() const { return numbers_; }

 private:
  Function& function_;
  std::map<Outcome, std::uint32_t> numbers_{};
};

SPECVERIFY_NAMESPACE_END

#endif
