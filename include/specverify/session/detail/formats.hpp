// SPDX-License-Identifier: Apache-2.0
//! What a session asks of a draft format, how it names a row beyond its options, and a token with a law that it was
//! not drawn from.
#ifndef SPECVERIFY_SESSION_DETAIL_FORMATS_HPP
#define SPECVERIFY_SESSION_DETAIL_FORMATS_HPP

#include <specverify/codec/message_types.hpp>
#include <specverify/distribution/draft.hpp>
#include <specverify/policy/observation.hpp>
#include <specverify/session/options.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] constexpr bool carries_claims(law_format format) noexcept { return !carries_laws(format); }
[[nodiscard]] constexpr bool has_lattice(law_format format) noexcept {
  return has_support(format) || format == law_format::dense_lattice;
}

//! What a format does not say of L and l: what the plans of the window need at most, else the defaults.
constexpr void fill(draft_format& format, const draft_plan& most = {}) noexcept {
  if (format.max_draft_length == 0)
    format.max_draft_length = most.max_draft_length > default_draft_room ? most.max_draft_length : default_draft_room;
  if (has_lattice(format.format) && format.resolution == 0)
    format.resolution = most.resolution > 0 ? most.resolution : default_resolution;
}

//! What drafts in this format under this rule can be worth. Laws need an honest drafter; a scorer, tokens that the edge
//! commits alone, and tokens that were not drawn from the law that a rejection subtracts, are lossy.
[[nodiscard]] constexpr guarantee strength_of(const draft_format& format, wire_rule rule) noexcept {
  const attachment_format& attachments = format.attachments;
  if (rule == wire_rule::semantic || attachments.max_skipped > 0 || attachments.drafted_probability)
    return guarantee::lossy;
  return format.format == law_format::token_only ? guarantee::unconditional : guarantee::honest_drafter;
}

//! A row whose transform takes more workspace than that of the options is refused by the option's name.
[[nodiscard]] constexpr status named_truncation(status why, std::uint32_t at_truncation) noexcept {
  return why.code == errc::workspace_too_small ? status{errc::beyond_limit, part::session, at_truncation} : why;
}

//! A token with a law, as they travel. Only who drew the token knows whether it was from that law: never a `draft`.
class claim {
 public:
  static constexpr guarantee strength = guarantee::lossy;
  constexpr claim(token_id token, const law& claimed) noexcept : token_(token), law_(claimed) {}
  [[nodiscard]] constexpr token_id token() const noexcept { return token_; }
  [[nodiscard]] constexpr const law& source_law() const noexcept { return law_; }
  [[nodiscard]] constexpr claim rebound(const law& copy) const noexcept { return {token_, copy}; }

 private:
  token_id token_;
  law law_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
