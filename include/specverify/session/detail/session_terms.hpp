// SPDX-License-Identifier: Apache-2.0
//! The terms of a session, as a hello says them and as a journal holds them.
#ifndef SPECVERIFY_SESSION_DETAIL_SESSION_TERMS_HPP
#define SPECVERIFY_SESSION_DETAIL_SESSION_TERMS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/session/snapshot.hpp>

#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! What the edge's hello said and the cloud took; it holds as long as the session.
class session_terms {
 public:
  session_terms() noexcept = default;
  explicit session_terms(const hello_message& hello) noexcept
      : format_(hello.format),
        threshold_(hello.threshold),
        temperature_(hello.temperature),
        truncation_(hello.truncation),
        token_budget_(hello.token_budget),
        text_chunk_(hello.text_chunk),
        rule_(hello.rule),
        mode_(static_cast<session_mode>(hello.mode)),
        bonus_(hello.bonus) {}
  explicit session_terms(const recorded_terms& kept) noexcept
      : format_(kept.format.value()),
        threshold_(kept.threshold),
        temperature_(kept.temperature),
        truncation_(kept.truncation),
        token_budget_(kept.token_budget),
        text_chunk_(kept.text_chunk),
        rule_(kept.rule),
        mode_(kept.mode),
        bonus_(kept.bonus) {}

  [[nodiscard]] const wire_format& format() const noexcept { return format_; }
  [[nodiscard]] double threshold() const noexcept { return threshold_; }
  [[nodiscard]] wire_rule rule() const noexcept { return rule_; }
  //! After a draft that stands whole a token follows.
  [[nodiscard]] bool bonus() const noexcept { return bonus_; }
  [[nodiscard]] bool streams() const noexcept { return mode_ == session_mode::stream; }
  //! Drafts are compared and scored.
  [[nodiscard]] bool compares() const noexcept { return rule_ == wire_rule::semantic && !streams(); }
  //! Rows are read as laws, and not for their argmax alone.
  [[nodiscard]] bool reads_laws() const noexcept {
    return rule_ != wire_rule::greedy && !compares() && !transform().greedy();
  }
  [[nodiscard]] bool laws_travel() const noexcept { return carries_laws(format_.format); }
  [[nodiscard]] row_transform transform() const noexcept {
    row_transform made;
    made.temperature = temperature_;
    made.truncation = truncation_;
    return made;
  }
  //! Ids of the longest text message, of either side.
  [[nodiscard]] std::uint32_t text_chunk() const noexcept { return text_chunk_; }
  //! Prompt and budget within `most` tokens.
  [[nodiscard]] bool fit(std::uint32_t prompt_length, std::uint32_t most) const noexcept {
    return prompt_length <= most && token_budget_ <= most - prompt_length;
  }
  //! Tokens that the text may have.
  [[nodiscard]] std::uint32_t text_limit(std::uint32_t prompt_length, std::uint32_t most) const noexcept {
    return token_budget_ == 0 ? most : prompt_length + token_budget_;
  }
  void write(hello_message& hello) const noexcept {
    hello.rule = rule_;
    hello.threshold = threshold_;
    hello.bonus = bonus_;
    hello.mode = static_cast<std::uint8_t>(mode_);
    hello.token_budget = token_budget_;
    hello.text_chunk = text_chunk_;
    hello.format = format_;
    hello.temperature = temperature_;
    hello.truncation = truncation_;
  }
  void write(recorded_terms& kept) const noexcept {
    kept.format.hold(format_);
    kept.threshold = threshold_;
    kept.temperature = temperature_;
    kept.truncation = truncation_;
    kept.token_budget = token_budget_;
    kept.text_chunk = text_chunk_;
    kept.rule = rule_;
    kept.mode = mode_;
    kept.bonus = bonus_;
  }

 private:
  wire_format format_{};
  double threshold_ = 0.5;
  double temperature_ = 1.0;
  row_truncation truncation_{};
  std::uint32_t token_budget_ = 0;
  std::uint32_t text_chunk_ = 1;
  wire_rule rule_ = wire_rule::token;
  session_mode mode_ = session_mode::draft;
  bool bonus_ = true;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
