// SPDX-License-Identifier: Apache-2.0
//! Lists the terms of a session: the name and range of each term, in the order in which a hello and a journal contain
//! them.
#ifndef SPECVERIFY_CODEC_DETAIL_TERMS_FIELDS_HPP
#define SPECVERIFY_CODEC_DETAIL_TERMS_FIELDS_HPP

#include <specverify/codec/message_types.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

enum class term : std::uint8_t {
  fingerprint_low,
  fingerprint_high,
  strength,
  rule,
  mode,
  format,
  vocab_size,
  resolution,
  support_size,
  max_draft_length,
  pad_to,
  prompt_length,
  token_budget,
  temperature,
  top_k,
  top_p,
  min_p,
  order,
  bonus,
  threshold,
  hidden_size,
  hidden,
  hidden_with_draft,
  marks,
  max_skipped,
  text_chunk,
  none
};

inline constexpr std::size_t terms_at = 38;  // byte of the first term in hello

inline constexpr std::uint64_t bits_of_one = std::uint64_t{0x3ff} << 52;       // 1.0
inline constexpr std::uint64_t bits_of_infinity = std::uint64_t{0x7ff} << 52;  // larger patterns: NaN, or a sign

//! Returns the bits of a number, bool or enum, as they are sent.
template <class T>
[[nodiscard]] constexpr std::uint64_t bits_of(const T& value) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

inline constexpr std::uint32_t at_its_byte = ~std::uint32_t{0};

//! Bits that a term may have, and the error for other bits. By default `where` is the byte of the term in hello.
struct term_range {
  std::uint64_t least = 0;
  std::uint64_t most = ~std::uint64_t{0};
  errc code = errc::field_out_of_range;
  std::uint32_t where = at_its_byte;
  //! Checks the bits of the term whose first byte is `byte`.
  [[nodiscard]] constexpr status check(std::uint64_t bits, std::size_t byte) const noexcept {
    if (bits >= least && bits <= most) return {};
    return codec_error(code, where == at_its_byte ? byte : where);
  }
};
template <class T>
[[nodiscard]] constexpr term_range up_to(T last, errc code = errc::field_out_of_range,
                                         std::uint32_t where = at_its_byte) noexcept {
  return {0, bits_of(last), code, where};
}

//! Returns the flags of the attachments in one byte, as in a hello.
[[nodiscard]] constexpr std::uint8_t marks_of(const attachment_format& with) noexcept {
  return static_cast<std::uint8_t>((with.channel_report ? 1 : 0) + (with.resolution_with_draft ? 2 : 0) +
                                   (with.drafted_probability ? 4 : 0));
}
constexpr void set_marks(attachment_format& with, std::uint8_t marks) noexcept {
  with.channel_report = (marks & 1) != 0;
  with.resolution_with_draft = (marks & 2) != 0;
  with.drafted_probability = (marks & 4) != 0;
}

//! Calls `field(member, term, name, range)` for each term. Ranges that depend on several members of a format are
//! checked by `check(format)`. `Terms` is session_terms, `Length` a number; both may be const.
template <class Field, class Terms, class Length>
constexpr void terms_fields(Field& field, Terms& terms, Length& prompt_length) noexcept {
  auto& format = terms.format;
  auto& with = format.attachments;
  constexpr term_range any{};
  field(terms.fingerprint_low, term::fingerprint_low, "vocabulary fingerprint, low", any);
  field(terms.fingerprint_high, term::fingerprint_high, "vocabulary fingerprint, high", any);
  field(terms.strength, term::strength, "guarantee", up_to(guarantee::unconditional));
  field(terms.rule, term::rule, "rule", up_to(wire_rule::semantic));
  field(terms.mode, term::mode, "mode", up_to(session_mode::stream));
  field(format.format, term::format, "law format",
        up_to(law_format::top_k_tail, errc::invalid_argument, format.at_format));
  field(format.vocab_size, term::vocab_size, "V", any);
  field(format.resolution, term::resolution, "resolution ℓ", any);
  field(format.support_size, term::support_size, "support size K", any);
  field(format.max_draft_length, term::max_draft_length, "maximum drafts per message M", any);
  field(format.pad_to, term::pad_to, "pad_to", any);
  field(prompt_length, term::prompt_length, "prompt length", any);
  field(terms.token_budget, term::token_budget, "token budget", any);
  field(terms.temperature, term::temperature, "temperature", up_to(max_temperature, errc::invalid_temperature));
  field(terms.truncation.top_k, term::top_k, "top-k", any);
  field(terms.truncation.top_p, term::top_p, "top-p", term_range{1, bits_of_one, errc::invalid_truncation});
  field(terms.truncation.min_p, term::min_p, "min-p", up_to(1.0, errc::invalid_truncation));
  field(terms.truncation.order, term::order, "truncation order",
        up_to(truncation_order::top_p_then_top_k, errc::invalid_truncation));
  field(terms.bonus, term::bonus, "bonus", up_to(true));
  field(terms.threshold, term::threshold, "threshold",
        term_range{0, terms.rule == wire_rule::semantic ? bits_of_infinity - 1 : 0});
  field(with.hidden_size, term::hidden_size, "hidden size d", any);
  field(with.hidden, term::hidden, "hidden format",
        up_to(hidden_format::int8, errc::invalid_argument, format.at_attachments + with.at_hidden));
  field(with.hidden_with_draft, term::hidden_with_draft, "hidden states with each draft", up_to(true));
  auto marks = marks_of(with);
  field(marks, term::marks, "marks", up_to(std::uint8_t{7}));
  if constexpr (!std::is_const_v<Terms>) set_marks(with, marks);
  field(with.max_skipped, term::max_skipped, "maximum skipped ids per message S", any);
  field(terms.text_chunk, term::text_chunk, "maximum ids per text message C", term_range{1});
}

//! Finds the first term that is out of range.
class term_checker {
 public:
  template <class T>
  constexpr void operator()(const T& value, term id, const char*, const term_range& range) noexcept {
    if (why_.ok()) {
      why_ = range.check(bits_of(value), at_);
      found_ = why_.ok() ? term::none : id;
    }
    at_ += sizeof(T);
  }
  [[nodiscard]] constexpr term found() const noexcept { return found_; }
  [[nodiscard]] constexpr status why() const noexcept { return why_; }

 private:
  std::size_t at_ = terms_at;
  term found_ = term::none;
  status why_{};
};

//! Lists the bits of all terms, indexed by term.
class term_list {
 public:
  constexpr explicit term_list(const session_terms& terms) noexcept {
    const std::uint32_t no_prompt = 0;
    terms_fields(*this, terms, no_prompt);
  }
  template <class T>
  constexpr void operator()(const T& value, term id, const char*, const term_range&) noexcept {
    bits_[static_cast<std::size_t>(id)] = bits_of(value);
  }
  [[nodiscard]] constexpr std::uint64_t operator[](std::size_t id) const noexcept { return bits_[id]; }

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(term::none)> bits_{};
};

//! Returns a checker that holds the first term that is out of range, or `none`. It checks all terms, but not the
//! format.
[[nodiscard]] constexpr term_checker checked(const session_terms& terms, std::uint32_t prompt_length = 0) noexcept {
  term_checker checker;
  terms_fields(checker, terms, prompt_length);
  return checker;
}

//! Returns the first term in which two sessions differ. The guarantee is not compared, because each side may claim a
//! different guarantee. Two different kinds of noise are not a difference either, because the cloud chooses the kind.
[[nodiscard]] constexpr term difference(const session_terms& one, const session_terms& other) noexcept {
  const term_list a(one), b(other);
  for (std::size_t id = 0; id < static_cast<std::size_t>(term::none); ++id) {
    if (a[id] != b[id] && id != static_cast<std::size_t>(term::strength)) return static_cast<term>(id);
  }
  return (one.noise == noise_kind::none) == (other.noise == noise_kind::none) ? term::none : term::rule;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
