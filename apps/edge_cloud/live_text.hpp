// SPDX-License-Identifier: Apache-2.0
//! Prints a text while it grows. Colours show the origin of each token on a terminal, and marks show it in other
//! output.
#ifndef EDGE_CLOUD_LIVE_TEXT_HPP
#define EDGE_CLOUD_LIVE_TEXT_HPP

#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

namespace edge_cloud {

enum class token_kind {
  accepted,   //!< the edge drafted the token, and the cloud accepted it
  corrected,  //!< the cloud rejected a draft, and drew this token instead
  bonus,      //!< the cloud accepted all drafts, and added this token
  skipped,    //!< the edge committed the token without the cloud
  streamed    //!< the target generated the token without drafts
};

class live_text {
 public:
  explicit live_text(std::FILE* out) : out_(out), colours_(::isatty(::fileno(out)) == 1) {}

  static std::string legend(bool colours) {
    return colours ? "\x1b[32maccepted\x1b[0m  \x1b[1;31mcorrected\x1b[0m  \x1b[1;36mbonus\x1b[0m  \x1b[33mby the "
                     "edge\x1b[0m"
                   : "accepted  [corrected]  <bonus>  {by the edge}";
  }
  [[nodiscard]] std::string legend() const { return legend(colours_); }

  void note(std::string_view message) {
    std::fprintf(out_, "%s%.*s%s", colours_ ? "\x1b[2m" : "", static_cast<int>(message.size()), message.data(),
                 colours_ ? "\x1b[0m" : "");
    std::fflush(out_);
  }

  void token(token_kind kind, std::string_view piece) {
    std::string shown = open(kind);
    shown += piece;
    shown += close(kind);
    std::fputs(shown.c_str(), out_);
    std::fflush(out_);
  }

 private:
  [[nodiscard]] std::string open(token_kind kind) const {
    switch (kind) {
      case token_kind::accepted:
        return colours_ ? "\x1b[32m" : "";
      case token_kind::corrected:
        return colours_ ? "\x1b[1;31m" : "[";
      case token_kind::bonus:
        return colours_ ? "\x1b[1;36m" : "<";
      case token_kind::skipped:
        return colours_ ? "\x1b[33m" : "{";
      case token_kind::streamed:
        break;
    }
    return "";
  }
  [[nodiscard]] std::string close(token_kind kind) const {
    if (kind == token_kind::streamed) return "";
    if (colours_) return "\x1b[0m";
    return kind == token_kind::corrected ? "]"
           : kind == token_kind::bonus   ? ">"
           : kind == token_kind::skipped ? "}"
                                         : "";
  }

  std::FILE* out_;
  bool colours_;
};

}  // namespace edge_cloud

#endif
