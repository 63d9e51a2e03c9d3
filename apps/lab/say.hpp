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

//! Margin within which two results are equivalent: 3 points of the problems, or 3 % of a speed. It was set before any
//! result was read.
inline constexpr double margin_of_equivalence = 0.03;

//! Returns the same change seen from the other side: a change of a time, of which less is better, becomes a gain.
[[nodiscard]] inline estimate reversed(const estimate& e) { return {-e.value, -e.high, -e.low}; }

}  // namespace lab

#endif
