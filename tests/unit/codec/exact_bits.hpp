// SPDX-License-Identifier: Apache-2.0
//! The oracle of the codec tests: binomials as whole numbers, digit by digit, and their logarithms.
#ifndef SPECVERIFY_TESTS_UNIT_CODEC_EXACT_BITS_HPP
#define SPECVERIFY_TESTS_UNIT_CODEC_EXACT_BITS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace specverify_test {

//! A natural number in base 2^32, the low digit first.
class whole_number {
 public:
  explicit whole_number(std::uint64_t value = 1)
      : digits_{static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)} {
    trim();
  }
  void multiply(std::uint32_t factor) {
    std::uint64_t carry = 0;
    for (std::uint32_t& digit : digits_) {
      carry += std::uint64_t{digit} * factor;
      digit = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) digits_.push_back(static_cast<std::uint32_t>(carry));
  }
  void divide(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) {
      rest = (rest << 32) | digits_[i];
      digits_[i] = static_cast<std::uint32_t>(rest / divisor);
      rest %= divisor;
    }
    trim();
  }
  void add(const whole_number& other) {
    if (digits_.size() < other.digits_.size()) digits_.resize(other.digits_.size());
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      carry += std::uint64_t{digits_[i]} + (i < other.digits_.size() ? other.digits_[i] : 0);
      digits_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) digits_.push_back(static_cast<std::uint32_t>(carry));
  }
  [[nodiscard]] bool operator==(const whole_number& other) const { return digits_ == other.digits_; }
  //! log2 to about 1e-15 relative.
  [[nodiscard]] double log2() const {
    double leading = 0;
    const std::size_t used = digits_.size() < 4 ? digits_.size() : 4;
    for (std::size_t i = 0; i < used; ++i) leading = leading * 4294967296.0 + digits_[digits_.size() - 1 - i];
    return std::log2(leading) + 32.0 * static_cast<double>(digits_.size() - used);
  }
  //! ceil(log2), exactly.
  [[nodiscard]] std::uint64_t ceil_log2() const {
    std::uint32_t top = digits_.back();
    bool power = (top & (top - 1)) == 0;
    for (std::size_t i = 0; i + 1 < digits_.size(); ++i) power = power && digits_[i] == 0;
    std::uint64_t bits = 32 * (digits_.size() - 1);
    for (; top != 0; top >>= 1) ++bits;
    return power ? bits - 1 : bits;
  }

 private:
  void trim() {
    while (digits_.size() > 1 && digits_.back() == 0) digits_.pop_back();
  }
  std::vector<std::uint32_t> digits_;
};

inline whole_number exact_binomial(std::uint32_t n, std::uint32_t k) {
  whole_number value(k <= n ? 1 : 0);
  for (std::uint32_t i = 0; i < k && k <= n; ++i) {
    value.multiply(n - i);
    value.divide(i + 1);
  }
  return value;
}

}  // namespace specverify_test

#endif
