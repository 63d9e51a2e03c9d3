// SPDX-License-Identifier: Apache-2.0
//! A peer that lies consistently: it claims a text of its own after the receiver's, with the right hash, in a round of
//! its choice, and delivers that text under the context that the receiver waits for.
#ifndef SPECVERIFY_TESTS_FUZZ_LIAR_HPP
#define SPECVERIFY_TESTS_FUZZ_LIAR_HPP

#include <specverify/codec/message.hpp>
#include <specverify/codec/prefix_hash.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace specverify_fuzz {

using namespace specverify;

class liar {
 public:
  //! Where the receiver stands.
  struct target {
    std::uint64_t session_id = 0;
    std::uint32_t epoch = 0, round = 0, agreed = 0;
    std::span<const token_id> text{};
  };

  //! Notes what the receiver's true peer says: its hello, whose terms a liar repeats.
  void hear(std::span<const std::byte> message) {
    if (const auto read = decode_hello(message)) hello_ = *read, hello_.fields = {}, has_hello_ = true;
  }

  //! One message to the receiver. `next` gives the script's bytes.
  template <class Next>
  [[nodiscard]] std::vector<std::byte> message(const target& to, const wire_format& format, Next next) {
    std::vector<std::byte> out(1024);
    const std::size_t written = write(to, format, next, out);
    out.resize(written);
    return out;
  }

 private:
  template <class Next>
  std::size_t write(const target& to, const wire_format& format, Next next, std::span<std::byte> out) {
    const unsigned what = next();
    if (what % 8 < 3) return greet(to, what % 8 == 0, next, out);
    wire_context at = place(to, to.agreed, to.round);
    at.transmission = static_cast<std::uint8_t>(next() % 16);
    const auto size = [](const auto& written) { return written.ok() ? written->size() : 0; };
    if (what % 8 < 6) {  // text, in the round that was claimed or in the receiver's
      if (what & 8) at.round = round_;
      const std::span<const token_id> rest = rest_of(to, next);
      return size(
          encode_text(at, format, {to.agreed, rest.first(std::min<std::size_t>(rest.size(), 1 + next() % 5))}, out));
    }
    if (what % 8 == 6) {
      const auto drafted = static_cast<std::uint32_t>(next() % (format.max_draft_length + 1));
      const auto accepted = static_cast<std::uint32_t>(next() % (drafted + 1));
      const token_id added = token(format, next());
      const auto stop = static_cast<std::uint8_t>(next() % feedback_stop_count);
      return size(encode_feedback(at, format, drafted, {accepted, added, 1, stop}, out));
    }
    const wire_context end{to.session_id, to.epoch, 0, 0, 0, at.transmission};
    const auto cause = static_cast<stop_cause>(next() % 5);
    return size(encode_stop(end, {cause, to.agreed, at.prefix_hash}, out));
  }

  //! A hello or resume that claims some of the liar's text.
  template <class Next>
  std::size_t greet(const target& to, bool says_hello, Next next, std::span<std::byte> out) {
    (void)rest_of(to, next);
    const auto all = static_cast<std::uint32_t>(text_.size());
    const std::uint32_t length = next() % 3 == 0 ? next() % (all + 1) : all;
    round_ = round_near(to.round, next());
    wire_context claimed = place(to, length, round_);
    claimed.epoch = std::min(max_wire_epoch, to.epoch + next() % 2);
    claimed.transmission = static_cast<std::uint8_t>(next() % 16);
    if (!says_hello || !has_hello_) {
      const auto written = encode_resume({claimed}, out);
      return written.ok() ? written->size() : 0;
    }
    hello_message hello = hello_;
    hello.context = claimed;
    if (next() % 4 == 0) hello.prompt_length = std::min(length, 1u);
    const auto written = encode_hello(hello, out);
    return written.ok() ? written->size() : 0;
  }

  [[nodiscard]] static std::uint32_t round_near(std::uint32_t round, unsigned choice) {
    const std::array<std::uint32_t, 8> rounds{round, round + 1, round == 0 ? 0 : round - 1, round + choice / 8, 1,
                                              0,     1u << 31,  (1u << 31) - choice / 8 % 4};
    return rounds[choice % rounds.size()];
  }

  //! The context of a place in the liar's text.
  [[nodiscard]] wire_context place(const target& to, std::uint32_t length, std::uint32_t round) const {
    const std::span<const token_id> text = length <= to.text.size() ? to.text : std::span<const token_id>(text_);
    return {to.session_id, to.epoch, round, length, prefix_hash(text.first(length)), 0};
  }

  [[nodiscard]] static token_id token(const wire_format& format, unsigned choice) {
    return static_cast<token_id>(choice % format.vocab_size);
  }

  //! The liar's text behind what the receiver has. Another one where the receiver has gone another way.
  template <class Next>
  [[nodiscard]] std::span<const token_id> rest_of(const target& to, Next next) {
    const std::span<const token_id> known = to.text.first(to.agreed);
    const bool goes_on = text_.size() > known.size() && std::equal(known.begin(), known.end(), text_.begin());
    if (!goes_on) {
      text_.assign(known.begin(), known.end());
      for (unsigned more = 1 + next() % 12; more > 0; --more) text_.push_back(static_cast<token_id>(next() % 12));
    }
    return std::span<const token_id>(text_).subspan(known.size());
  }

  hello_message hello_{};
  std::vector<token_id> text_;
  std::uint32_t round_ = 0;
  bool has_hello_ = false;
};

}  // namespace specverify_fuzz

#endif
