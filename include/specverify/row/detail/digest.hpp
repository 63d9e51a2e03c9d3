// SPDX-License-Identifier: Apache-2.0
//! How a digest is built: workspace layout, the reads of the row in their order, survivors, truncation.
#ifndef SPECVERIFY_ROW_DETAIL_DIGEST_HPP
#define SPECVERIFY_ROW_DETAIL_DIGEST_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/kernel/scalar/standard_deviation.hpp>
#include <specverify/row/detail/order.hpp>
#include <specverify/row/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The arrays of survivors, cut from the workspace.
[[nodiscard]] inline bool take_survivors(const digest_layout& layout, workspace& scratch, row_digest& out,
                                         kernel::candidate_list& list) noexcept {
  if (!scratch.take<token_id>(layout.capacity, out.survivor_ids) ||
      !scratch.take<std::uint32_t>(layout.capacity, out.survivor_weights)) {
    return false;
  }
  list.ids = scratch.at<token_id>(out.survivor_ids).data();
  list.weights = scratch.at<std::uint32_t>(out.survivor_weights).data();
  list.capacity = layout.capacity;
  list.wanted = layout.wanted;
  return true;
}

inline void finish_survivors(const read_request& request, const kernel::candidate_list& list,
                             row_digest& out) noexcept {
  out.survivor_ids.count = list.size;
  out.survivor_weights.count = list.size;
  out.survivors_complete = !list.dropped;
  if (list.dropped && out.total_weight > 0 && list.capacity > 0) {  // a floor may have dropped nothing
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < list.size; ++i) sum += list.weights[i];
    out.survivors_complete = sum == out.total_weight;
  }
  out.minimum_probability = request.minimum_probability;
}

//! A point mass at argmax.
inline void point_mass(const read_request& request, kernel::candidate_list& list, row_digest& out) noexcept {
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
[[nodiscard]] inline bool build_kept(Policy policy, const kernel::row_source<Scalar>& source,
                                     const row_transform& transform, const digest_layout& layout, workspace& scratch,
                                     kernel::candidate_list& list, row_digest& out) noexcept {
  workspace_slice all_weights{};
  if (!scratch.take<token_id>(layout.kept, out.kept_ids) || !scratch.take<double>(layout.kept, out.kept_weights) ||
      !scratch.take<std::uint32_t>(layout.weights, all_weights)) {
    return false;
  }
  std::uint32_t* weights = scratch.at<std::uint32_t>(all_weights).data();
  const std::uint64_t total = sum_weights(policy, source, weights_of(source, out.maximum, out.temperature), weights);
  kernel::order_cut cut = truncation_cut(transform.truncation, weights, source.size, total);
  const kernel::exact_weight exact{out.maximum, 1.0 / out.temperature, source.probabilities};
  token_id* ids = scratch.at<token_id>(out.kept_ids).data();
  double* kept_weights = scratch.at<double>(out.kept_weights).data();
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
    if (out.minimum_probability > 0) list.always = weight_bound(out.minimum_probability, out.total_weight);
    for (std::uint32_t i = 0; i < kept; ++i) kernel::push_candidate(list, ids[i], weights[i], floor);
    (void)kernel::shrink(list);
  } else {
    list.dropped = true;
  }
  return true;
}

//! The coarse read: repeated from the maximum when the sampled reference lies too far below it.
template <class Policy, class Scalar>
[[nodiscard]] inline status read_coarse(Policy policy, const kernel::row_source<Scalar>& source, workspace& scratch,
                                        row_digest& out) noexcept {
  using work = kernel::working<Scalar>;
  float* lanes = scratch.at<float>(out.lane_sums).data();
  double* blocks = scratch.at<double>(out.block_sums).data();
  kernel::envelope<work> weight;
  weight.probabilities = source.probabilities;
  kernel::row_extremes<work> found;
  if (source.probabilities) {
    found = kernel::coarse_pass(policy, source, weight, lanes, blocks);
  } else {
    weight.scale = kernel::coarse_scale(out.temperature);
    weight.reference = kernel::sampled_reference(policy, source);
    if (kernel::is_finite(weight.reference)) {
      found = kernel::coarse_pass(policy, source, weight, lanes, blocks);
    } else {
      found = kernel::find_maximum(policy, source);
    }
    const bool usable = kernel::is_finite(weight.reference) &&
                        (static_cast<double>(found.maximum) - static_cast<double>(weight.reference)) <=
                            kernel::coarse_range * out.temperature;
    if (!found.has_nan && kernel::is_finite(found.maximum) && !usable) {
      weight.reference = found.maximum;
      found = kernel::coarse_pass(policy, source, weight, lanes, blocks);
    }
  }
  double total = 0;
  for (std::size_t b = 0; b < out.block_sums.count; ++b) total += blocks[b];
  if (const status why = judge(policy, source, found, total); !why.ok()) return why;
  out.argmax = static_cast<token_id>(found.argmax);
  out.maximum = static_cast<double>(found.maximum);
  out.reference = static_cast<double>(weight.reference);
  out.coarse_total = total;
  out.upper = total * (1.0 + kernel::coarse_margin);
  out.lower = total * (1.0 - kernel::coarse_margin) / (source.probabilities ? 1.0 : kernel::coarse_excess);
  return {};
}

template <class Policy, class Scalar>
[[nodiscard]] status build_digest(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const read_request& request, workspace& scratch, row_digest& out) noexcept {
  if (const status why = check_arguments(row, transform); !why.ok()) return why;
  if (!request.temperature_nodes.empty() || (request.standard_deviation && row.kind() == row_kind::probabilities))
    return row_error(errc::unsupported);
  if (!kernel::is_finite(request.minimum_probability) || request.minimum_probability < 0.0 ||
      request.minimum_probability > 1.0) {
    return row_error(errc::invalid_argument);
  }
  const kernel::row_source<Scalar> source = open(row, transform);
  const digest_layout layout = layout_of(source.size, transform, request);
  out.kind = row.kind();
  out.valid_size = source.size;
  out.temperature = transform.temperature;
  out.minimum_probability = request.minimum_probability;
  kernel::candidate_list list;
  if (!take_survivors(layout, scratch, out, list) || !scratch.take<reading_mark>(1, out.mark))
    return row_error(errc::workspace_too_small);
  reading_mark& mark = *scratch.first_of<reading_mark>(out.mark);
  mark = {};

  if (transform.greedy()) {
    const auto found = kernel::find_maximum(policy, source);
    if (const status why =
            judge(policy, source, found, source.probabilities ? kernel::exact_sum(policy, source, {0, 1, true}) : 1.0);
        !why.ok())
      return why;
    out.argmax = static_cast<token_id>(found.argmax);
    out.maximum = static_cast<double>(found.maximum);
    if (request.standard_deviation) out.standard_deviation = kernel::logit_deviation(policy, source, out.maximum);
    point_mass(request, list, out);
    return {};
  }

  if (!scratch.take<float>(std::size_t{layout.blocks} * kernel::lane_count, out.lane_sums) ||
      !scratch.take<double>(layout.blocks, out.block_sums)) {
    return row_error(errc::workspace_too_small);
  }
  if (const status why = read_coarse(policy, source, scratch, out); !why.ok()) return why;
  if (request.standard_deviation) out.standard_deviation = kernel::logit_deviation(policy, source, out.maximum);

  if (transform.truncation.active()) {
    if (!build_kept(policy, source, transform, layout, scratch, list, out)) return row_error(errc::workspace_too_small);
    finish_survivors(request, list, out);
    return {};
  }
  const kernel::integer_weight weight = weights_of(source, out.maximum, out.temperature);
  if (request.integer_total || request.minimum_probability > 0.0)
    out.total_weight = sum_weights(policy, source, weight);
  if (layout.capacity > 0) {
    if (request.minimum_probability > 0.0) list.always = weight_bound(request.minimum_probability, out.total_weight);
    kernel::gather(policy, source, weight, list);
  } else {
    list.dropped = true;
  }
  finish_survivors(request, list, out);
  if (request.exact_normaliser) {
    const double reference = out.reference;
    out.normaliser = kernel::exact_sum(policy, source, {reference, 1.0 / out.temperature, source.probabilities});
    mark.normaliser = out.lower = out.upper = out.normaliser;
  }
  return {};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
