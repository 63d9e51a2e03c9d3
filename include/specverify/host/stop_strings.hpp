// SPDX-License-Identifier: Apache-2.0
//! Finds the first stop string in the bytes of a text that comes token by token, also across token borders.
//!
//! Use it at the device, on committed text: at the first find keep the tokens before the string and end the session
//! with `edge.stop`. A stop token is cheaper where one token says the same: edge_options::stop_tokens.
//! Guarantees: O(1) amortized per byte and string; memory for the strings and for a few tokens; the same find however
//!             the bytes are divided into tokens.
//! See:        docs/algorithms/stop_strings.md, tests/unit/host/stop_strings_test.cpp,
//!             examples/docs/stop_strings.cpp
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
  //! Copies the strings; any number, also none. Errors: invalid_argument (`where` = index of an empty string).
  [[nodiscard]] static result<stop_strings> make(std::span<const std::string_view> strings) {
    stop_strings made;
    for (std::size_t i = 0; i < strings.size(); ++i) {
      if (strings[i].empty()) return status{errc::invalid_argument, part::host, static_cast<std::uint32_t>(i)};
      made.add(strings[i]);
    }
    return made;
  }

  //! Takes the bytes of the next token; some tokens have none. True: a string is found. Later tokens change nothing.
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
    // A later find begins within the last `longest_ - 1` bytes; tokens that end before them are kept whatever comes.
    std::size_t passed = 0;
    while (passed < ends_.size() && ends_[passed] + longest_ <= bytes_ + 1) ++passed;
    tokens_ += passed;
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(passed));
    return false;
  }

  [[nodiscard]] bool found() const noexcept { return found_; }
  //! Bytes that may be shown: all before the string. While none is found, all that cannot belong to one: the text but
  //! for its longest end that a string begins with.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    if (found_) return shown_;
    std::size_t held = 0;
    for (const pattern& one : patterns_) held = std::max(held, one.matched);
    return bytes_ - held;
  }
  //! Tokens of the text cut before the string: those whose bytes all come before it. While none is found, all tokens.
  [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_ + (found_ ? 0 : ends_.size()); }

 private:
  static constexpr std::uint64_t no_find = ~std::uint64_t{0};

  //! Bytes `begin .. begin + length` of `letters_`, and so many of `borders_`.
  struct pattern {
    std::size_t begin = 0;
    std::size_t length = 0;
    std::size_t matched = 0;  // the longest beginning of the string that the text ends with
  };

  stop_strings() = default;

  //! Borders of Knuth, Morris and Pratt: at i, the longest beginning that the first i + 1 bytes also end with.
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
  //! How much of the string the text ends with after one more byte.
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
  owned_memory<std::uint64_t> ends_;  // of the tokens that a find can still cut off: their bytes' end in the text
  std::uint64_t bytes_ = 0;
  std::uint64_t tokens_ = 0;  // before those of ends_
  std::uint64_t shown_ = no_find;
  std::size_t longest_ = 0;
  bool found_ = false;
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
