// SPDX-License-Identifier: Apache-2.0
//! Turns one row of the drafter's logits into the distribution of a draft, in the session's format and with the edge's
//! sparsifier, window and skip policy.
#ifndef SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP
#define SPECVERIFY_SESSION_DETAIL_DRAFTER_HPP

#include <specverify/distribution/draft_block.hpp>
#include <specverify/quantize/claim.hpp>
#include <specverify/session/detail/parts.hpp>
#include <specverify/session/detail/session_terms.hpp>
#include <specverify/session/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

class drafter {
 public:
  held_parts parts;
  parts_facts facts;

  drafter(const edge_options& options, const parts_facts& of_parts, held_parts&& held)
      : parts(std::move(held)),
        facts(of_parts),
        format_(facts.format),
        races_(options.noise != noise_kind::none),
        reading_space_(digest_workspace_size(format_.vocab_size, options.transform, wanted(facts.widest)) +
                       workspace_alignment),
        scratch_(facts.law_bytes + (facts.needs_uncertainty
                                        ? perturbation_workspace_size(format_.vocab_size) + workspace_alignment
                                        : 0)) {}

  //! Returns whether the window's budget cut the support of the last distribution.
  [[nodiscard]] bool is_clamped() const noexcept { return kept_.cut; }
  //! Returns the number of tokens that the sparsifier kept for the last distribution; 0 if the format has no support.
  [[nodiscard]] std::uint32_t support_size() const noexcept { return has_support(format_.format) ? kept_.size() : 0; }

  //! Plans a round. K and l of the plan apply to the distributions of the round; `set_resolution` can change l.
  [[nodiscard]] draft_plan plan(const observation& seen) noexcept {
    const draft_plan made = parts->plan(seen);
    format_.resolution = made.resolution;
    return made;
  }
  //! Sets l, which must be at most the l of the format.
  void set_resolution(std::uint32_t resolution) noexcept { format_.resolution = resolution; }

  //! Reads the row, with the results that a distribution in this format needs. The reading is valid until the next
  //! call.
  [[nodiscard]] status read(any_row& row, const std::byte* state) noexcept {
    workspace scratch{std::span<std::byte>(reading_space_)};
    const status why = row.read(wanted(parts->request(state)), scratch);
    return why.ok() ? why : named_truncation(why, edge_options::at_truncation);
  }

  //! Returns the distribution of the next draft, whose arrays are valid until the next call. Advances `state` past this
  //! position.
  [[nodiscard]] result<law> draft(any_row& row, std::byte* state) noexcept {
    workspace scratch = law_space();
    const auto made = make_law_of(row, state, scratch);
    if (!made) return made.error();
    drafted_ = made->drafted;
    if (format_.format != law_format::top_k_tail) drafted_.vocab_size = format_.vocab_size;
    if (const status why = keep(made->kept); !why.ok()) return why;
    return drafted_;
  }

  //! Like `draft`, but for a token that was drawn from the row. Also returns the token's probability in the row, which
  //! is sent with the distribution.
  [[nodiscard]] result<drafted_claim> claim_law(const row_summary& row, std::byte* state,
                                                const drawn_token& drawn) noexcept {
    workspace scratch = law_space();
    const result<support> kept = parts->select(row, &drawn, state, scratch);
    if (!kept) return kept.error();
    auto made = make_claim(row, *kept, drawn.token, law_options(), scratch);
    if (!made) return made;
    if (const status why = keep(*kept); !why.ok()) return why;
    const law& from = made->claimed;
    if (from.size > facts.most_kept + 1) return status{errc::support_too_large, part::session, from.size};
    const auto whole = make_law({from.ids, from.size}, {from.counts, from.size}, format_.vocab_size, from.tail_count);
    if (!whole) return whole.error();
    made->claimed = *whole;
    return made;
  }

  //! Records a token that was drawn from the row, but whose distribution is not sent. A sparsifier that learns must
  //! still process the position.
  [[nodiscard]] status pass(const row_summary& row, std::byte* state) noexcept {
    if (facts.state_bytes == 0) return {};
    workspace scratch = law_space();
    const result<support> kept = parts->select(row, nullptr, state, scratch);
    return kept ? keep(*kept) : kept.error();
  }

  //! Returns the probability of a token in the last row, before quantization (fp16_row: after rounding to half
  //! precision); 0 if the token is not in the support. O(log K).
  [[nodiscard]] float probability(token_id token) const noexcept {
    if (format_.format == law_format::fp16_row)
      return static_cast<float>(drafted_.count(token)) / static_cast<float>(drafted_.resolution);
    if (kept_.total_weight == 0) return 0;
    const auto place = std::lower_bound(kept_.ids.begin(), kept_.ids.end(), token);
    if (place == kept_.ids.end() || *place != token) return 0;
    const std::uint32_t weight = kept_.weights[static_cast<std::size_t>(place - kept_.ids.begin())];
    return static_cast<float>(static_cast<double>(weight) / static_cast<double>(kept_.total_weight));
  }

  //! Makes the skip policy's measurements for `token`, which was drawn from the row. Errors: the errors of the
  //! measurement.
  [[nodiscard]] result<skip_observation> observe(any_row& row, token_id token, std::span<const float> attention,
                                                 const uniforms<>& random) noexcept {
    workspace scratch{std::span<std::byte>(scratch_).subspan(facts.law_bytes)};
    return observation_of(facts.needs_attention ? attention : std::span<const float>{}, facts.needs_uncertainty,
                          facts.needs_coin, random,
                          [&]() noexcept { return row.perturb(token, facts.perturbation, random, scratch); });
  }

 private:
  [[nodiscard]] draft_law_options law_options() const noexcept { return {format_.format, format_.resolution}; }
  [[nodiscard]] workspace law_space() noexcept {
    return workspace{std::span<std::byte>(scratch_).first(facts.law_bytes)};
  }

  //! Returns the request for the next reading: `support`, which is the sparsifier's request, and the results that the
  //! format and the skip policy need.
  [[nodiscard]] read_request wanted(const read_request& support) const noexcept {
    read_request made = law_request(format_.vocab_size, support, law_options());
    const bool laws = carries_laws(format_.format) && format_.format != law_format::fp16_row;
    if (facts.needs_probabilities && laws) [[unlikely]]
      made.integer_total = true;
    if (races_) made.top_entries = race_request(format_.vocab_size).top_entries;
    if (format_.attachments.drafted_probability) [[unlikely]]
      made.top_entries = format_.vocab_size;
    made.sums |= format_.attachments.drafted_probability || facts.needs_uncertainty;
    return made;
  }

  [[nodiscard]] result<draft_law> make_law_of(any_row& row, std::byte* state, workspace& scratch) const noexcept {
    if (format_.format != law_format::fp16_row) [[likely]] {
      const auto select = [&]() noexcept { return parts->select(row.summary(), nullptr, state, scratch); };
      return law_of_support(row.summary(), select, law_options(), scratch);
    }
    const result<law> made = row.in_fp16(scratch);
    if (!made) return made.error();
    return draft_law{*made, {}};
  }

  //! Stores the support of this position. Errors: support_too_large.
  [[nodiscard]] status keep(const support& kept) noexcept {
    kept_ = kept;
    const bool fits = !has_support(format_.format) || kept.size() <= facts.most_kept + 1;
    return fits ? status{} : status{errc::support_too_large, part::session, kept.size()};
  }

  wire_format format_;
  bool races_;
  untouched_memory<std::byte> reading_space_;
  untouched_memory<std::byte> scratch_;  // used first for the distribution, then for the skip policy's measurement
  support kept_{};
  law drafted_{};
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
