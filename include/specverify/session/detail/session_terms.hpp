// SPDX-License-Identifier: Apache-2.0
//! Computes the terms of a session, which both sides must have in common, from the options and the format. Also derives
//! properties of a session from the terms.
#ifndef SPECVERIFY_SESSION_DETAIL_SESSION_TERMS_HPP
#define SPECVERIFY_SESSION_DETAIL_SESSION_TERMS_HPP

#include <specverify/codec/detail/terms_fields.hpp>
#include <specverify/codec/message_types.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/session/options.hpp>

#include <cstdint>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr bool carries_claims(law_format format) noexcept { return !carries_laws(format); }
//! Returns the strongest guarantee of drafts in this format under this rule. Formats with distributions need an honest
//! drafter. The text is lossy if there is a scorer, if tokens are skipped, or if tokens are not drawn from the
//! distribution that is sent.
[[nodiscard]] constexpr guarantee strength_of(const wire_format& format, wire_rule rule) noexcept {
  const attachment_format& attachments = format.attachments;
  if (rule == wire_rule::semantic || attachments.max_skipped > 0 || attachments.drafted_probability)
    return guarantee::lossy;
  return format.format == law_format::token_only ? guarantee::unconditional : guarantee::honest_drafter;
}

//! Returns `why`. But if a row's transform needs more workspace than the options' transform, returns beyond_limit with
//! `where` = `at_truncation`.
[[nodiscard]] constexpr status named_truncation(status why, std::uint32_t at_truncation) noexcept {
  return why.code == errc::workspace_too_small ? status{errc::beyond_limit, part::session, at_truncation} : why;
}

[[nodiscard]] constexpr bool streams(const session_terms& terms) noexcept { return terms.mode == session_mode::stream; }
//! Returns whether the rule compares drafts with the argmax and scores mismatches.
[[nodiscard]] constexpr bool compares(const session_terms& terms) noexcept {
  return terms.rule == wire_rule::semantic && !streams(terms);
}
[[nodiscard]] constexpr row_transform transform_of(const session_terms& terms) noexcept {
  row_transform made;
  made.temperature = terms.temperature;
  made.truncation = terms.truncation;
  return made;
}
[[nodiscard]] constexpr bool races(const session_terms& terms) noexcept { return terms.noise != noise_kind::none; }
//! Returns whether the rule needs the distributions of rows, and not only their argmax.
[[nodiscard]] constexpr bool reads_laws(const session_terms& terms) noexcept {
  return (terms.rule != wire_rule::greedy || races(terms)) && !compares(terms) && !transform_of(terms).greedy();
}
[[nodiscard]] constexpr bool laws_travel(const session_terms& terms) noexcept {
  return carries_laws(terms.format.format);
}
//! Returns the maximum length of the text, including the prompt. A budget of 0 sets no limit below `most`.
[[nodiscard]] constexpr std::uint32_t text_limit(std::uint32_t budget, std::uint32_t prompt_length,
                                                 std::uint32_t most) noexcept {
  return budget == 0 || std::uint64_t{prompt_length} + budget > most ? most : prompt_length + budget;
}

//! Returns the terms that the options determine. The other terms depend on the parts and the prompt.
[[nodiscard]] constexpr session_terms terms_of(const edge_options& options, const wire_format& format) noexcept {
  session_terms made;
  made.fingerprint_low = options.fingerprint.low;
  made.fingerprint_high = options.fingerprint.high;
  made.rule = options.rule;
  made.noise = options.noise;
  made.mode = options.mode;
  made.format = format;
  made.temperature = options.transform.temperature;
  made.truncation = options.transform.truncation;
  made.bonus = options.bonus;
  made.threshold = options.rule == wire_rule::semantic ? options.threshold : 0.0;
  made.text_chunk = options.text_chunk;
  return made;
}

//! Returns the number of bits of a check: the option's value, or the default for this transport.
[[nodiscard]] constexpr std::uint8_t wanted_check(std::uint8_t option, bool ordered_and_whole) noexcept {
  if (option != automatic_check) return option;
  return ordered_and_whole ? wire_format{}.check_bits : std::uint8_t{16};
}
[[nodiscard]] constexpr status check_bits_of(std::uint8_t option, std::uint32_t where) noexcept {
  const bool known = option == 0 || option == 8 || option == 16 || option == automatic_check;
  return known ? status{} : status{errc::invalid_argument, part::session, where};
}

//! Returns the option that determines a term, as a number for `where` (edge_options::at_*).
[[nodiscard]] constexpr std::uint32_t where_of(term id) noexcept {
  using options = edge_options;
  if (id <= term::fingerprint_high) return options::at_fingerprint;
  if (id >= term::temperature && id <= term::order) return options::at_transform;
  constexpr std::pair<term, std::uint32_t> known[] = {{term::rule, options::at_rule},
                                                      {term::mode, options::at_mode},
                                                      {term::vocab_size, options::at_vocab_size},
                                                      {term::resolution, options::at_resolution},
                                                      {term::support_size, options::at_support_size},
                                                      {term::max_draft_length, options::at_max_draft_length},
                                                      {term::token_budget, options::at_token_budget},
                                                      {term::bonus, options::at_bonus},
                                                      {term::threshold, options::at_threshold},
                                                      {term::text_chunk, options::at_text_chunk}};
  for (const auto& [of, where] : known)
    if (of == id) return where;
  return options::at_format;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
