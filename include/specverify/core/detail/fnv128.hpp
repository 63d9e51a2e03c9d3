// SPDX-License-Identifier: Apache-2.0
//! Computes the 128-bit hash FNV-1a (Fowler, Noll, Vo; RFC 9923). The hash detects mistakes, but it does not protect
//! against forgery.
#ifndef SPECVERIFY_CORE_DETAIL_FNV128_HPP
#define SPECVERIFY_CORE_DETAIL_FNV128_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/cpp20.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

class fnv128 {
 public:
  //! Sets state = (state xor byte) * (2^88 + 0x13B) mod 2^128.
  constexpr void fold(std::uint8_t byte) noexcept {
    const std::uint64_t changed = low_ ^ byte;
    const wide_product product = multiply_wide(changed, 0x13Bu);
    high_ = product.high + high_ * 0x13Bu + (changed << 24);
    low_ = product.low;
  }
  //! Adds 4 bytes, the lowest first.
  constexpr void fold_number(std::uint32_t number) noexcept {
    for (int shift = 0; shift < 32; shift += 8) fold(static_cast<std::uint8_t>(number >> shift));
  }
  [[nodiscard]] constexpr std::uint64_t high() const noexcept { return high_; }
  [[nodiscard]] constexpr std::uint64_t low() const noexcept { return low_; }

 private:
  std::uint64_t high_ = 0x6C62272E07BB0142u;
  std::uint64_t low_ = 0x62B821756295C58Du;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
