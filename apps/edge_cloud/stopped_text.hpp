// SPDX-License-Identifier: Apache-2.0
//! Determines the visible part of a text while it grows. The text ends before the first stop string, so bytes that may
//! belong to a stop string wait until later tokens decide that.
#ifndef EDGE_CLOUD_STOPPED_TEXT_HPP
#define EDGE_CLOUD_STOPPED_TEXT_HPP

#include <specverify/host/stop_strings.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace edge_cloud {

class stopped_text {
 public:
  //! None of the strings may be empty.
  explicit stopped_text(const std::vector<std::string>& strings)
      : ends_(*specverify::stop_strings::make(std::vector<std::string_view>(strings.begin(), strings.end()))) {}

  //! Takes the bytes of the next token. Returns the bytes that can be shown now; they are valid until the next call.
  [[nodiscard]] std::string_view take(std::string_view piece) {
    if (ended()) return {};
    (void)ends_.take(piece);
    text_ += piece;
    const std::size_t before = shown_;
    shown_ = static_cast<std::size_t>(ends_.bytes());
    if (ended()) text_.resize(shown_);
    return std::string_view(text_).substr(before, shown_ - before);
  }
  //! Returns the waiting bytes. If the text ends without a stop string, these bytes belong to the text.
  [[nodiscard]] std::string_view waiting() const { return std::string_view(text_).substr(shown_); }

  [[nodiscard]] bool ended() const noexcept { return ends_.found(); }
  //! Returns the shown and the waiting bytes.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  //! Returns the number of tokens whose bytes are all in the text.
  [[nodiscard]] std::size_t tokens() const noexcept { return static_cast<std::size_t>(ends_.tokens()); }

 private:
  specverify::stop_strings ends_;
  std::string text_;
  std::size_t shown_ = 0;
};

}  // namespace edge_cloud

#endif
