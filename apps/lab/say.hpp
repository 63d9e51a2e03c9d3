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

//! Returns "-3.1 % [-5.2, -1]" for a change given as a share. If no sample differs, the words say so instead of an
//! interval of no width.
[[nodiscard]] inline std::string change_text(const estimate& e) {
  const std::string value = (e.value > 0 ? "+" : "") + number(100 * e.value, 3) + " %";
  if (e.low == e.high) return value + " (the same in every sample)";
  return value + " [" + number(100 * e.low, 3) + ", " + number(100 * e.high, 3) + "]";
}

//! Margin within which two results are equivalent: 3 points of the problems, or 3 % of a speed. It was set before any
//! result was read.
inline constexpr double margin_of_equivalence = 0.03;

//! Returns the same change seen from the other side: a change of a time, of which less is better, becomes a gain.
[[nodiscard]] inline estimate reversed(const estimate& e) { return {-e.value, -e.high, -e.low}; }

//! Compares two systems by the interval of their difference and a margin that was stated before: "equivalent" (the
//! whole interval is inside the margin), "better", "worse", or "not shown". `margin` > 0, in the unit of `difference`,
//! which must be positive where ours is better.
[[nodiscard]] inline std::string against(const estimate& difference, double margin = margin_of_equivalence) {
  if (difference.low >= -margin && difference.high <= margin) return "equivalent";
  return by_sign(difference, "worse", "not shown", "better");
}

//! Adds a check that states the sign of a gain on the problems that choose (`tuned`), and fails if the sign is reversed
//! on the problems that report (`tested`). The sign counts only if its interval does not contain zero.
inline void require_sign(figure& f, const std::string& what, const estimate& tuned, const estimate& tested) {
  const bool reversed_sign = (tuned.low > 0 && tested.high < 0) || (tuned.high < 0 && tested.low > 0);
  f.require(what + ": " + by_sign(tuned, "less", "no sign", "more") + " on tune, not reversed on test", !reversed_sign,
            "tune " + change_text(tuned) + ", test " + change_text(tested));
}

//! Compares a measured change with the range that a paper prints. Both must be shares, with `low` and `high` on one
//! side of zero and 0 < |low|.
[[nodiscard]] inline std::string standing(const estimate& measured, double low, double high) {
  if (low < 0) return standing(reversed(measured), -high, -low);
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
