// SPDX-License-Identifier: Apache-2.0
//! Holds what the papers claim (data/claims.def), and the words for how a claim fares in a run of the lab.
#ifndef SPECVERIFY_APPS_LAB_CLAIMS_HPP
#define SPECVERIFY_APPS_LAB_CLAIMS_HPP

#include "measure.hpp"

#include <limits>
#include <string>
#include <string_view>

namespace lab {

struct claim {
  std::string_view id;         //!< "<paper>.<what>"
  std::string_view place;      //!< where the paper states it
  std::string_view statement;  //!< what the paper states
  std::string_view value;      //!< the value as printed
  std::string_view header;     //!< our header that does the work, below include/specverify, without .hpp
  double low = std::numeric_limits<double>::quiet_NaN();  //!< least value that the print allows; NaN: not a number
  double high = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] std::string_view paper() const { return id.substr(0, id.find('.')); }
};

inline constexpr claim claims[] = {
#include "data/claims.def"
};

//! Names a claim by its id. An id that data/claims.def lacks does not compile.
class claim_id {
 public:
  consteval claim_id(const char* id) : place_(find(id)) {}  // implicit, so that a figure writes the id alone

  [[nodiscard]] constexpr std::size_t place() const { return place_; }
  [[nodiscard]] constexpr const claim& operator*() const { return claims[place_]; }
  [[nodiscard]] constexpr const claim* operator->() const { return &claims[place_]; }

 private:
  static constexpr std::size_t find(std::string_view id) {
    for (std::size_t i = 0; i < std::size(claims); ++i) {
      if (claims[i].id == id) return i;
    }
    throw "data/claims.def has no claim with this id";
  }

  std::size_t place_;
};

//! How a claim fares.
enum class finding {
  met,          //!< our interval reaches the printed value, or the statement holds
  in_sign,      //!< only the direction is the same
  not_met,      //!< the direction is the opposite, or the interval holds no change
  shown_false,  //!< the statement is wrong by our derivation
  not_run       //!< no figure measures it, for the stated reason
};

[[nodiscard]] constexpr std::string_view text_of(finding v) {
  constexpr std::string_view texts[] = {"met", "in sign", "not met", "shown false", "not run"};
  return texts[static_cast<std::size_t>(v)];
}

[[nodiscard]] constexpr finding met_if(bool holds) { return holds ? finding::met : finding::not_met; }

//! Compares a measured interval with the values that the paper's print allows, from `low` to `high`. "In sign" needs a
//! printed value other than zero and an interval on the same side of zero.
[[nodiscard]] inline finding compared(const estimate& measured, double low, double high) {
  if (measured.low <= high && low <= measured.high) return finding::met;
  const bool same = (low > 0 && measured.low > 0) || (high < 0 && measured.high < 0);
  return same ? finding::in_sign : finding::not_met;
}

}  // namespace lab

#endif
