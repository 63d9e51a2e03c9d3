// SPDX-License-Identifier: Apache-2.0
//! Code shared by all sparsifiers: gets the top entries of a row, and makes a support from the largest of
//! these entries.
#ifndef SPECVERIFY_SPARSIFY_DETAIL_TOP_ENTRIES_HPP
#define SPECVERIFY_SPARSIFY_DETAIL_TOP_ENTRIES_HPP

#include <specverify/kernel/scalar/select.hpp>
#include <specverify/sparsify/concepts.hpp>

#include <bit>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The top entries of a row: the first entries in the order (weight descending, id ascending), listed by ascending id.
struct top_view {
  std::span<const token_id> ids{};
  std::span<const std::uint32_t> weights{};
  std::uint64_t total_weight = 0;  // W, 0 if not requested
  double promised = 0;             // every id with at least this share of W is listed (0: no such guarantee)
  std::uint32_t smallest = 0;      // smallest listed weight
  std::uint32_t largest = 0;
  std::uint32_t vocab_size = 0;
  bool complete = false;

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ids.size()); }

  //! Returns whether every id with a weight of at least `least` is listed, under the assumption that W is `total`.
  [[nodiscard]] bool has_all_from(std::uint64_t least, std::uint64_t total) const noexcept {
    return complete || (size() > 0 && smallest < least) ||
           (promised > 0 && total > 0 && least_above(promised, total, vocab_size) <= least);
  }
};

//! Returns the top entries of a row. Errors: reading_expired.
[[nodiscard]] inline result<top_view> top_entries_of(const row_summary& row) noexcept {
  if (row.expired()) return status{errc::reading_expired, part::sparsify, 0};
  top_view view;
  view.ids = row.top_ids();
  view.weights = row.top_weights();
  view.vocab_size = row.vocab_size();
  view.complete = row.top_complete();
  view.total_weight = row.support_total();
  view.promised = row.minimum_probability();
  view.smallest = view.weights.empty() ? 0 : view.weights[0];
  for (const std::uint32_t weight : view.weights) {
    view.smallest = weight < view.smallest ? weight : view.smallest;
    view.largest = weight > view.largest ? weight : view.largest;
  }
  return view;
}

//! Returns the maximum number of top entries that a reading with this request can have.
[[nodiscard]] constexpr std::uint32_t top_bound(const read_request& request, std::uint32_t vocab_size) noexcept {
  const std::uint32_t wanted = request.top_entries < vocab_size ? request.top_entries : vocab_size;
  if (request.minimum_probability <= 0) return wanted;
  const std::uint32_t listed = most_above(request.minimum_probability, vocab_size);
  return wanted > listed ? wanted : listed;
}

//! Returns the bytes of workspace that a support of at most `size` entries takes.
[[nodiscard]] constexpr std::size_t support_bytes(std::uint32_t size) noexcept {
  return slice_bytes<token_id>(size) + slice_bytes<std::uint32_t>(size) + workspace_alignment;
}

//! Returns the first `count` top_entries in the order (weight descending, id ascending), as a support in `scratch`.
[[nodiscard]] inline result<support> keep_largest(const top_view& from, std::uint32_t count,
                                                  workspace& scratch) noexcept {
  workspace_scope scope(scratch);
  const auto ids = scratch.take<token_id>(count);
  const auto weights = scratch.take<std::uint32_t>(count);
  if (!ids || !weights) return status{errc::workspace_too_small, part::sparsify, count};
  scope.keep();
  kernel::order_cut cut;
  if (count < from.size()) cut = kernel::radix_cut(from.weights.data(), from.size(), count, false);
  (void)kernel::apply_cut(cut, from.ids.data(), from.weights.data(), from.size(), ids->data(), weights->data());
  return support{*ids, *weights, from.total_weight, from.vocab_size};
}

//! Returns the number of top entries with a weight of at least `least`.
[[nodiscard]] inline std::uint32_t count_from(const top_view& from, std::uint64_t least) noexcept {
  std::uint32_t count = 0;
  for (const std::uint32_t weight : from.weights) count += weight >= least ? 1u : 0u;
  return count;
}

//! Number of top entries that a sparsifier keeps, and whether the reading lists all of them.
struct kept_count {
  std::uint32_t count = 0;
  bool enough = false;
  friend constexpr bool operator==(const kept_count& a, const kept_count& b) noexcept {
    return a.count == b.count && a.enough == b.enough;
  }
};

//! Returns the support of all tokens with a weight of at least least(W). If there is no such token, keeps the largest
//! token. If there are more than `cap`, keeps the `cap` largest (0: no cap). least(W) must not decrease with W.
template <class Least>
[[nodiscard]] inline result<support> keep_from(const row_summary& row, const top_view& from, const Least& least,
                                               std::uint32_t cap, workspace& scratch) noexcept {
  const kept_count kept = row.decide_by_total([&](std::uint64_t total) noexcept {
    const std::uint64_t bound = least(total);
    const std::uint32_t found = count_from(from, bound);
    const bool enough = from.has_all_from(bound, total) || (cap > 0 && found >= cap);
    return kept_count{found == 0 ? 1 : (cap > 0 && found > cap ? cap : found), enough};
  });
  if (from.size() == 0 || !kept.enough) return status{errc::digest_insufficient, part::sparsify, from.size()};
  return keep_largest(from, kept.count, scratch);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
