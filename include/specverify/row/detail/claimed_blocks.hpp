// SPDX-License-Identifier: Apache-2.0
//! Makes row statistics (`row_digest`) from an engine's claims about the blocks of a row. Reads a block only if the
//! claims are not enough.
#ifndef SPECVERIFY_ROW_DETAIL_CLAIMED_BLOCKS_HPP
#define SPECVERIFY_ROW_DETAIL_CLAIMED_BLOCKS_HPP

#include <specverify/kernel/scalar/blocks.hpp>
#include <specverify/row/detail/block_proposal.hpp>
#include <specverify/row/detail/digest.hpp>

#include <bit>
#if SPECVERIFY_WITH_SIMD
#include <specverify/kernel/simd/blocks.hpp>
#endif

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Returns a lower bound on the logits of all entries whose integer weight is at least `least`. The bound is slightly
//! too low, so that rounding loses no entry.
[[nodiscard]] inline float value_below(const row_digest& digest, std::uint32_t least) noexcept {
  const double octaves = numeric::log2((static_cast<double>(least) - 0.75) * 0x1.0p-31);
  const double size = digest.maximum < 0.0 ? -digest.maximum : digest.maximum;
  const double value = digest.maximum + digest.temperature * (octaves * 0.69314718055994530942 - 1e-5) - size * 1e-6;
  return value > -0x1.0p127 ? static_cast<float>(value) : -0x1.fffffep127f;
}

//! A row with claims about its blocks. The caller must have checked the row and the transform (`check_arguments`).
template <class Policy, class Scalar>
class claimed_row {
 public:
  claimed_row(Policy policy, const kernel::row_source<Scalar>& source, const row_blocks& blocks) noexcept
      : policy_(policy), source_(source), blocks_(blocks) {}

  [[nodiscard]] result<row_digest> build(const row_transform& transform, const read_request& request,
                                         workspace& scratch) const noexcept {
    const result<float> largest = largest_claim();
    if (!largest) return largest.error();
    const digest_layout layout = layout_of(source_.size, transform, request);
    row_digest digest;
    digest.valid_size = source_.size;
    digest.temperature = transform.temperature;
    digest.maximum = static_cast<double>(*largest);
    kernel::candidate_list list;
    const bool listed = take_top_entries(layout, list, digest, scratch);
    const auto mark_slice = scratch.take_slice<std::byte>(marked_row_size);
    if (!listed || !mark_slice) return row_error(errc::workspace_too_small);
    digest.mark = {mark_slice->offset, 1};
    reading_mark& mark = *scratch.first_of<reading_mark>(digest.mark);
    mark = {};
    if (const status why = find_argmax(digest); !why.ok()) return why;
    if (transform.greedy()) {
      point_mass(request, list, digest);
      return digest;
    }
    if (!enter_sums(digest, scratch)) return row_error(errc::workspace_too_small);
    mark_row(mark, policy_, source_, digest, 0);
    reinterpret_cast<marked_row<Policy, Scalar>&>(mark).propose = propose_from_claim<Policy, Scalar>;
    list.dropped = layout.capacity == 0;
    if (layout.capacity > 0) {
      if (const status why = gather(digest, list, scratch); !why.ok()) return why;
    }
    finish_top_entries(request, list, digest);
    return digest;
  }

  //! Checks every claim against the whole row.
  [[nodiscard]] status check(const row_transform& transform) const noexcept {
    if (const result<float> largest = largest_claim(); !largest.ok()) return largest.error();
    float buffer[kernel::block_size];
    for (std::uint32_t b = 0; b < count(); ++b) {
      const kernel::row_source<float> block = open_block(source_, b * blocks_.block_size, blocks_.block_size, buffer);
      if (const status why = compare(b, block, kernel::find_maximum(policy_, block)); !why.ok()) return why;
      const auto maximum = static_cast<double>(blocks_.maxima[b]), sum = static_cast<double>(blocks_.sums[b]);
      if (transform.greedy() || kernel::is_negative_infinity(maximum)) continue;
      const double exact = kernel::exact_sum(policy_, block, {maximum, 1.0 / transform.temperature, false});
      const double apart = sum < exact ? exact - sum : sum - exact;
      if (apart > (blocks_.error + 0x1.0p-40) * exact) return row_error(errc::blocks_disagree, b * blocks_.block_size);
    }
    return {};
  }

 private:
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(blocks_.maxima.size()); }
  [[nodiscard]] status compare(std::uint32_t b, const kernel::row_source<float>& block,
                               const kernel::row_extremes<float>& found) const noexcept {
    return compare_maximum(block, found, blocks_.maxima[b], b * blocks_.block_size);
  }

  //! Checks that the claims are possible, and returns the largest claimed maximum.
  [[nodiscard]] result<float> largest_claim() const noexcept {
    if (!fits_blocks(blocks_.block_size) || !fits_error(blocks_.error)) return row_error(errc::invalid_argument);
    const std::uint32_t wanted = kernel::block_count(source_.size, blocks_.block_size);
    if (blocks_.maxima.size() != wanted || blocks_.sums.size() != wanted) return row_error(errc::size_mismatch);
    float best = kernel::negative_infinity<float>();
    for (std::uint32_t b = 0; b < wanted; ++b) {
      const std::uint32_t first = b * blocks_.block_size, left = source_.size - first;
      const std::uint32_t ids = left < blocks_.block_size ? left : blocks_.block_size;
      const status why = check_claim(blocks_.maxima[b], blocks_.sums[b], ids, blocks_.error, first);
      if (!why.ok()) return why;
      if (blocks_.maxima[b] > best) best = blocks_.maxima[b];
    }
    if (kernel::is_negative_infinity(best)) return row_error(errc::row_is_empty);
    return best;
  }

  //! Finds the argmax by reading the first block that claims the largest maximum.
  [[nodiscard]] status find_argmax(row_digest& digest) const noexcept {
    std::uint32_t at = 0;
    while (static_cast<double>(blocks_.maxima[at]) < digest.maximum) ++at;
    float buffer[kernel::block_size];
    const kernel::row_source<float> block = open_block(source_, at * blocks_.block_size, blocks_.block_size, buffer);
    const auto found = kernel::find_maximum(policy_, block);
    if (const status why = compare(at, block, found); !why.ok()) return why;
    digest.argmax = static_cast<token_id>(at * blocks_.block_size + found.argmax);
    return {};
  }

  //! Copies the claimed maxima into the workspace, and the claimed sums relative to the row's maximum; bounds Z.
  //! Returns false if the workspace is too small.
  [[nodiscard]] bool enter_sums(row_digest& digest, workspace& scratch) const noexcept {
    const auto maxima_slice = scratch.take_slice<float>(count());
    const auto sums_slice = scratch.take_slice<double>(count());
    if (!maxima_slice || !sums_slice) return false;
    float* maxima = scratch.first_of<float>(*maxima_slice);
    double* sums = scratch.first_of<double>(*sums_slice);
    const kernel::exact_weight weight{digest.maximum, 1.0 / digest.temperature, false};
    kernel::write_exact(policy_, blocks_.maxima.data(), count(), weight, sums);
    double total = 0;
    for (std::uint32_t b = 0; b < count(); ++b) {
      maxima[b] = blocks_.maxima[b];
      if (sums[b] > 0.0) sums[b] *= static_cast<double>(blocks_.sums[b]);
      total += sums[b];
    }
    digest.lane_sums = *maxima_slice;
    digest.block_sums = *sums_slice;
    digest.claimed_size = blocks_.block_size;
    digest.reference = digest.maximum;
    digest.coarse_total = total;
    digest.lower = claimed_lower(total, blocks_.error);
    digest.upper = claimed_upper(total, blocks_.error);
    return true;
  }

  //! Gathers the top entries. Reads only the blocks whose maximum is among the `wanted` largest maxima or equals the
  //! smallest of them.
  [[nodiscard]] status gather(const row_digest& digest, kernel::candidate_list& list,
                              workspace& scratch) const noexcept {
    const workspace_scope temporary(scratch);
    const auto tops = scratch.take<std::uint32_t>(count());
    if (!tops) return row_error(errc::workspace_too_small);
    const kernel::integer_weight weight = weights_of(source_, digest.maximum, digest.temperature);
    (void)kernel::write_weights(policy_, blocks_.maxima.data(), count(), weight, tops->data());
    const std::uint32_t least = kernel::radix_cut(tops->data(), count(), list.wanted, false).weight;
    const float bar = value_below(digest, least), any = value_below(digest, 1);
    std::uint32_t floor = least - 1;
    float buffer[kernel::block_size];
    std::uint64_t reaching[kernel::block_size / 64];
    for (std::uint32_t b = 0; b < count(); ++b) {
      list.dropped = list.dropped || ((*tops)[b] > 0 && (*tops)[b] < least);
      if ((*tops)[b] < least) continue;
      const std::uint32_t first = b * blocks_.block_size;
      const kernel::row_source<float> block = open_block(source_, first, blocks_.block_size, buffer);
      if (const status why = compare(b, block, kernel::find_maximum(policy_, block)); !why.ok()) return why;
      kernel::write_reaching(policy_, block.data, block.size, list.dropped ? bar : any, reaching);
      for (std::uint32_t part = 0; part < block.size; part += 64) {
        for (std::uint64_t left = reaching[part / 64]; left != 0; left &= left - 1) {
          const std::uint32_t i = part + static_cast<std::uint32_t>(std::countr_zero(left));
          kernel::push_candidate(list, static_cast<token_id>(first + i), weight(static_cast<double>(block.data[i])),
                                 floor);
        }
      }
    }
    (void)kernel::shrink(list);
    return {};
  }

  Policy policy_;
  kernel::row_source<Scalar> source_;
  const row_blocks& blocks_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
