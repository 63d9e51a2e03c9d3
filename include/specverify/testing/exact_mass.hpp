// SPDX-License-Identifier: Apache-2.0
//! Adds and multiplies widths of intervals exactly. Each width is a multiple of 2^-53.
//!
//! Paper:      none; test kit.
//! Guarantees: only `value` rounds, to within one unit in the last place. O(digits); allocates.
//! See:        docs/algorithms/enumerate_law.md, tests/unit/testing/exact_mass_test.cpp
#ifndef SPECVERIFY_TESTING_EXACT_MASS_HPP
#define SPECVERIFY_TESTING_EXACT_MASS_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN

//! Number of values that a decision uniform can have.
inline constexpr std::uint64_t uniform_steps = std::uint64_t{1} << 53;

//! A number in [0, 2^53) with digits of base 2^53: digit 0 is the integer part, and digit i has the weight 2^(-53 i).
//! Addition and scaling are exact.
class exact_mass {
 public:
  exact_mass() = default;
  [[nodiscard]] static exact_mass one() {
    exact_mass unit;
    unit.digits_ = {1};
    return unit;
  }

  //! Returns this number times width / 2^53; `width` must be at most 2^53.
  [[nodiscard]] exact_mass scaled(std::uint64_t width) const {
    if (width == uniform_steps) return *this;
    exact_mass product;
    product.digits_.assign(digits_.size() + 1, 0);
    std::uint64_t carry = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) {
      wide_product term = multiply_wide(digits_[i], width);
      term.low += carry;
      if (term.low < carry) ++term.high;
      product.digits_[i + 1] = term.low & (uniform_steps - 1);
      carry = (term.high << 11) | (term.low >> 53);
    }
    product.digits_[0] = carry;
    product.trim();
    return product;
  }

  exact_mass& operator+=(const exact_mass& other) {
    if (digits_.size() < other.digits_.size()) digits_.resize(other.digits_.size(), 0);
    std::uint64_t carry = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) {
      const std::uint64_t sum = digits_[i] + (i < other.digits_.size() ? other.digits_[i] : 0) + carry;
      digits_[i] = i == 0 ? sum : sum & (uniform_steps - 1);
      carry = i == 0 ? 0 : sum >> 53;
    }
    trim();
    return *this;
  }

  friend bool operator==(const exact_mass& a, const exact_mass& b) { return a.digits_ == b.digits_; }

  //! Returns this number as a double, within one unit in the last place.
  [[nodiscard]] double value() const {
    double sum = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) sum = sum * 0x1.0p-53 + static_cast<double>(digits_[i]);
    return sum;
  }

 private:
  void trim() {
    while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
  }
  std::vector<std::uint64_t> digits_{};
};

SPECVERIFY_NAMESPACE_END

#endif
