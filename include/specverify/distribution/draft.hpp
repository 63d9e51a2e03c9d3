// SPDX-License-Identifier: Apache-2.0
//! Defines drafts: a draft is a token together with the distribution from which it was drawn.
//!
//! The types make it hard to verify a token against a different distribution. Only `draw` makes a `draft`, and only the
//! decoder makes a `received_draft`. Any code can make a `claimed_draft`, which has only an id, or an id and a count. A
//! `mismatched_draft`, whose token was drawn from a different distribution, can be passed only to rules that are
//! `lossy`.
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605): sample from the quantized distribution. Requirements
//!             COR-1, COR-2.
//! Guarantees: a draw uses exact integer arithmetic and is bit-exact. O(size); no allocation.
//! See:        docs/algorithms/draft.md, tests/unit/distribution/draft_test.cpp
#ifndef SPECVERIFY_DISTRIBUTION_DRAFT_HPP
#define SPECVERIFY_DISTRIBUTION_DRAFT_HPP

#include <specverify/core/uniforms.hpp>
#include <specverify/distribution/law.hpp>

SPECVERIFY_TYPES_BEGIN

struct draw_access;   // used by draw(), below
struct codec_access;  // defined in codec/, used only by the decoder

//! Promise of how closely the output follows the target's distribution (docs/guarantees.md). A combination has the
//! weakest guarantee of its parts.
enum class guarantee : std::uint8_t { lossy = 0, honest_drafter = 1, unconditional = 2 };

//! A token that this process drew from `source_law`. The `law` is a view, so the arrays must outlive the draft.
class draft {
 public:
  static constexpr guarantee strength = guarantee::honest_drafter;
  [[nodiscard]] SPECVERIFY_INLINE constexpr token_id token() const noexcept { return token_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr const law& source_law() const noexcept { return law_; }
  //! Returns the same draft with a view of a copy of the `law` (equal ids, counts and resolution), for containers that
  //! copy the arrays.
  [[nodiscard]] SPECVERIFY_INLINE constexpr draft rebound(const law& copy) const noexcept {
    return draft(token_, copy);
  }

 private:
  friend struct draw_access;
  SPECVERIFY_INLINE constexpr draft(token_id token, const law& from) noexcept : token_(token), law_(from) {}
  token_id token_;
  law law_;
};

//! A decoded token with its `law`. The token has a positive count, and the counts sum to the resolution.
class received_draft {
 public:
  static constexpr guarantee strength = guarantee::honest_drafter;
  [[nodiscard]] SPECVERIFY_INLINE constexpr token_id token() const noexcept { return token_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr const law& source_law() const noexcept { return law_; }
  [[nodiscard]] SPECVERIFY_INLINE constexpr received_draft rebound(const law& copy) const noexcept {
    return received_draft(token_, copy);
  }

 private:
  friend struct codec_access;
  SPECVERIFY_INLINE constexpr received_draft(token_id token, const law& from) noexcept : token_(token), law_(from) {}
  token_id token_;
  law law_;
};

//! A token without a complete distribution. If `count` is 0, the token counts as a point mass, which is lossless for
//! any drafter. Otherwise the token's probability is count / resolution, and the draft is lossless only for an honest
//! drafter (docs/guarantees.md). `strength` applies to a claim without a count.
struct claimed_draft {
  static constexpr guarantee strength = guarantee::unconditional;
  token_id token = no_token;
  std::uint32_t count = 0;
  std::uint32_t resolution = 0;
};

//! A token that was drawn from a different distribution than the distribution against which it is verified (baselines
//! that sample before they quantize or compress). Always lossy.
struct mismatched_draft {
  static constexpr guarantee strength = guarantee::lossy;
  token_id token = no_token;
  law claimed_law{};  //!< distribution that a rejection subtracts from the target's
  //! if `resolution` is above 0, the token is tested against its true probability, count / resolution
  std::uint32_t count = 0;
  std::uint32_t resolution = 0;  //!< 0: test against the probability in claimed_law
};

struct draw_access {
  [[nodiscard]] static SPECVERIFY_INLINE constexpr draft make(token_id token, const law& from) noexcept {
    return draft(token, from);
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Draws a token: draws an unbiased integer in [0, resolution), and then finds the token by a scan of the counts in
//! ascending order of ids. The `law` must satisfy `check` (asserted in part). O(size). Reads trial 0 of the stream, and
//! later trials only if the integer must be drawn again.
template <class Source>
[[nodiscard]] constexpr draft draw(const law& from, const uniform_stream<Source>& stream) noexcept {
  SPECVERIFY_ASSERT(from.resolution > 0, "draw from an empty law");
  std::uint64_t target = stream.integer(from.resolution);
  token_id next_unlisted = 0;
  for (std::uint32_t i = 0; i < from.size; ++i) {
    if (from.tail_count > 0) {
      const std::uint64_t gap = static_cast<std::uint64_t>(from.ids[i] - next_unlisted) * from.tail_count;
      if (target < gap) return draw_access::make(next_unlisted + static_cast<token_id>(target / from.tail_count), from);
      target -= gap;
      next_unlisted = from.ids[i] + 1;
    }
    if (target < from.counts[i]) return draw_access::make(from.ids[i], from);
    target -= from.counts[i];
  }
  SPECVERIFY_ASSERT(from.tail_count > 0, "the counts of a law do not sum to its resolution");
  return draw_access::make(next_unlisted + static_cast<token_id>(from.tail_count > 0 ? target / from.tail_count : 0),
                           from);
}

SPECVERIFY_NAMESPACE_END

#endif
