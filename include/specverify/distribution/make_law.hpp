// SPDX-License-Identifier: Apache-2.0
//! Makes a checked `law` from ids and counts, from a support and counts, or as the point mass of one token.
//!
//! Guarantees: a returned `law` satisfies `check`. It is a view of the given arrays, or of arrays taken from the
//!             workspace. O(K), no allocation, noexcept. Law-exact.
//! See:        docs/algorithms/make_law.md, tests/unit/distribution/make_law_test.cpp
#ifndef SPECVERIFY_DISTRIBUTION_MAKE_LAW_HPP
#define SPECVERIFY_DISTRIBUTION_MAKE_LAW_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/distribution/support.hpp>

#include <span>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the `law` with these counts on these ids and `tail_count` on every other id. The resolution is the sum of
//! all counts. Zeros are allowed.
//! Errors: size_mismatch, and as for `check(law)`; a sum above 2^32 - 1 is invalid_resolution.
[[nodiscard, gnu::noinline]] constexpr result<law> make_law(std::span<const token_id> ids,
                                                            std::span<const std::uint32_t> counts,
                                                            std::uint32_t vocab_size,
                                                            std::uint32_t tail_count = 0) noexcept {
  if (ids.size() != counts.size()) return status{errc::size_mismatch, part::distribution, 0};
  if (vocab_size > max_vocab_size) return status{errc::vocabulary_too_large, part::distribution, 0};
  if (ids.size() > vocab_size) return status{errc::token_out_of_range, part::distribution, vocab_size};
  std::uint64_t sum = std::uint64_t{tail_count} * (vocab_size - ids.size());
  for (const std::uint32_t count : counts) sum += count;
  if (sum > ~std::uint32_t{0}) return status{errc::invalid_resolution, part::distribution, 0};
  law made;
  made.ids = ids.data();
  made.counts = counts.data();
  made.size = static_cast<std::uint32_t>(ids.size());
  made.tail_count = tail_count;
  made.resolution = static_cast<std::uint32_t>(sum);
  made.vocab_size = vocab_size;
  if (const status why = check(made); !why.ok()) return why;
  return made;
}

//! Returns the `law` with these counts, as a quantizer wrote them, on the ids of a support. Errors: as for the overload
//! with spans of ids; output_too_small (too few counts).
[[nodiscard]] constexpr result<law> make_law(const support& kept, std::span<const std::uint32_t> counts) noexcept {
  if (counts.size() < kept.ids.size()) return status{errc::output_too_small, part::distribution, kept.size()};
  return make_law(kept.ids, counts.first(kept.ids.size()), kept.vocab_size);
}

//! Returns the number of workspace bytes that `one_hot_law` takes and keeps.
[[nodiscard]] constexpr std::size_t one_hot_law_workspace_size() noexcept {
  return slice_bytes<token_id>(1) + slice_bytes<std::uint32_t>(1) + workspace_alignment;
}

//! Returns the point mass on one token: one count of 1, resolution 1. Use it for greedy drafting and for uplinks that
//! send only ids, because such drafts have no other distribution. The arrays remain in `scratch`.
//! Errors: token_out_of_range, vocabulary_too_large, workspace_too_small.
[[nodiscard]] inline result<law> one_hot_law(token_id token, std::uint32_t vocab_size, workspace& scratch) noexcept {
  if (vocab_size > max_vocab_size) return status{errc::vocabulary_too_large, part::distribution, 0};
  if (token < 0 || static_cast<std::uint32_t>(token) >= vocab_size)
    return status{errc::token_out_of_range, part::distribution, 0};
  workspace_scope scope(scratch);
  const auto ids = scratch.take<token_id>(1);
  const auto counts = scratch.take<std::uint32_t>(1);
  if (!ids || !counts) return status{errc::workspace_too_small, part::distribution, 1};
  scope.keep();
  ids->front() = token;
  counts->front() = 1;
  return make_law(*ids, *counts, vocab_size);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
