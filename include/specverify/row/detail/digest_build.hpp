// SPDX-License-Identifier: Apache-2.0
//! The body of `digest`: the reads of a row in their order.
#ifndef SPECVERIFY_ROW_DETAIL_DIGEST_BUILD_HPP
#define SPECVERIFY_ROW_DETAIL_DIGEST_BUILD_HPP

#include <specverify/row/detail/digest.hpp>
#include <specverify/row/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! The coarse read: repeated from the maximum when the sampled reference lies too far below it.
template <class Policy, class Scalar>
[[nodiscard]] inline status read_coarse(Policy policy, const kernel::row_source<Scalar>& source, workspace& space, row_digest& out) noexcept {
  using work = kernel::working<Scalar>;
  float* lanes = space.at<float>(out.lane_sums).data();
  double* blocks = space.at<double>(out.block_sums).data();
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
                        (static_cast<double>(found.maximum) - static_cast<double>(weight.reference)) <= kernel::coarse_range * out.temperature;
    if (!found.has_nan && kernel::is_finite(found.maximum) && !usable) {
      weight.reference = found.maximum;
      found = kernel::coarse_pass(policy, source, weight, lanes, blocks);
    }
  }
  double total = 0;
  for (std::size_t b = 0; b < out.block_sums.count; ++b) total += blocks[b];
  const status outcome = judge(policy, source, found, total);
  if (!outcome.ok()) return outcome;
  out.argmax = static_cast<token_id>(found.argmax);
  out.maximum = static_cast<double>(found.maximum);
  out.reference = static_cast<double>(weight.reference);
  out.coarse_total = total;
  out.upper = total * (1.0 + kernel::coarse_margin);
  out.lower = total * (1.0 - kernel::coarse_margin) / (source.probabilities ? 1.0 : kernel::coarse_excess);
  return {};
}

template <class Policy, class Scalar>
[[nodiscard]] status build_digest(Policy policy, row_view<Scalar> row, const row_transform& transform, const digest_request& request, workspace& space,
                                         row_digest& out) noexcept {
  const status checked = check_arguments(row, transform);
  if (!checked.ok()) return checked;
  if (!request.temperature_nodes.empty()) return row_error(errc::unsupported);
  if (!kernel::is_finite(request.minimum_probability) || request.minimum_probability < 0.0 || request.minimum_probability > 1.0) {
    return row_error(errc::invalid_argument);
  }
  const kernel::row_source<Scalar> source = open(row, transform);
  const digest_layout layout = digest_space(source.size, transform, request);
  out.kind = row.kind();
  out.valid_size = source.size;
  out.temperature = transform.temperature;
  out.minimum_probability = request.minimum_probability;
  kernel::candidate_list list;
  if (!take_survivors(layout, space, out, list) || !space.take<double>(1, out.cache)) return row_error(errc::workspace_too_small);
  double& cached = space.at<double>(out.cache)[0];
  cached = 0;

  if (transform.greedy()) {
    const auto found = kernel::find_maximum(policy, source);
    const status outcome = judge(policy, source, found, source.probabilities ? kernel::exact_sum(policy, source, {0, 1, true}) : 1.0);
    if (!outcome.ok()) return outcome;
    out.argmax = static_cast<token_id>(found.argmax);
    out.maximum = static_cast<double>(found.maximum);
    point_mass(request, list, out);
    return {};
  }

  if (!space.take<float>(std::size_t{layout.blocks} * kernel::lane_count, out.lane_sums) || !space.take<double>(layout.blocks, out.block_sums)) {
    return row_error(errc::workspace_too_small);
  }
  const status outcome = read_coarse(policy, source, space, out);
  if (!outcome.ok()) return outcome;

  if (transform.truncation.active()) {
    if (!build_kept(policy, source, transform, layout, space, list, out)) return row_error(errc::workspace_too_small);
    finish_survivors(request, list, out);
    return {};
  }
  const kernel::integer_weight weight = weights_of(source, out.maximum, out.temperature);
  if (request.integer_total || request.minimum_probability > 0.0) out.total_weight = sum_weights(policy, source, weight);
  if (layout.capacity > 0) {
    if (request.minimum_probability > 0.0) list.always = static_cast<std::uint32_t>(share_of(request.minimum_probability, out.total_weight));
    kernel::gather(policy, source, weight, list);
  } else {
    list.dropped = true;
  }
  finish_survivors(request, list, out);
  if (request.exact_normaliser) {
    const double reference = out.reference;
    out.normaliser = kernel::exact_sum(policy, source, {reference, 1.0 / out.temperature, source.probabilities});
    cached = out.lower = out.upper = out.normaliser;
  }
  return {};
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
