// SPDX-License-Identifier: Apache-2.0
#ifndef SPECVERIFY_CORE_DETAIL_ENUM_SET_HPP
#define SPECVERIFY_CORE_DETAIL_ENUM_SET_HPP

#include <specverify/config.hpp>

#include <cstdint>
#include <initializer_list>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Stores a set of enumerators in one word. Each enumerator must be below 32.
template <class Value>
class enum_set {
 public:
  constexpr enum_set() noexcept = default;
  constexpr enum_set(std::initializer_list<Value> values) noexcept {
    for (const Value value : values) add(value);
  }
  [[nodiscard]] static constexpr enum_set all() noexcept {
    enum_set made;
    made.bits_ = ~std::uint32_t{0};
    return made;
  }
  constexpr void add(Value value) noexcept { bits_ |= std::uint32_t{1} << static_cast<unsigned>(value); }
  constexpr void remove(Value value) noexcept { bits_ &= ~(std::uint32_t{1} << static_cast<unsigned>(value)); }
  constexpr void add(const enum_set& others) noexcept { bits_ |= others.bits_; }
  [[nodiscard]] constexpr bool has(Value value) const noexcept {
    return (bits_ >> static_cast<unsigned>(value) & 1u) != 0;
  }
  [[nodiscard]] constexpr bool meets(const enum_set& others) const noexcept { return (bits_ & others.bits_) != 0; }
  friend constexpr bool operator==(const enum_set&, const enum_set&) noexcept = default;

 private:
  std::uint32_t bits_ = 0;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
