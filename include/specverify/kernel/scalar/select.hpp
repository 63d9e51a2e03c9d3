// SPDX-License-Identifier: Apache-2.0
//! Scalar reference: selects the first entries of a row in the total order (integer weight descending, id ascending).
#ifndef SPECVERIFY_KERNEL_SCALAR_SELECT_HPP
#define SPECVERIFY_KERNEL_SCALAR_SELECT_HPP

#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! A prefix of the total order: every weight above `weight`, and the first `ties` ids with exactly `weight`.
struct order_cut {
  std::uint32_t weight = 1;
  std::uint32_t ties = 0xFFFFFFFFu;
};

//! Candidates in ascending id order, in arrays of `capacity` >= 2 * wanted elements.
struct candidate_list {
  token_id* ids = nullptr;
  std::uint32_t* weights = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t wanted = 0;            //!< minimum number of entries to keep
  std::uint32_t always = 0xFFFFFFFFu;  //!< entries of at least this weight are kept, if capacity >= 2 * their number
  std::uint32_t size = 0;
  bool dropped = false;  //!< an id with a positive weight was left out
};

//! Up to this many weights, a sort is cheaper than clearing the bins of a radix step.
inline constexpr std::uint32_t sorted_cut_size = 64;

//! Implements `radix_cut` for at most sorted_cut_size weights, by insertion: O(size^2).
[[nodiscard]] inline order_cut sorted_cut(const std::uint32_t* weights, std::uint32_t size, std::uint64_t target,
                                          bool by_mass) noexcept {
  if (target == 0) return {0xFFFFFFFFu, 0};
  std::uint32_t sorted[sorted_cut_size];  // descending
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t weight = weights[i];
    if (weight == 0) continue;
    std::uint32_t at = count++;
    for (; at > 0 && sorted[at - 1] < weight; --at) sorted[at] = sorted[at - 1];
    sorted[at] = weight;
  }
  std::uint64_t reached = 0;
  for (std::uint32_t i = 0, first = 0; i < count; ++i) {
    if (sorted[i] != sorted[first]) first = i;  // first of a run of equal weights
    reached += by_mass ? sorted[i] : 1u;
    if (reached >= target) return {sorted[i], i - first + 1};
  }
  return {};  // the target exceeds all positive weights: keep them all
}

//! Returns the smallest prefix of the total order whose number of entries (or sum of weights, if by_mass) reaches the
//! target. Three radix steps, O(size); few weights are sorted instead.
[[nodiscard, gnu::noinline]] inline order_cut radix_cut(const std::uint32_t* weights, std::uint32_t size,
                                                        std::uint64_t target, bool by_mass) noexcept {
  if (size <= sorted_cut_size) return sorted_cut(weights, size, target, by_mass);
  constexpr int shifts[3] = {21, 10, 0};
  constexpr std::uint32_t widths[3] = {11, 11, 10};
  std::uint64_t bins[2048];
  std::uint32_t prefix = 0;
  std::uint64_t reached = 0;
  for (int step = 0; step < 3; ++step) {
    const std::uint32_t bin_count = std::uint32_t{1} << widths[step];
    for (std::uint32_t b = 0; b < bin_count; ++b) bins[b] = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t weight = weights[i];
      if (weight == 0 || (step > 0 && (weight >> (shifts[step] + static_cast<int>(widths[step]))) != prefix)) continue;
      bins[(weight >> shifts[step]) & (bin_count - 1)] += by_mass ? weight : 1u;
    }
    std::uint32_t bin = bin_count - 1;
    while (bin > 0 && reached + bins[bin] < target) reached += bins[bin--];
    prefix = (prefix << widths[step]) | bin;
  }
  if (prefix == 0) return {};  // the target exceeds all positive weights: keep them all
  const std::uint64_t missing = target - reached;
  const std::uint64_t ties = by_mass ? (missing + prefix - 1) / prefix : missing;
  return {prefix, ties < 0xFFFFFFFFu ? static_cast<std::uint32_t>(ties) : 0xFFFFFFFFu};
}

//! Writes the entries that the cut keeps into other arrays; returns their number.
[[nodiscard]] inline std::uint32_t apply_cut(order_cut cut, const token_id* ids, const std::uint32_t* weights,
                                             std::uint32_t size, token_id* kept_ids,
                                             std::uint32_t* kept_weights) noexcept {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const std::uint32_t weight = weights[i];
    if (weight < cut.weight || (weight == cut.weight && cut.ties == 0)) continue;
    if (weight == cut.weight) --cut.ties;
    kept_ids[kept] = ids[i];
    kept_weights[kept] = weight;
    ++kept;
  }
  return kept;
}

//! Applies the cut in place to the entries beginning at `from`, after `kept` other entries. Every entry is moved and
//! some are overwritten, because this avoids branches.
inline void apply_cut(order_cut cut, candidate_list& list, std::uint32_t from = 0, std::uint32_t kept = 0) noexcept {
  token_id* const ids = list.ids;
  std::uint32_t* const weights = list.weights;
  for (std::uint32_t i = from, size = list.size; i < size; ++i) {
    const token_id id = ids[i];
    const std::uint32_t weight = weights[i];
    const std::uint32_t tie = weight == cut.weight && cut.ties > 0 ? 1u : 0u;
    ids[kept] = id;
    weights[kept] = weight;
    cut.ties -= tie;
    kept += (weight > cut.weight ? 1u : 0u) + tie;
  }
  list.size = kept;
}

//! Shrinks a list to the `wanted` largest entries, or to all entries with a weight of at least `always` if there are
//! more of these. Returns the weight that later ids must exceed. Not inlined, because calls are rare.
[[nodiscard, gnu::noinline]] inline std::uint32_t shrink(candidate_list& list) noexcept {
  std::uint32_t kept_always = 0;
  for (std::uint32_t i = 0; i < list.size; ++i) kept_always += list.weights[i] >= list.always ? 1u : 0u;
  const std::uint32_t keep = kept_always > list.wanted ? kept_always : list.wanted;
  if (keep >= list.size) return 0;
  const order_cut cut = radix_cut(list.weights, list.size, keep, false);
  apply_cut(cut, list);
  list.dropped = true;
  return cut.weight < list.always ? cut.weight : list.always - 1;
}

//! Appends one id; ids must arrive in ascending order. `floor` is the weight that later ids must exceed; it rises if
//! the list is full.
SPECVERIFY_INLINE void push_candidate(candidate_list& list, token_id id, std::uint32_t weight,
                                      std::uint32_t& floor) noexcept {
  if (weight <= floor) {
    list.dropped = list.dropped || weight > 0;
    return;
  }
  if (list.size == list.capacity) {
    floor = shrink(list);
    if (weight <= floor || list.size == list.capacity) {
      list.dropped = true;
      return;
    }
  }
  list.ids[list.size] = id;
  list.weights[list.size] = weight;
  ++list.size;
}

//! Gathers the largest entries of a row, but never ids with weight 0. The unnamed array is coarse_output::tops, which
//! only the vector version uses.
template <class Scalar>
inline void gather(exec::seq_policy, const row_source<Scalar>& source, const integer_weight& weight, float*,
                   candidate_list& list) noexcept {
  using work = working<Scalar>;
  work buffer[block_size];
  std::uint32_t floor = 0;
  for (std::uint32_t first = 0; first < source.size; first += block_size) {
    const std::uint32_t filled = block_groups(source.size - first, 1);
    const work* values = load(source, first, filled, buffer);
    for (std::uint32_t i = 0; i < filled; ++i)
      push_candidate(list, static_cast<token_id>(first + i), weight(static_cast<double>(values[i])), floor);
  }
  (void)shrink(list);
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
