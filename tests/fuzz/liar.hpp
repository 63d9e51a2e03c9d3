// SPDX-License-Identifier: Apache-2.0
//! A peer that lies consistently: it claims a text of its own after the receiver's, with the right hash, in a round of
//! its choice, and delivers that text piece by piece under checks that fit.
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
  //! Where the receiver stands. `nonce`: of the hello that it awaits an answer to, if it is an edge.
  struct target {
    std::uint64_t session_id = 0;
    std::uint32_t nonce = 0, round = 0, agreed = 0;
    std::span<const token_id> text{};
  };

  //! Notes what the receiver's true peer says: its hello, whose terms a liar repeats.
  void hear(std::span<const std::byte> message) {
    const auto read = decode_hello(message);
    if (!read) return;
    hello_ = *read;
    digest_ = last_verdict(*read).digest;
    hello_.fields = {};
    has_hello_ = true;
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
    if (what % 8 < 3 && has_hello_) return greet(to, next, out);
    const auto size = [](const auto& written) { return written.ok() ? written->size() : 0; };
    wire_place at = place(to, to.agreed, to.round);
    if (what % 8 < 6) {  // text behind the last piece, or what the receiver has; in the claimed round, or its own
      const std::span<const token_id> rest = rest_of(to, next);
      if ((what & 16) != 0 || sent_ < to.agreed || sent_ > text_.size()) sent_ = to.agreed;
      const std::span<const token_id> left = std::span<const token_id>(text_).subspan(sent_);
      const auto piece = left.first(std::min<std::size_t>(left.size(), 1 + next() % hello_.text_chunk));
      at = place(to, sent_, (what & 8) != 0 || rest.empty() ? round_ : to.round);
      sent_ += static_cast<std::uint32_t>(piece.size());
      return size(encode_text(at, format, hello_.text_chunk, piece, out));
    }
    if (what % 8 == 6) {
      const auto drafted = static_cast<std::uint32_t>(next() % (format.max_draft_length + 1));
      const auto accepted = static_cast<std::uint32_t>(next() % (drafted + 1));
      const token_id added = token(format, next());
      const auto stop = static_cast<std::uint8_t>(next() % feedback_stop_count);
      return size(encode_feedback(at, format, drafted, {accepted, added, 1, stop}, out));
    }
    return size(encode_stop({static_cast<stop_cause>(next() % 5), to.agreed, at.prefix_hash}, out));
  }

  //! A hello that claims some of the liar's text.
  template <class Next>
  std::size_t greet(const target& to, Next next, std::span<std::byte> out) {
    (void)rest_of(to, next);
    const auto all = static_cast<std::uint32_t>(text_.size());
    const std::uint32_t length = next() % 3 == 0 ? next() % (all + 1) : all;
    round_ = round_near(to.round, next());
    sent_ = to.agreed;
    hello_message hello = hello_;
    hello.session_id = to.session_id;
    hello.nonce = to.nonce;
    hello.round = round_;
    hello.length = length;
    hello.prefix_hash = place(to, length, round_).prefix_hash;
    if (next() % 4 == 0) hello.prompt_length = std::min(length, 1u);
    hello_fields fields;
    const auto stop = static_cast<std::uint8_t>(next() % 4), accepted = static_cast<std::uint8_t>(next() % 4);
    if (next() % 2 == 0) fields.add({next() % 2 == 0 ? to.round : round_, accepted, 1, stop, digest_});
    hello.fields = fields.bytes();
    const auto written = encode_hello(hello, out);
    return written.ok() ? written->size() : 0;
  }

  [[nodiscard]] static std::uint32_t round_near(std::uint32_t round, unsigned choice) {
    const std::array<std::uint32_t, 8> rounds{round, round + 1, round == 0 ? 0 : round - 1, round + choice / 8, 1,
                                              0,     1u << 31,  (1u << 31) - choice / 8 % 4};
    return rounds[choice % rounds.size()];
  }

  //! A place in the liar's text.
  [[nodiscard]] wire_place place(const target& to, std::uint32_t length, std::uint32_t round) const {
    const std::span<const token_id> text = length <= to.text.size() ? to.text : std::span<const token_id>(text_);
    return {prefix_hash(text.first(length)), round};
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
  std::uint32_t round_ = 0, digest_ = 0;
  std::uint32_t sent_ = 0;  // tokens of its text before the next piece
  bool has_hello_ = false;
};

}  // namespace specverify_fuzz

#endif
