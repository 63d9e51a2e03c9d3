// SPDX-License-Identifier: Apache-2.0
//! Builds row statistics (`row_digest`): takes the arrays from the workspace, reads the row, and gathers the top
//! entries or the ids that a truncation keeps.
#ifndef SPECVERIFY_ROW_DETAIL_DIGEST_HPP
#define SPECVERIFY_ROW_DETAIL_DIGEST_HPP

#include <specverify/core/workspace.hpp>
#include <specverify/kernel/scalar/standard_deviation.hpp>
#include <specverify/row/detail/truncate.hpp>
#include <specverify/row/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Takes the arrays for the top entries from the workspace.
[[nodiscard]] inline bool take_top_entries(const digest_layout& layout, kernel::candidate_list& list,
                                           row_digest& digest, workspace& scratch) noexcept {
  const auto ids = scratch.take_slice<token_id>(layout.capacity);
  const auto weights = scratch.take_slice<std::uint32_t>(layout.capacity);
  if (!ids || !weights) return false;
  digest.top_ids = *ids;
  digest.top_weights = *weights;
  list.ids = scratch.at<token_id>(digest.top_ids).data();
  list.weights = scratch.at<std::uint32_t>(digest.top_weights).data();
  list.capacity = layout.capacity;
  list.wanted = layout.wanted;
  return true;
}

inline void finish_top_entries(const read_request& request, const kernel::candidate_list& list,
                               row_digest& digest) noexcept {
  digest.top_ids.count = list.size;
  digest.top_weights.count = list.size;
  digest.top_complete = !list.dropped;
  digest.minimum_probability = request.minimum_probability;
}

//! Fills in a point mass at argmax.
inline void point_mass(const read_request& request, kernel::candidate_list& list, row_digest& digest) noexcept {
  digest.one_hot = true;
  digest.reference = digest.maximum;
  digest.coarse_total = digest.lower = digest.upper = digest.normaliser = 1;
  digest.total_weight = kernel::weight_one;
  list.dropped = list.capacity == 0;
  if (!list.dropped) {
    list.ids[0] = digest.argmax;
    list.weights[0] = kernel::weight_one;
    list.size = 1;
  }
  finish_top_entries(request, list, digest);
}

//! Takes the arrays for the kept ids of a truncated row from the workspace. Returns false if it is too small.
[[nodiscard]] inline bool take_kept(const digest_layout& layout, kernel::candidate_list& kept, row_digest& digest,
                                    workspace& scratch) noexcept {
  const auto id_slice = scratch.take_slice<token_id>(layout.weights);
  const auto weight_slice = scratch.take_slice<double>(layout.kept);
  const auto weights = scratch.take<std::uint32_t>(layout.weights);
  if (!id_slice || !weight_slice || !weights) return false;
  digest.kept_ids = *id_slice;
  digest.kept_weights = *weight_slice;
  kept.ids = scratch.at<token_id>(digest.kept_ids).data();
  kept.weights = weights->data();
  kept.capacity = layout.weights;
  return true;
}

//! Fills in a truncated row: the kept ids with exact weights, and the top entries among them. The bounds on Z and
//! `quick_total` are from the read.
template <class Policy, class Scalar>
[[nodiscard, gnu::noinline]] inline bool build_kept(Policy policy, const kernel::row_source<Scalar>& source,
                                                    const row_truncation& cut, const digest_layout& layout, float* tops,
                                                    double quick_total, kernel::candidate_list& list,
                                                    row_digest& digest, workspace& scratch) noexcept {
  kernel::candidate_list kept;
  if (!take_kept(layout, kept, digest, scratch)) return false;
  reading_mark& mark = *scratch.first_of<reading_mark>(digest.mark);
  mark_row(mark, policy, source, digest, quick_total);
  know_bounds(mark);
  const kernel::integer_weight weight = weights_of(source, digest.maximum, digest.temperature);
  double* const exact_weights = scratch.at<double>(digest.kept_weights).data();
  auto* const room = reinterpret_cast<std::uint32_t*>(exact_weights);
  kept_entries<Policy, Scalar>(policy, source, weight, tops, room, mark).gather(cut, kept);
  const bool summed = mark.summed;
  mark = {};
  mark.summed = summed;
  const kernel::exact_weight exact{digest.maximum, 1.0 / digest.temperature, source.probabilities};
  const double sum = weigh_exactly(source, exact, kept, exact_weights);
  digest.total_weight = mass_of(kept);
  digest.kept_ids.count = digest.kept_weights.count = kept.size;
  digest.truncated = true;
  digest.reference = digest.maximum;
  digest.coarse_total = digest.lower = digest.upper = digest.normaliser = sum;
  if (layout.capacity > 0) {
    if (digest.minimum_probability > 0)
      list.always = weight_bound(digest.minimum_probability, digest.total_weight, source.size);
    std::uint32_t floor = 0;
    for (std::uint32_t i = 0; i < kept.size; ++i) kernel::push_candidate(list, kept.ids[i], kept.weights[i], floor);
    (void)kernel::shrink(list);
  } else {
    list.dropped = true;
  }
  return true;
}

//! Fills in the sum of the coarse read, and the bounds on Z that follow from it.
template <class Scalar>
inline void bound_normaliser(const kernel::row_source<Scalar>& source, double total, row_digest& digest) noexcept {
  digest.coarse_total = total;
  digest.upper = total * (1.0 + kernel::coarse_margin);
  // The envelope raises a positive probability below 2^-126 to 2^-126. If a mask leaves only such probabilities, all
  // are raised.
  const double lifted = total - 0x1.0p-126 * static_cast<double>(source.size);
  const double least = source.probabilities ? (lifted > 0.0 ? lifted : 0.0) : total / kernel::coarse_excess;
  digest.lower = least * (1.0 - kernel::coarse_margin);
}

//! Reads the row and computes the coarse sums. The read is repeated with the maximum as reference if the sampled
//! reference is too far below it. `quick_total` and `tops` may be null.
template <class Policy, class Scalar>
[[nodiscard, gnu::noinline]] inline status read_coarse(Policy policy, const kernel::row_source<Scalar>& source,
                                                       float* tops, double* quick_total, row_digest& digest,
                                                       workspace_base base) noexcept {
  using work = kernel::working<Scalar>;
  const kernel::coarse_output out{base.first_of<float>(digest.lane_sums), base.first_of<double>(digest.block_sums),
                                  tops, quick_total, 1.0 / digest.temperature};
  kernel::envelope<work> weight;
  weight.probabilities = source.probabilities;
  kernel::row_extremes<work> found;
  if (source.probabilities) [[unlikely]] {
    found = kernel::coarse_pass(policy, source, weight, out);
  } else {
    weight.scale = kernel::coarse_scale(digest.temperature);
    weight.reference = kernel::sampled_reference(policy, source);
    if (kernel::is_finite(weight.reference)) [[likely]] {
      found = kernel::coarse_pass(policy, source, weight, out);
    } else {
      found = kernel::find_maximum(policy, source);
    }
    const bool usable = kernel::is_finite(weight.reference) &&
                        (static_cast<double>(found.maximum) - static_cast<double>(weight.reference)) <=
                            kernel::coarse_range * digest.temperature;
    if (!found.has_nan && kernel::is_finite(found.maximum) && !usable) [[unlikely]] {
      weight.reference = found.maximum;
      found = kernel::coarse_pass(policy, source, weight, out);
    }
  }
  double total = 0;
  for (std::size_t b = 0; b < digest.block_sums.count; ++b) total += out.block_sums[b];
  if (const status why = check_values(source, found, total); !why.ok()) return why;
  digest.argmax = static_cast<token_id>(found.argmax);
  digest.maximum = static_cast<double>(found.maximum);
  digest.reference = static_cast<double>(weight.reference);
  bound_normaliser(source, total, digest);
  return {};
}

//! Returns whether a read computes the sums, because they are requested or another result needs them.
[[nodiscard]] constexpr bool takes_sums(row_kind kind, const row_transform& transform,
                                        const read_request& request) noexcept {
  return request.sums || kind == row_kind::probabilities || transform.truncation.active() ||
         request.minimum_probability > 0 || request.exact_normaliser;
}

//! Reads logits without computing sums. The bounds on Z then follow from the maximum and the number of ids.
template <class Policy, class Scalar>
[[nodiscard]] inline status read_tops(Policy policy, const kernel::row_source<Scalar>& source, float* tops,
                                      row_digest& digest) noexcept {
  const auto found = kernel::find_tops(policy, source, tops);
  if (const status why = check_values(source, found); !why.ok()) return why;
  digest.argmax = static_cast<token_id>(found.argmax);
  digest.maximum = digest.reference = static_cast<double>(found.maximum);
  digest.lower = 1.0 - kernel::coarse_margin;
  digest.upper = static_cast<double>(source.size) * (1.0 + kernel::coarse_margin);
  digest.lane_sums.count = digest.block_sums.count = 0;
  return {};
}

//! Returns a digest that includes the sums, even if the read did not compute them. In that case, the first call
//! computes the sums in O(V). This call cannot fail, because the read found no error.
template <class Policy, class Scalar>
[[nodiscard, gnu::noinline]] inline const row_digest& with_sums(Policy policy, const kernel::row_source<Scalar>& source,
                                                                const row_digest& digest,
                                                                workspace_base base) noexcept {
  auto& marked = *reinterpret_cast<marked_row<Policy, Scalar>*>(base.first_of<reading_mark>(digest.mark));
  row_digest& full = marked.full;
  if (full.lane_sums.count == 0) {
    know_bounds(marked.mark);
    full = digest;
    full.block_sums.count = kernel::block_count(source.size);
    full.lane_sums.count = full.block_sums.count * kernel::lane_count;
    (void)read_coarse(policy, source, nullptr, nullptr, full, base);
    marked.reference = full.reference;  // the cached quick sum is relative to the old reference
    marked.mark.close = 0;
  }
  return full;
}

//! Gathers the top entries, and all entries with a probability of at least `minimum_probability`. At first, the list
//! contains every entry that reaches this share of the lower bound on W. The function then computes closer bounds on W
//! until no listed entry can be below this share of W.
template <class Policy, class Scalar>
[[gnu::noinline]] inline void gather_top_entries(Policy policy, const kernel::row_source<Scalar>& source, float* tops,
                                                 reading_mark& mark, kernel::candidate_list& list,
                                                 const row_digest& digest) noexcept {
  const kernel::integer_weight weight = weights_of(source, digest.maximum, digest.temperature);
  const double share = digest.minimum_probability;
  if (SPECVERIFY_LIKELY(share == 0.0)) return kernel::gather(policy, source, weight, tops, list);
  know_bounds(mark);
  // The capacity of the list assumes close bounds on W; with wide bounds the list could overflow.
  if (mark.most - mark.least > mark.least) mark.narrow(mark, true);
  const kernel::candidate_list empty = list;
  for (;;) {
    list = empty;
    list.always = weight_bound(share, mark.least, source.size);
    kernel::gather(policy, source, weight, tops, list);
    if (mark.least == mark.most) return;
    const std::uint32_t sure = weight_bound(share, mark.most, source.size);
    std::uint32_t open = 0;
    for (std::uint32_t i = 0; i < list.size; ++i)
      open += list.weights[i] >= list.always && list.weights[i] < sure ? 1u : 0u;
    if (open == 0) return;
    mark.narrow(mark, false);
  }
}

//! Checks the arguments of a read.
template <class Scalar>
[[nodiscard]] inline status check_read(row_view<Scalar> row, const row_transform& transform,
                                       const read_request& request) noexcept {
  if (const status why = check_arguments(row, transform); !why.ok()) return why;
  if (request.standard_deviation && row.kind() == row_kind::probabilities) return row_error(errc::unsupported);
  const bool share = kernel::is_finite(request.minimum_probability) && request.minimum_probability >= 0.0 &&
                     request.minimum_probability <= 1.0;
  return share ? status{} : row_error(errc::invalid_argument);
}

//! Reads a row whose temperature is below 1e-6.
template <class Policy, class Scalar>
[[nodiscard]] inline status read_point_mass(Policy policy, const kernel::row_source<Scalar>& source,
                                            const read_request& request, kernel::candidate_list& list,
                                            row_digest& digest) noexcept {
  const auto found = kernel::find_maximum(policy, source);
  const double sum = source.probabilities ? kernel::exact_sum(policy, source, {0, 1, true}) : 1.0;
  if (const status why = check_values(source, found, sum); !why.ok()) return why;
  digest.argmax = static_cast<token_id>(found.argmax);
  digest.maximum = static_cast<double>(found.maximum);
  if (request.standard_deviation) digest.standard_deviation = kernel::logit_deviation(policy, source, digest.maximum);
  point_mass(request, list, digest);
  return {};
}

//! Computes the results that the request adds to the sums of a row that is not truncated: W, top entries, exact Z.
template <class Policy, class Scalar>
inline void add_requested(Policy policy, const kernel::row_source<Scalar>& source, const read_request& request,
                          float* tops, reading_mark& mark, kernel::candidate_list& list, row_digest& digest) noexcept {
  if (request.integer_total) {
    digest.total_weight = sum_weights(policy, source, weights_of(source, digest.maximum, digest.temperature));
    mark.least = mark.most = digest.total_weight;
  }
  if (list.capacity > 0) {
    gather_top_entries(policy, source, tops, mark, list, digest);
  } else {
    list.dropped = true;
  }
  finish_top_entries(request, list, digest);
  if (request.exact_normaliser) {
    const double reference = digest.reference;
    digest.normaliser = kernel::exact_sum(policy, source, {reference, 1.0 / digest.temperature, source.probabilities});
    mark.normaliser = digest.lower = digest.upper = digest.normaliser;
  }
}

//! Reads a row with or without computing the sums, and then computes the other results of the request.
template <class Policy, class Scalar>
[[nodiscard]] inline status read_values(Policy policy, const kernel::row_source<Scalar>& source,
                                        const row_transform& transform, const read_request& request,
                                        const digest_layout& layout, kernel::candidate_list& list, row_digest& digest,
                                        workspace& scratch) noexcept {
  const auto lanes = scratch.take_slice<float>(std::size_t{layout.blocks} * kernel::lane_count);
  const auto blocks = scratch.take_slice<double>(layout.blocks);
  if (!lanes || !blocks) return row_error(errc::workspace_too_small);
  digest.lane_sums = *lanes;
  digest.block_sums = *blocks;
  workspace_scope temporary(scratch);  // releases everything taken after this line
  const auto tops = scratch.take<float>(layout.tops);
  if (!tops) return row_error(errc::workspace_too_small);
  double quick_total = 0;
  const row_truncation& cut = transform.truncation;
  const bool wants_bounds = cut.active() ? is_share_of_total(cut, source.size) : request.close_total;
  float* const lane_tops = layout.tops == 0 ? nullptr : tops->data();
  const status why =
      takes_sums(digest.kind, transform, request)
          ? read_coarse(policy, source, lane_tops, wants_bounds ? &quick_total : nullptr, digest, scratch.base())
          : read_tops(policy, source, lane_tops, digest);
  if (!why.ok()) return why;
  if (request.standard_deviation) digest.standard_deviation = kernel::logit_deviation(policy, source, digest.maximum);
  if (cut.active()) {
    temporary.keep();
    if (!build_kept(policy, source, cut, layout, tops->data(), quick_total, list, digest, scratch))
      return row_error(errc::workspace_too_small);
    finish_top_entries(request, list, digest);
    return {};
  }
  reading_mark& mark = *scratch.first_of<reading_mark>(digest.mark);
  mark_row(mark, policy, source, digest, quick_total);
  add_requested(policy, source, request, tops->data(), mark, list, digest);
  return {};
}

template <class Policy, class Scalar>
[[nodiscard]] status build_digest(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const read_request& request, row_digest& digest, workspace& scratch) noexcept {
  if (const status why = check_read(row, transform, request); !why.ok()) return why;
  const kept_subnormals order;
  const kernel::row_source<Scalar> source = open(row, transform);
  const digest_layout layout = layout_of(source.size, transform, request);
  digest.kind = row.kind();
  digest.valid_size = source.size;
  digest.temperature = transform.temperature;
  digest.minimum_probability = request.minimum_probability;
  kernel::candidate_list list;
  const bool listed = take_top_entries(layout, list, digest, scratch);
  const auto mark_slice = scratch.take_slice<std::byte>(marked_row_size);
  if (!listed || !mark_slice) return row_error(errc::workspace_too_small);
  digest.mark = {mark_slice->offset, 1};  // not the rest of marked_row, because it is internal
  *scratch.first_of<reading_mark>(digest.mark) = {};
  if (transform.greedy()) [[unlikely]]
    return read_point_mass(policy, source, request, list, digest);
  return read_values(policy, source, transform, request, layout, list, digest, scratch);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
