// SPDX-License-Identifier: Apache-2.0
//! Reads and writes the JSON of a safetensors header. The reader is not a complete JSON parser, because a header
//! contains only objects, strings without escapes, and arrays of integers.
#ifndef SPECVERIFY_DECISION_HEAD_DETAIL_HEADER_TEXT_HPP
#define SPECVERIFY_DECISION_HEAD_DETAIL_HEADER_TEXT_HPP

#include <specverify/core/detail/decimal.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! A cursor over header text. If a step fails, the text is invalid, and `at()` is the index of the offending byte.
class header_reader {
 public:
  explicit constexpr header_reader(std::string_view text) noexcept : text_(text) {}

  [[nodiscard]] constexpr std::size_t at() const noexcept { return at_; }
  constexpr void skip_space() noexcept {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  [[nodiscard]] constexpr bool ended() noexcept {
    skip_space();
    return at_ == text_.size();
  }
  [[nodiscard]] constexpr bool symbol(char wanted) noexcept {
    skip_space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] constexpr std::optional<std::string_view> string() noexcept {
    if (!symbol('"')) return std::nullopt;
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' || static_cast<unsigned char>(text_[at_]) < 0x20) return std::nullopt;
      ++at_;
    }
    if (at_ == text_.size()) return std::nullopt;
    return text_.substr(first, at_++ - first);
  }
  [[nodiscard]] constexpr std::optional<std::uint64_t> number() noexcept {
    skip_space();
    const std::size_t first = at_;
    std::uint64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - first < 18)
      value = value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
    if (at_ == first || (at_ - first > 1 && text_[first] == '0') ||
        (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'))
      return std::nullopt;
    return value;
  }
  //! Reads [a, b, ...] with at most out.size() numbers, and returns the number of numbers.
  [[nodiscard]] constexpr std::optional<std::size_t> numbers(std::span<std::uint64_t> out) noexcept {
    std::size_t count = 0;
    if (!symbol('[')) return std::nullopt;
    if (symbol(']')) return count;
    do {
      const auto value = count < out.size() ? number() : std::nullopt;
      if (!value) return std::nullopt;
      out[count++] = *value;
    } while (symbol(','));
    return symbol(']') ? std::optional(count) : std::nullopt;
  }
  //! Reads {"key": value, ...}. `value(key)` must read one value and return whether the value is valid.
  template <class ReadValue>
  [[nodiscard]] constexpr bool object(ReadValue value) noexcept {
    if (!symbol('{')) return false;
    if (symbol('}')) return true;
    do {
      const auto key = string();
      if (!key || !symbol(':') || !value(*key)) return false;
    } while (symbol(','));
    return symbol('}');
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

//! Writes text as bytes. `size` also counts bytes that do not fit, so a pass with an empty span computes the size.
class header_writer {
 public:
  explicit constexpr header_writer(std::span<std::byte> out) noexcept : out_(out) {}
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

  constexpr header_writer& text(std::string_view what) noexcept {
    for (const char c : what) {
      if (size_ < out_.size()) out_[size_] = static_cast<std::byte>(c);
      ++size_;
    }
    return *this;
  }
  template <class Number>
  header_writer& number(Number value) noexcept {  // writes the shortest decimal that reads back as the same number
    char buffer[64];
    const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof buffer, value);
    return text(std::string_view(buffer, static_cast<std::size_t>(end.ptr - buffer)));
  }

 private:
  std::span<std::byte> out_;
  std::size_t size_ = 0;
};

//! Reads exactly `out.size()` numbers separated by single spaces.
template <class Number>
[[nodiscard]] bool read_numbers(std::string_view text, std::span<Number> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool last = i + 1 == out.size();
    const std::size_t end = last ? text.size() : text.find(' ');
    const std::optional<Number> read =
        end == std::string_view::npos ? std::nullopt : number_from<Number>(text.substr(0, end));
    if (!read) return false;
    out[i] = *read;
    text.remove_prefix(last ? end : end + 1);
  }
  return text.empty();
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
