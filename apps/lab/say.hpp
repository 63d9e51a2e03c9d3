// SPDX-License-Identifier: Apache-2.0
//! Chooses phrases by the measured numbers, so that every sentence of the report is true for every run.
#ifndef SPECVERIFY_APPS_LAB_SAY_HPP
#define SPECVERIFY_APPS_LAB_SAY_HPP

#include "figure.hpp"
#include "measure.hpp"

namespace lab {

//! Returns one of three texts: the interval is below zero, contains zero, or is above zero.
[[nodiscard]] inline std::string by_sign(const estimate& e, const std::string& below, const std::string& level,
                                         const std::string& above) {
  return e.high < 0 ? below : e.low > 0 ? above : level;
}

//! Returns "-3.1 % [-5.2, -1]" for a change given as a share.
[[nodiscard]] inline std::string change_text(const estimate& e) {
  return (e.value > 0 ? "+" : "") + number(100 * e.value, 3) + " % [" + number(100 * e.low, 3) + ", " +
         number(100 * e.high, 3) + "]";
}

//! Compares a measured change with the range that a paper prints. Both must be shares, with `low` and `high` on one
//! side of zero and 0 < |low|.
[[nodiscard]] inline std::string standing(const estimate& measured, double low, double high) {
  if (low < 0) return standing({-measured.value, -measured.high, -measured.low}, -high, -low);
  if (measured.high < 0) return "not met: the sign is the opposite";
  if (measured.low <= 0) return "not met: the interval holds no change";
  if (measured.high < low) return "met in sign, smaller in size";
  if (measured.low > high) return "met in sign, larger in size";
  return "met";
}

//! Compares a measured value with a printed one: returns whether the interval contains it, and if not, on which side it
//! is.
[[nodiscard]] inline std::string standing(const estimate& measured, double printed) {
  return measured.high < printed  ? "lower than the paper's"
         : measured.low > printed ? "higher than the paper's"
                                  : "the paper's value is in the interval";
}
[[nodiscard]] inline std::string standing(double measured, double printed, double tolerance) {
  return std::fabs(measured - printed) <= tolerance ? "the same"
         : measured < printed                       ? "lower than the paper's"
                                                    : "higher than the paper's";
}

}  // namespace lab

#endif
