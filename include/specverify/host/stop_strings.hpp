// SPDX-License-Identifier: Apache-2.0
//! Finds the first stop string in a text that arrives token by token. A stop string can span several tokens.
//!
//! Use it on the device, on committed text: when it finds a string, keep the tokens before the string and call
//! `edge.stop`. If a single token marks the end, edge_options::stop_tokens is cheaper.
//! Guarantees: the result does not depend on how the bytes are divided into tokens. The text is not stored.
//! Cost:       O(1) amortized per byte and string; allocates.
//! See:        docs/algorithms/stop_strings.md, tests/unit/host/stop_strings_test.cpp
#ifndef SPECVERIFY_HOST_STOP_STRINGS_HPP
#define SPECVERIFY_HOST_STOP_STRINGS_HPP

#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>
#include <specverify/distribution/draft_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

class stop_strings {
 public:
  //! Copies the strings; there may be none. Errors: invalid_argument (`where` = index of an empty string).
  [[nodiscard]] static result<stop_strings> make(std::span<const std::string_view> strings) {
    stop_strings made;
    for (std::size_t i = 0; i < strings.size(); ++i) {
      if (strings[i].empty()) return status{errc::invalid_argument, part::host, static_cast<std::uint32_t>(i)};
      made.add(strings[i]);
    }
    return made;
  }

  //! Takes the bytes of the next token, which may be empty. Returns whether a string has been found. After that,
  //! further calls have no effect.
  bool take(std::string_view piece) {
    if (found_) return true;
    ends_.push_back(bytes_ + piece.size());
    for (const char byte : piece) {
      ++bytes_;
      for (pattern& one : patterns_) {
        one.matched = matched_with(one, byte);
        if (one.matched == one.length) shown_ = std::min(shown_, bytes_ - one.length);
      }
      if (shown_ != no_find) return finish();
    }
    // A string that is found later begins within the last `longest_ - 1` bytes, so tokens that end before these bytes
    // are always kept.
    std::size_t passed = 0;
    while (passed < ends_.size() && ends_[passed] + longest_ <= bytes_ + 1) ++passed;
    tokens_ += passed;
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(passed));
    return false;
  }

  [[nodiscard]] bool found() const noexcept { return found_; }
  //! Returns the number of bytes that may be shown: all bytes before the string that was found. Until a string is
  //! found, all bytes except the longest suffix of the text that begins a string.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    if (found_) return shown_;
    std::size_t held = 0;
    for (const pattern& one : patterns_) held = std::max(held, one.matched);
    return bytes_ - held;
  }
  //! Returns the number of tokens to keep: all tokens that end before the string that was found. Until a string is
  //! found, all tokens.
  [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_ + (found_ ? 0 : ends_.size()); }

 private:
  static constexpr std::uint64_t no_find = ~std::uint64_t{0};

  //! One string: bytes `begin .. begin + length` of `letters_`, with the same entries of `borders_`.
  struct pattern {
    std::size_t begin = 0;
    std::size_t length = 0;
    std::size_t matched = 0;  // the longest prefix of the string that is a suffix of the text
  };

  stop_strings() = default;

  //! Adds a string and its borders (Knuth, Morris, Pratt). Border i is the length of the longest proper prefix of the
  //! first i + 1 bytes that is also a suffix of these bytes.
  void add(std::string_view string) {
    const std::size_t begin = letters_.size();
    letters_.insert(letters_.end(), string.begin(), string.end());
    borders_.push_back(0);
    for (std::size_t i = 1, border = 0; i < string.size(); ++i) {
      while (border > 0 && string[border] != string[i]) border = borders_[begin + border - 1];
      border += string[border] == string[i] ? 1u : 0u;
      borders_.push_back(border);
    }
    patterns_.push_back({begin, string.size(), 0});
    longest_ = std::max(longest_, string.size());
  }
  //! Returns the length of the string's longest prefix that is a suffix of the text after one more byte.
  [[nodiscard]] std::size_t matched_with(const pattern& one, char byte) const noexcept {
    const char* const letters = letters_.data() + one.begin;
    std::size_t matched = one.matched;
    while (matched > 0 && letters[matched] != byte) matched = borders_[one.begin + matched - 1];
    return matched + (letters[matched] == byte ? 1u : 0u);
  }
  bool finish() noexcept {
    found_ = true;
    for (const std::uint64_t end : ends_) tokens_ += end <= shown_ ? 1u : 0u;
    return true;
  }

  owned_memory<pattern> patterns_;
  owned_memory<char> letters_;
  owned_memory<std::size_t> borders_;
  owned_memory<std::uint64_t> ends_;  // end of each token that may still be cut off, in bytes of the text
  std::uint64_t bytes_ = 0;
  std::uint64_t tokens_ = 0;  // tokens before the tokens in ends_
  std::uint64_t shown_ = no_find;
  std::size_t longest_ = 0;
  bool found_ = false;
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
