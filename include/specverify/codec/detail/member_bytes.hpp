// SPDX-License-Identifier: Apache-2.0
//! Writes and reads the members of a struct as consecutive bytes: the terms in a hello, and the snapshots in a journal.
//!
//! Call `field(member)` for a number, a bool or an array, `field(member, last)` for an enum whose largest value is
//! `last`, and `field.state(member)` for a sparsifier's state, which is copied as it is in memory. `terms_fields(field,
//! terms, prompt_length)` adds the terms of a session.
#ifndef SPECVERIFY_CODEC_DETAIL_MEMBER_BYTES_HPP
#define SPECVERIFY_CODEC_DETAIL_MEMBER_BYTES_HPP

#include <specverify/codec/detail/terms_fields.hpp>
#include <specverify/core/numeric.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

template <class Field, class... Members>
constexpr void each(Field& field, Members&... members) noexcept {
  (field(members), ...);
}

//! Stores two bools in one byte.
template <class Field, class Flag>
constexpr void both(Field& field, Flag& first, Flag& second) noexcept {
  auto marks = static_cast<std::uint8_t>((first ? 1 : 0) + (second ? 2 : 0));
  field(marks, std::uint8_t{3});
  if constexpr (!std::is_const_v<Flag>) {
    first = (marks & 1) != 0;
    second = (marks & 2) != 0;
  }
}

//! Bytes of a sparsifier's state, which is stored as a whole.
template <class State>
inline constexpr std::size_t state_bytes = std::is_empty_v<State> ? 0 : sizeof(State);

//! Stores a state. Padding between members is zero if the compiler can clear it.
template <class State>
void store_state(State state, std::byte* at) noexcept {
  static_assert(std::is_trivially_copyable_v<State>);
  if constexpr (!std::is_empty_v<State>) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(&state);
#endif
#endif
    std::memcpy(at, &state, sizeof(State));
  }
}
template <class State>
[[nodiscard]] State load_state(const std::byte* at) noexcept {
  State state{};
  if constexpr (!std::is_empty_v<State>) std::memcpy(static_cast<void*>(&state), at, sizeof(State));
  return state;
}

//! Counts the bytes of members.
class member_counter {
 public:
  template <class T, class... Facts>
  constexpr void operator()(const T&, const Facts&...) noexcept {
    bytes_ += sizeof(T);
  }
  template <class State>
  constexpr void state(const State&) noexcept {
    bytes_ += state_bytes<State>;
  }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

//! Writes members one after another, numbers little-endian.
class member_writer {
 public:
  explicit member_writer(std::byte* at) noexcept : at_(at) {}
  template <class T, class... Facts>
  void operator()(const T& value, const Facts&...) noexcept {
    numeric::store_le(at_, bits_of(value), sizeof(T));
    at_ += sizeof(T);
  }
  template <class T, std::size_t Size>
  void operator()(const std::array<T, Size>& values) noexcept {
    for (const T& value : values) (*this)(value);
  }
  template <class State>
  void state(const State& value) noexcept {
    store_state(value, at_);
    at_ += state_bytes<State>;
  }

 private:
  std::byte* at_;
};

//! Reads members back. A bool other than 0 and 1, an enum above the last value or a term out of range makes `good`
//! false, but the member keeps the old value. `why` returns the first such error; its `where` is correct only if the
//! bytes begin with the terms.
class member_reader {
 public:
  explicit member_reader(const std::byte* at) noexcept : begin_(at), at_(at) {}
  [[nodiscard]] bool good() const noexcept { return why_.ok(); }
  [[nodiscard]] status why() const noexcept { return why_; }
  template <class T>
  void operator()(T& value) noexcept {
    take(value, std::is_same_v<T, bool> ? up_to(true) : term_range{});
  }
  template <class T, std::size_t Size>
  void operator()(std::array<T, Size>& values) noexcept {
    for (T& value : values) (*this)(value);
  }
  template <class T>
  void operator()(T& value, T last) noexcept {
    take(value, up_to(last));
  }
  template <class T>
  void operator()(T& value, term, const char*, const term_range& range) noexcept {
    take(value, range);
  }
  template <class State>
  void state(State& value) noexcept {
    value = load_state<State>(at_);
    at_ += state_bytes<State>;
  }

 private:
  template <class T>
  void take(T& value, const term_range& range) noexcept {
    const std::uint64_t bits = numeric::load_le(at_, sizeof(T));
    const status why = range.check(bits, terms_at + static_cast<std::size_t>(at_ - begin_));
    if (why_.ok()) why_ = why;
    at_ += sizeof(T);
    if (!why.ok()) return;
    if constexpr (std::is_floating_point_v<T>) {
      value = std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(bits));
    } else {
      value = static_cast<T>(bits);
    }
  }
  const std::byte* begin_;
  const std::byte* at_;
  status why_{};
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
