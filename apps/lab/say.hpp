// SPDX-License-Identifier: Apache-2.0
//! Words that follow measured numbers, so that no sentence of the report stands whatever a run gives.
#ifndef SPECVERIFY_EXAMPLES_LAB_SAY_HPP
#define SPECVERIFY_EXAMPLES_LAB_SAY_HPP

#include "figure.hpp"
#include "measure.hpp"

namespace lab {

//! One of three texts: the whole interval below zero, zero inside, the whole interval above.
[[nodiscard]] inline std::string by_sign(const estimate& e, const std::string& below, const std::string& level,
                                         const std::string& above) {
  return e.high < 0 ? below : e.low > 0 ? above : level;
}

//! "-3.1 % [-5.2, -1]" of a change given as a share.
[[nodiscard]] inline std::string change_text(const estimate& e) {
  return (e.value > 0 ? "+" : "") + number(100 * e.value, 3) + " % [" + number(100 * e.low, 3) + ", " +
         number(100 * e.high, 3) + "]";
}

//! Where a measured change stands against the range that a paper prints; both as shares, 0 < |low| and |high| on one
//! side of zero.
[[nodiscard]] inline std::string standing(const estimate& measured, double low, double high) {
  if (low < 0) return standing({-measured.value, -measured.high, -measured.low}, -high, -low);
  if (measured.high < 0) return "not met: the sign is the opposite";
  if (measured.low <= 0) return "not met: the interval holds no change";
  if (measured.high < low) return "met in sign, smaller in size";
  if (measured.low > high) return "met in sign, larger in size";
  return "met";
}

//! The same for a value: does its interval hold the printed one, and if not, on which side is it.
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
