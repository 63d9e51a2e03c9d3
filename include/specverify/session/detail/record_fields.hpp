// SPDX-License-Identifier: Apache-2.0
//! Snapshots as bytes of a journal, member by member: every byte is a value's, and none is padding.
//!
//! A snapshot type has `journal_fields(field, snapshot)`, which calls `field(member)` for each number, bool and array
//! of these, `field(member, last)` for an enum whose largest value is `last`, and `field.state(member)` for a
//! sparsifier's state. That, and a snapshot without such a function, is copied as it stands in memory.
#ifndef SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP
#define SPECVERIFY_SESSION_DETAIL_RECORD_FIELDS_HPP

#include <specverify/cpp20.hpp>

#include <specverify/core/numeric.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Bytes of a value without members of its own to name: a sparsifier's state.
template <class State>
inline constexpr std::size_t state_bytes = std::is_empty_v<State> ? 0 : sizeof(State);

//! Bytes between its members are zeros, where the compiler can clear them.
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

//! Adds up the bytes of the fields.
class field_counter {
 public:
  template <class T>
  constexpr void operator()(const T&) noexcept {
    bytes_ += sizeof(T);
  }
  template <class T, std::size_t Size>
  constexpr void operator()(const std::array<T, Size>&) noexcept {
    bytes_ += Size * sizeof(T);
  }
  template <class T>
  constexpr void operator()(const T&, T) noexcept {
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

//! Puts fields one behind the other, numbers little-endian.
class record_writer {
 public:
  explicit record_writer(std::byte* at) noexcept : at_(at) {}
  template <class T>
  void operator()(const T& value) noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      put(std::bit_cast<bits>(value), sizeof(T));
    } else {
      static_assert(std::is_integral_v<T>);
      put(static_cast<std::uint64_t>(value), sizeof(T));
    }
  }
  template <class T, std::size_t Size>
  void operator()(const std::array<T, Size>& values) noexcept {
    for (const T& value : values) (*this)(value);
  }
  template <class T>
  void operator()(const T& value, T) noexcept {
    put(static_cast<std::uint64_t>(value), sizeof(T));
  }
  template <class State>
  void state(const State& value) noexcept {
    store_state(value, at_);
    at_ += state_bytes<State>;
  }

 private:
  void put(std::uint64_t value, unsigned bytes) noexcept {
    numeric::store_le(at_, value, bytes);
    at_ += bytes;
  }
  std::byte* at_;
};

//! Takes them back. A bool other than 0 and 1, or an enum beyond its last value, is not `good`.
class record_reader {
 public:
  explicit record_reader(const std::byte* at) noexcept : at_(at) {}
  [[nodiscard]] bool good() const noexcept { return good_; }
  template <class T>
  void operator()(T& value) noexcept {
    const std::uint64_t bits = take(sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {
      good_ = good_ && bits <= 1;
      value = bits == 1;
    } else if constexpr (std::is_floating_point_v<T>) {
      using same_size = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      value = std::bit_cast<T>(static_cast<same_size>(bits));
    } else {
      static_assert(std::is_integral_v<T>);
      value = static_cast<T>(bits);
    }
  }
  template <class T, std::size_t Size>
  void operator()(std::array<T, Size>& values) noexcept {
    for (T& value : values) (*this)(value);
  }
  template <class T>
  void operator()(T& value, T last) noexcept {
    const std::uint64_t bits = take(sizeof(T));
    good_ = good_ && bits <= static_cast<std::uint64_t>(last);
    value = good_ ? static_cast<T>(bits) : T{};
  }
  template <class State>
  void state(State& value) noexcept {
    value = load_state<State>(at_);
    at_ += state_bytes<State>;
  }

 private:
  [[nodiscard]] std::uint64_t take(unsigned bytes) noexcept {
    const std::uint64_t value = numeric::load_le(at_, bytes);
    at_ += bytes;
    return value;
  }
  const std::byte* at_;
  bool good_ = true;
};

template <class Snapshot>
concept has_journal_fields = requires(field_counter& field, const Snapshot& snapshot) {
  journal_fields(field, snapshot);
};

template <class Snapshot>
[[nodiscard]] constexpr std::size_t snapshot_bytes() noexcept {
  if constexpr (has_journal_fields<Snapshot>) {
    field_counter field;
    const Snapshot any{};
    journal_fields(field, any);
    return field.bytes();
  } else {
    return sizeof(Snapshot);
  }
}
template <class Snapshot>
void store_snapshot(const Snapshot& snapshot, std::byte* at) noexcept {
  if constexpr (has_journal_fields<Snapshot>) {
    record_writer field(at);
    journal_fields(field, snapshot);
  } else {
    store_state(snapshot, at);
  }
}
//! False: a bool or an enum holds no value of its own.
template <class Snapshot>
[[nodiscard]] bool load_snapshot(Snapshot& snapshot, const std::byte* at) noexcept {
  if constexpr (has_journal_fields<Snapshot>) {
    record_reader field(at);
    journal_fields(field, snapshot);
    return field.good();
  } else {
    static_assert(std::is_trivially_copyable_v<Snapshot>);
    std::memcpy(static_cast<void*>(&snapshot), at, sizeof(Snapshot));
    return true;
  }
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
