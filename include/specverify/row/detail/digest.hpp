// SPDX-License-Identifier: Apache-2.0
//! How a digest is built: workspace layout, the coarse read, survivors, truncation.
#ifndef SPECVERIFY_ROW_DETAIL_DIGEST_HPP
#define SPECVERIFY_ROW_DETAIL_DIGEST_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/row/detail/open.hpp>
#include <specverify/row/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! How many elements every array of a digest has.
struct digest_layout {
  std::uint32_t blocks = 0;
  std::uint32_t wanted = 0;      // survivors asked for
  std::uint32_t capacity = 0;    // candidates held while gathering
  std::uint32_t selected = 0;    // at most so many survivors
  std::uint32_t kept = 0;        // truncated rows: at most so many ids
  std::uint32_t weights = 0;     // truncated rows: integer weights of the whole row

  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    return slice_bytes<float>(std::size_t{blocks} * kernel::lane_count) + slice_bytes<double>(blocks) + 3 * slice_bytes<std::uint32_t>(capacity) +
           2 * slice_bytes<std::uint32_t>(selected) + slice_bytes<token_id>(kept) + slice_bytes<double>(kept) + slice_bytes<std::uint32_t>(weights) +
           slice_bytes<double>(1) + workspace_alignment;
  }
};

[[nodiscard]] constexpr digest_layout digest_space(std::uint32_t vocab_size, const row_transform& transform, const digest_request& request) noexcept {
  digest_layout layout;
  layout.blocks = kernel::block_count(vocab_size);
  layout.wanted = request.survivors < vocab_size ? request.survivors : vocab_size;
  std::uint32_t above = 0;
  if (request.minimum_probability > 0) {
    const double bound = 1.0 / request.minimum_probability + 2.0;
    above = bound < static_cast<double>(vocab_size) ? static_cast<std::uint32_t>(bound) : vocab_size;
  }
  layout.selected = layout.wanted > above ? layout.wanted : above;
  const std::uint64_t roomy = layout.selected == 0 ? 0 : std::uint64_t{layout.selected} * 2 + 1024;
  layout.capacity = roomy < vocab_size ? static_cast<std::uint32_t>(roomy) : vocab_size;
  if (transform.truncation.active()) {
    layout.weights = vocab_size;
    layout.kept = transform.truncation.top_k != 0 && transform.truncation.top_k < vocab_size ? transform.truncation.top_k : vocab_size;
  }
  return layout;
}

[[nodiscard]] constexpr std::size_t digest_bytes(std::uint32_t vocab_size, const row_transform& transform, const digest_request& request) noexcept {
  return digest_space(vocab_size, transform, request).bytes();
}

//! The cut of the total order at a target: the smallest prefix whose size (by_mass false) or weight (true) reaches it. Three radix steps, O(size).
[[nodiscard]] inline kernel::order_cut radix_cut(const std::uint32_t* weights, std::uint32_t size, std::uint64_t target, bool by_mass) noexcept {
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
  if (prefix == 0) return {};  // the target is beyond all positive weights: keep them all
  const std::uint64_t missing = target - reached;
  const std::uint64_t ties = by_mass ? (missing + prefix - 1) / prefix : missing;
  return {prefix, ties < 0xFFFFFFFFu ? static_cast<std::uint32_t>(ties) : 0xFFFFFFFFu};
}

[[nodiscard]] SPECVERIFY_INLINE constexpr kernel::order_cut tighter(kernel::order_cut a, kernel::order_cut b) noexcept {
  if (a.weight != b.weight) return a.weight > b.weight ? a : b;
  return a.ties < b.ties ? a : b;
}

//! The smallest integer t with double(t) >= share * double(total), at least 1.
[[nodiscard]] inline std::uint64_t share_of(double share, std::uint64_t total) noexcept {
  const double bound = share * static_cast<double>(total);
  auto target = static_cast<std::uint64_t>(bound);
  if (static_cast<double>(target) < bound) ++target;
  return target == 0 ? 1 : target;
}

//! The prefix of the total order that a truncation keeps.
[[nodiscard]] inline kernel::order_cut truncation_cut(const row_truncation& cut, const std::uint32_t* weights, std::uint32_t size, std::uint64_t total) noexcept {
  kernel::order_cut kept;
  if (cut.min_p > 0.0) {
    const std::uint64_t least = share_of(cut.min_p, kernel::weight_one);
    kept = tighter(kept, {static_cast<std::uint32_t>(least), 0xFFFFFFFFu});
  }
  kernel::order_cut largest;
  if (cut.top_k != 0 && cut.top_k < size) largest = radix_cut(weights, size, cut.top_k, false);
  if (cut.top_p < 1.0) {
    std::uint64_t mass = total;
    if (cut.order == truncation_order::top_k_then_top_p) {
      mass = 0;
      kernel::order_cut left = largest;
      for (std::uint32_t i = 0; i < size; ++i) {
        if (weights[i] < left.weight || (weights[i] == left.weight && left.ties == 0)) continue;
        if (weights[i] == left.weight) --left.ties;
        mass += weights[i];
      }
    }
    kept = tighter(kept, radix_cut(weights, size, share_of(cut.top_p, mass), true));
  }
  return tighter(kept, largest);
}

template <class Scalar>
[[nodiscard]] inline kernel::integer_weight weights_of(const kernel::row_source<Scalar>& source, double maximum, double temperature) noexcept {
  return {maximum, source.probabilities ? kernel::probability_scale(maximum) : kernel::weight_scale(temperature), source.probabilities};
}

//! W of a row.
template <class Policy, class Scalar>
[[nodiscard]] inline std::uint64_t sum_weights(Policy policy, const kernel::row_source<Scalar>& source, const kernel::integer_weight& weight,
                                               std::uint32_t* all = nullptr) noexcept {
  kernel::working<Scalar> buffer[kernel::block_size];
  std::uint32_t weights[kernel::block_size];
  std::uint64_t sum = 0;
  for (std::uint32_t first = 0; first < source.size; first += kernel::block_size) {
    const std::uint32_t filled = source.size - first < kernel::block_size ? source.size - first : kernel::block_size;
    sum += kernel::write_weights(policy, kernel::load(source, first, kernel::block_size, buffer), filled, weight, all == nullptr ? weights : all + first);
  }
  return sum;
}

//! The arrays of survivors, cut from the workspace.
[[nodiscard]] inline bool take_survivors(const digest_layout& layout, workspace& space, row_digest& out, kernel::candidate_list& list) noexcept {
  workspace_slice scratch{};
  if (!space.take<token_id>(layout.capacity, out.survivor_ids) || !space.take<std::uint32_t>(layout.capacity, out.survivor_weights) ||
      !space.take<std::uint32_t>(layout.capacity, scratch) || !space.take<token_id>(layout.selected, out.selected_ids) ||
      !space.take<std::uint32_t>(layout.selected, out.selected_weights)) {
    return false;
  }
  list.ids = space.at<token_id>(out.survivor_ids).data();
  list.weights = space.at<std::uint32_t>(out.survivor_weights).data();
  list.scratch = space.at<std::uint32_t>(scratch).data();
  list.capacity = layout.capacity;
  list.wanted = layout.wanted;
  return true;
}

inline void finish_survivors(const digest_request& request, const kernel::candidate_list& list, row_digest& out) noexcept {
  out.survivor_ids.count = list.size;
  out.survivor_weights.count = list.size;
  out.survivors_complete = !list.dropped;
  out.minimum_probability = request.minimum_probability;
}

//! A point mass at argmax.
inline void point_mass(const digest_request& request, kernel::candidate_list& list, row_digest& out) noexcept {
  out.one_hot = true;
  out.reference = out.maximum;
  out.coarse_total = out.lower = out.upper = out.normaliser = 1;
  out.total_weight = kernel::weight_one;
  list.dropped = list.capacity == 0;
  if (!list.dropped) {
    list.ids[0] = out.argmax;
    list.weights[0] = kernel::weight_one;
    list.size = 1;
  }
  finish_survivors(request, list, out);
}

//! Truncated rows: the kept ids with their exact weights, and survivors among them.
template <class Policy, class Scalar>
[[nodiscard]] inline bool build_kept(Policy policy, const kernel::row_source<Scalar>& source, const row_transform& transform, const digest_layout& layout,
                                     workspace& space, kernel::candidate_list& list, row_digest& out) noexcept {
  workspace_slice all_weights{};
  if (!space.take<token_id>(layout.kept, out.kept_ids) || !space.take<double>(layout.kept, out.kept_weights) ||
      !space.take<std::uint32_t>(layout.weights, all_weights)) {
    return false;
  }
  std::uint32_t* weights = space.at<std::uint32_t>(all_weights).data();
  const std::uint64_t total = sum_weights(policy, source, weights_of(source, out.maximum, out.temperature), weights);
  kernel::order_cut cut = truncation_cut(transform.truncation, weights, source.size, total);
  const kernel::exact_weight exact{out.maximum, 1.0 / out.temperature, source.probabilities};
  token_id* ids = space.at<token_id>(out.kept_ids).data();
  double* kept_weights = space.at<double>(out.kept_weights).data();
  std::uint32_t kept = 0, floor = 0;
  out.total_weight = 0;
  double sum = 0;
  for (std::uint32_t id = 0; id < source.size; ++id) {
    const std::uint32_t weight = weights[id];
    if (weight < cut.weight || (weight == cut.weight && cut.ties == 0)) continue;
    if (weight == cut.weight) --cut.ties;
    ids[kept] = static_cast<token_id>(id);
    kept_weights[kept] = exact(static_cast<double>(source.value(id)));
    sum += kept_weights[kept];
    out.total_weight += weight;
    weights[kept++] = weight;
  }
  out.kept_ids.count = out.kept_weights.count = kept;
  out.truncated = true;
  out.reference = out.maximum;
  out.coarse_total = out.lower = out.upper = out.normaliser = sum;
  if (layout.capacity > 0) {
    if (out.minimum_probability > 0) list.always = static_cast<std::uint32_t>(share_of(out.minimum_probability, out.total_weight));
    for (std::uint32_t i = 0; i < kept; ++i) kernel::push_candidate(list, ids[i], weights[i], floor);
    (void)kernel::shrink(list);
  } else {
    list.dropped = true;
  }
  return true;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
