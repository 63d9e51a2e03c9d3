// SPDX-License-Identifier: Apache-2.0
//! From a drafter's row to the law that is sampled and sent: digest, support, counts, without the zeros, in one call.
//!
//! Paper:      Quantize-Sample-and-Verify (arXiv 2507.00605) and Conformal Sparsification for Bandwidth-Efficient
//!             Edge-Cloud Speculative Decoding (arXiv 2510.09942), the device's half of a round.
//! Symbols:    q = the row under its transform, X = kept, q^ = drafted = counts / l, l = resolution.
//! Guarantees: what `digest`, the sparsifier and the quantizer guarantee: the same law on every backend (bit-exact); no
//!             allocation; noexcept. Any sparsifier and any quantizer keep the target's law exact, because q^ is what
//!             is drawn from and what travels.
//! See:        docs/algorithms/draft_law.md, tests/unit/quantize/draft_law_test.cpp, benchmarks/bench_draft_law.cpp,
//!             examples/docs/draft_law.cpp
#ifndef SPECVERIFY_QUANTIZE_DRAFT_LAW_HPP
#define SPECVERIFY_QUANTIZE_DRAFT_LAW_HPP

#include <specverify/distribution/make_law.hpp>
#include <specverify/quantize/concepts.hpp>
#include <specverify/quantize/drop_zero.hpp>
#include <specverify/row/digest.hpp>
#include <specverify/sparsify/concepts.hpp>

SPECVERIFY_TYPES_BEGIN

struct draft_law_options {
  std::uint32_t resolution = 100;  //!< l in [1, 2^16]; larger is finer and costs more uplink bits
  //! keep the tokens of the support that got no count (the papers' own code sends them)
  bool keep_zeros = false;
};

//! All views lie in the workspace of the call.
struct draft_law {
  law drafted{};   //!< q^, what to draw from and to send
  support kept{};  //!< X with its weights: what a sparsifier's `advance` looks at
  row_digest digested{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Bytes of workspace that `make_draft_law` takes for a row of `vocab_size` entries.
template <sparsifier Sparsifier, quantizer Quantizer>
[[nodiscard]] constexpr std::size_t draft_law_workspace_size(std::uint32_t vocab_size, const row_transform& transform,
                                                             const Sparsifier& rule,
                                                             const typename Sparsifier::state_type& state,
                                                             const Quantizer&) noexcept {
  const read_request wanted = rule.request(state, vocab_size);
  const std::size_t support_bytes = rule.workspace_size(state, vocab_size);
  // A support has at most as many entries as bytes of its ids fit into its scratch.
  const std::size_t entries = support_bytes / (sizeof(token_id) + sizeof(std::uint32_t)) + 1;
  const auto size = static_cast<std::uint32_t>(entries < vocab_size ? entries : vocab_size);
  return digest_workspace_size(vocab_size, transform, wanted) + support_bytes + slice_bytes<std::uint32_t>(size) +
         Quantizer::workspace_size(size) + drop_zero_workspace_size(size);
}

//! Reads `row` once (as `digest` does) and makes the law of the next draft. `out` views arrays in `space`, which keeps
//! them: rewind it to where it was once the draft is pushed to a block. Errors: those of digest, select, quantize and
//! drop_zero, under their own part; workspace_too_small. On error `out` stays as it was and `space` gives back what was
//! taken.
template <execution_policy Policy, class Scalar, sparsifier Sparsifier, quantizer Quantizer>
[[nodiscard]] status make_draft_law(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                    const Sparsifier& rule, const typename Sparsifier::state_type& state,
                                    const Quantizer& quantizer, draft_law_options options, workspace& space,
                                    draft_law& out) noexcept {
  const std::size_t mark = space.mark();
  draft_law made;
  const auto steps = [&]() noexcept -> status {
    status done = digest(policy, row, transform, rule.request(state, row.valid_size()), space, made.digested);
    if (done.ok()) done = rule.select(made.digested, space, space, state, made.kept);
    if (!done.ok()) return done;
    workspace_slice slice;
    if (!space.take<std::uint32_t>(made.kept.size(), slice))
      return {errc::workspace_too_small, part::quantize, made.kept.size()};
    const std::span<std::uint32_t> counts = space.at<std::uint32_t>(slice);
    const auto quantized = quantizer.quantize(made.kept, options.resolution, counts, space);
    if (!quantized) return quantized.error();
    result<law> drafted = make_law(made.kept, *quantized);
    if (drafted && !options.keep_zeros) drafted = drop_zero(*drafted, space);
    if (drafted) made.drafted = *drafted;
    return drafted.error();
  };
  const status done = steps();
  if (done.ok()) {
    out = made;
  } else {
    space.rewind(mark);
  }
  return done;
}

SPECVERIFY_NAMESPACE_END

#endif
