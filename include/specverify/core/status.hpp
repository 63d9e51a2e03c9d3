// SPDX-License-Identifier: Apache-2.0
//! Reports errors as values: an error code, the module that reports the error, and the index of the offending input.
//!
//! Guarantees: 8 bytes, trivially copyable, constexpr, no allocation, no exceptions. The numbers of the codes never
//!             change (core/errc.def).
//! Cost:       O(1).
//! See:        docs/algorithms/status.md, tests/unit/core/status_test.cpp
#ifndef SPECVERIFY_CORE_STATUS_HPP
#define SPECVERIFY_CORE_STATUS_HPP

#include <specverify/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#if __cplusplus >= 202002L
#include <span>
#endif

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {
//! Out of line, because an assertion in every `value()` would be long code. Does nothing if assertions are off.
[[gnu::cold]] inline void lacks_value() noexcept { SPECVERIFY_ASSERT(false, "result without a value"); }
}  // namespace detail
SPECVERIFY_NAMESPACE_END
SPECVERIFY_TYPES_BEGIN

enum class errc : std::uint16_t {
#define SPECVERIFY_ERRC(name, number, message) name = number,
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
};

//! The module that reports an error.
enum class part : std::uint16_t {
  core,
  row,
  distribution,
  sparsify,
  quantize,
  uncertainty,
  codec,
  link,
  verify,
  decision_head,
  policy,
  vocabulary,
  session,
  host
};

inline constexpr std::size_t status_text_size = 256;  //!< bytes for the text of any status and a zero byte

//! A line of text about a status, held by value. A zero byte follows the text.
struct status_text {
  char characters[status_text_size] = {};
  std::size_t size = 0;

  [[nodiscard]] SPECVERIFY_INLINE constexpr const char* c_str() const noexcept { return characters; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr std::string_view view() const noexcept { return {characters, size}; }
};

//! Outcome of an operation. `where` is an index (row, id, byte or position); each function documents which.
struct [[nodiscard]] status {
  errc code = errc::ok;
  part reporter = part::core;
  std::uint32_t where = 0;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE constexpr bool ok() const noexcept {
    return SPECVERIFY_LIKELY(code == errc::ok);
  }
  //! Returns a line for a log, for example "row_has_nan in row at 3: a row holds a NaN", or "ok". For refused_by_peer
  //! the text names the peer's code.
  [[nodiscard]] SPECVERIFY_INLINE constexpr status_text text() const noexcept;
  friend SPECVERIFY_INLINE constexpr bool operator==(status a, status b) noexcept {
    return a.code == b.code && a.reporter == b.reporter && a.where == b.where;
  }
};
static_assert(sizeof(status) == 8 && std::is_trivially_copyable_v<status>);

//! Storage of a result's value. std::optional takes several times as long to compile for each type.
template <class Value, bool Trivial = std::is_trivially_copyable_v<Value>>
class result_storage {
 public:
  SPECVERIFY_INLINE constexpr result_storage() noexcept : none_(0) {}
  SPECVERIFY_INLINE constexpr explicit result_storage(Value&& value) : value_(std::move(value)), some_(true) {}
  [[nodiscard]] SPECVERIFY_INLINE constexpr bool has_value() const noexcept { return some_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr Value& operator*() noexcept { return value_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr const Value& operator*() const noexcept { return value_; }

 private:
  union {
    char none_;
    Value value_;
  };
  bool some_ = false;
};

template <class Value>
class result_storage<Value, false> : public std::optional<Value> {
 public:
  using std::optional<Value>::optional;
};

//! A value, or the status that explains why there is none. The interface follows std::expected: `if (!made) return
//! made.error();`, `*made`, `made->size()`.
template <class Value>
class [[nodiscard]] result {
 public:
  using value_type = Value;
  using error_type = status;

  SPECVERIFY_INLINE constexpr result(status why) noexcept : status_(why) {}
  SPECVERIFY_INLINE constexpr result(Value value) noexcept(std::is_nothrow_move_constructible_v<Value>)
      : value_(std::move(value)) {}
  //! Constructs the value in place, because moving a large value is long code. Only for types that are not trivially
  //! copyable.
  template <class... Arguments>
  SPECVERIFY_INLINE constexpr explicit result(std::in_place_t, Arguments&&... arguments)
      : value_(std::in_place, std::forward<Arguments>(arguments)...) {}

  [[nodiscard]] SPECVERIFY_INLINE constexpr bool ok() const noexcept { return SPECVERIFY_LIKELY(value_.has_value()); }
  [[nodiscard]] SPECVERIFY_INLINE constexpr explicit operator bool() const noexcept { return ok(); }
  //! Returns the reason that there is no value, or ok if there is one.
  [[nodiscard]] SPECVERIFY_INLINE constexpr status error() const noexcept { return status_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr Value& value() & noexcept {
    if (!value_.has_value()) detail::lacks_value();
    return *value_;
  }
  [[nodiscard]] SPECVERIFY_INLINE constexpr const Value& value() const& noexcept {
    if (!value_.has_value()) detail::lacks_value();
    return *value_;
  }
  [[nodiscard]] SPECVERIFY_INLINE constexpr Value&& value() && noexcept {
    if (!value_.has_value()) detail::lacks_value();
    return std::move(*value_);
  }

  // As in std::expected: there must be a value.
  [[nodiscard]] SPECVERIFY_INLINE constexpr Value& operator*() & noexcept { return value(); }
  [[nodiscard]] SPECVERIFY_INLINE constexpr const Value& operator*() const& noexcept { return value(); }
  [[nodiscard]] SPECVERIFY_INLINE constexpr Value&& operator*() && noexcept { return std::move(*this).value(); }
  [[nodiscard]] SPECVERIFY_INLINE constexpr Value* operator->() noexcept { return &value(); }
  [[nodiscard]] SPECVERIFY_INLINE constexpr const Value* operator->() const noexcept { return &value(); }

 private:
  status status_{};
  result_storage<Value> value_{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the sentence for an error code, or "unknown error code" if errc.def does not list the number.
[[nodiscard]] constexpr const char* message(errc code) noexcept {
  switch (code) {
#define SPECVERIFY_ERRC(name, number, text) \
  case errc::name:                          \
    return text;
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  }
  return "unknown error code";
}

//! Returns the identifier of an error code, for logs.
[[nodiscard]] constexpr const char* name(errc code) noexcept {
  switch (code) {
#define SPECVERIFY_ERRC(identifier, number, text) \
  case errc::identifier:                          \
    return #identifier;
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
  }
  return "unknown";
}

//! Returns the name of a module, for logs.
[[nodiscard]] constexpr const char* name(part reporter) noexcept {
  constexpr const char* names[] = {"core", "row",    "distribution",  "sparsify", "quantize",   "uncertainty", "codec",
                                   "link", "verify", "decision_head", "policy",   "vocabulary", "session",     "host"};
  const auto index = static_cast<std::size_t>(reporter);
  return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown";
}

namespace detail {
[[nodiscard]] constexpr status_text text_of(status why) noexcept {
  char digits[11] = {};
  char* where = digits + 10;
  std::uint32_t rest = why.where;
  do *--where = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) != 0);
  const bool refused = why.code == errc::refused_by_peer;
  const char* const pieces[] = {name(why.code),
                                " in ",
                                name(why.reporter),
                                refused ? " with " : " at ",
                                refused ? name(static_cast<errc>(why.where)) : where,
                                ": ",
                                message(why.code)};
  status_text text;
  for (int i = 0; i < (why.ok() ? 1 : 7); ++i)
    for (const char* letter = pieces[i]; *letter != 0; ++letter) text.characters[text.size++] = *letter;
  return text;
}
}  // namespace detail

#if __cplusplus >= 202002L
//! Writes `why.text()` and a zero byte to `out`. The returned view does not contain the zero byte. Errors:
//! output_too_small (`where` = bytes that `out` must have).
[[nodiscard]] constexpr result<std::string_view> to_string(status why, std::span<char> out) noexcept {
  const status_text text = why.text();
  if (out.size() <= text.size)
    return status{errc::output_too_small, part::core, static_cast<std::uint32_t>(text.size + 1)};
  for (std::size_t i = 0; i <= text.size; ++i) out[i] = text.characters[i];
  return std::string_view(out.data(), text.size);
}
#endif  // C++20

SPECVERIFY_NAMESPACE_END
SPECVERIFY_TYPES_BEGIN

SPECVERIFY_INLINE constexpr status_text status::text() const noexcept { return detail::text_of(*this); }

SPECVERIFY_TYPES_END

#endif
