// SPDX-License-Identifier: Apache-2.0
//! Computes digests of whole rows with Thrust: the results of `read_rows` before any truncation.
#ifndef SPECVERIFY_DEVICE_DETAIL_DIGEST_HPP
#define SPECVERIFY_DEVICE_DETAIL_DIGEST_HPP

#include <specverify/device/detail/rows.hpp>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/integer_weights.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Returns the integer that is stored temporarily at the address of a block's future sum.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t key_at(const double* place) noexcept {
  return kernel::bits_as<std::uint64_t>(*place);
}

//! Finds the largest of a block's first logits. The reference of a row is the largest of these over all blocks.
template <class Scalar>
struct sample_block {
  device_batch<Scalar> batch;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const auto row = open_row(batch.rows, batch.transform, i / batch.digests.blocks);
    const auto first = static_cast<std::uint32_t>(i % batch.digests.blocks) * kernel::block_size;
    std::uint64_t best = 0;
    for (std::uint32_t id = first; id < first + kernel::sampled_ids && id < row.size; ++id) {
      const float value = row.value(id);
      const std::uint64_t key = kernel::is_nan(value) ? 0 : order_key(value, id);
      if (key > best) best = key;
    }
    batch.digests.block_sums[i] = kernel::bits_as<double>(best);
  }
};

//! Sets a row's temperature and the reference of its exponents.
template <class Scalar>
struct open_digest {
  device_batch<Scalar> batch;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const device_digests& out = batch.digests;
    const auto row = open_row(batch.rows, batch.transform, r);
    device_digest digest;
    digest.made_by = digest_source::row;
    digest.temperature = temperature_of(batch.transform, r);
    digest.one_hot = is_greedy(digest.temperature);
    if (!is_usable_temperature(digest.temperature)) digest.why = {errc::invalid_temperature, part::row, 0};
    std::uint64_t best = 0;
    for (std::uint32_t b = 0; b < out.blocks; ++b) best = larger{}(best, key_at(out.block_sums + r * out.blocks + b));
    digest.reference = best == 0 ? kernel::negative_infinity<float>() : row.value(id_of_key(best));
    out.rows[r] = digest;
    out.parts[r] = 0;
  }
};

//! Computes the sum and the largest logit of a lane; the largest logit is NaN if the lane has a NaN.
template <class Scalar>
struct sum_lane {
  device_batch<Scalar> batch;
  bool again;  // whether to read only rows whose reference was unsuitable
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const auto at = lane_place::of(i, batch.digests.blocks);
    const device_digest& digest = batch.digests.rows[at.row];
    if (!digest.why.ok() || (again && batch.digests.parts[at.row] == 0)) return;
    const auto row = open_row(batch.rows, batch.transform, at.row);
    const kernel::envelope<float> weight{digest.reference,
                                         kernel::coarse_scale(digest.one_hot ? 1.0 : digest.temperature), false};
    const std::uint32_t first = at.block * kernel::block_size;
    const std::uint32_t end = first + kernel::block_width(row.size - first);
    float sum = 0, top = kernel::negative_infinity<float>();
    bool has_nan = false;
    for (std::uint32_t id = at.first(); id < end; id += kernel::lane_count) {
      const float value = id < row.size ? row.value(id) : kernel::negative_infinity<float>();
      has_nan = has_nan || kernel::is_nan(value);
      if (value > top) top = value;
      sum += weight(value);
    }
    batch.digests.lane_sums[i] = sum;
    batch.digests.lane_maxima[i] = has_nan ? kernel::bits_as<float>(std::uint32_t{0x7FC00000u}) : top;
  }
};

//! Finds the largest logit of a block from the lanes.
struct top_of_block {
  device_digests out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    std::uint64_t best = 0;
    for (std::uint32_t j = 0; j < kernel::lane_count; ++j)
      best = larger{}(
          best, order_key(out.lane_maxima[i * kernel::lane_count + j], static_cast<std::uint32_t>(i % out.blocks)));
    out.block_sums[i] = kernel::bits_as<double>(best);
  }
};

//! Finds the argmax of a row or the row's error, and whether the reference is suitable.
template <class Scalar>
struct find_top {
  device_batch<Scalar> batch;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const device_digests& out = batch.digests;
    device_digest digest = out.rows[r];
    if (!digest.why.ok()) return;
    const auto row = open_row(batch.rows, batch.transform, r);
    std::uint64_t best = 0;
    for (std::uint32_t b = 0; b < out.blocks; ++b) best = larger{}(best, key_at(out.block_sums + r * out.blocks + b));
    const std::uint32_t id = least_id(row, out.lane_maxima + r * out.blocks * kernel::lane_count, id_of_key(best));
    const float value = row.value(id);
    if (kernel::is_nan(value)) {
      digest.why = {errc::row_has_nan, part::row, id};
    } else if (kernel::is_positive_infinity(value)) {
      digest.why = {errc::row_has_positive_infinity, part::row, id};
    } else if (!kernel::is_finite(value)) {
      digest.why = {errc::row_is_empty, part::row, 0};
    } else {
      digest.argmax = static_cast<token_id>(id);
      digest.maximum = value;
      const bool serves =
          kernel::is_finite(digest.reference) && static_cast<double>(value) - static_cast<double>(digest.reference) <=
                                                     kernel::coarse_range * digest.temperature;
      out.parts[r] = serves || digest.one_hot ? 0 : 1;
      if (!serves || digest.one_hot) digest.reference = value;
    }
    out.rows[r] = digest;
  }

  //! Returns the least id of a block that has the block's largest value.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE static std::uint32_t least_id(const kernel::row_source<Scalar>& row,
                                                                              const float* maxima,
                                                                              std::uint32_t block) noexcept {
    const std::uint32_t first = block * kernel::block_size;
    maxima += block * kernel::lane_count;
    std::uint64_t best = 0;
    for (std::uint32_t j = 0; j < kernel::lane_count; ++j) best = larger{}(best, order_key(maxima[j], 0));
    std::uint32_t end = first + kernel::block_size < row.size ? first + kernel::block_size : row.size;
    std::uint32_t least = first;
    for (std::uint32_t j = 0; j < kernel::lane_count; ++j) {
      if (order_key(maxima[j], 0) != best) continue;
      for (std::uint32_t id = first + j; id < end; id += kernel::lane_count) {
        if (order_key(row.value(id), 0) != best) continue;
        least = end = id;  // later lanes search only before it
        break;
      }
    }
    return least;
  }
};

//! Computes the sum of a block from the lanes.
struct sum_block {
  device_digests out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    out.block_sums[i] = kernel::lane_tree(out.lane_sums + i * kernel::lane_count);
  }
};

//! Sums the blocks of a row and computes the other fields of the digest. `terms` are the terms of the exact sum, or
//! null. `totals` is W, or null.
struct close_digest {
  device_digests out;
  const double* terms;
  std::uint32_t term_count;
  const std::uint64_t* totals;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    device_digest& digest = out.rows[r];
    if (!digest.why.ok()) return;
    if (totals != nullptr) digest.total_weight = digest.one_hot ? kernel::weight_one : totals[r];
    if (digest.one_hot) {
      digest.coarse_total = digest.lower = digest.upper = 1;
      if (terms != nullptr) digest.normaliser = 1;
      return;
    }
    double total = 0;
    for (std::uint32_t b = 0; b < out.blocks; ++b) total += out.block_sums[r * out.blocks + b];
    digest.coarse_total = total;
    digest.upper = total * (1.0 + kernel::coarse_margin);
    digest.lower = total / kernel::coarse_excess * (1.0 - kernel::coarse_margin);
    if (terms == nullptr) return;
    digest.normaliser = sum_of_terms(terms + r * term_count, term_count);
    digest.lower = digest.upper = digest.normaliser;
  }
};

//! Computes one term of a row's exact sum, under the digest's reference.
template <class Scalar>
struct term_of_digest {
  device_batch<Scalar> batch;
  double* terms;
  std::uint32_t count;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t r = i / count;
    const device_digest& digest = batch.digests.rows[r];
    if (!digest.why.ok() || digest.one_hot) return;
    terms[i] =
        exact_term(open_row(batch.rows, batch.transform, r), static_cast<std::uint32_t>(i % count) * kernel::exact_size,
                   {static_cast<double>(digest.reference), 1.0 / digest.temperature, false});
  }
};

[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE kernel::integer_weight weight_of(const device_digest& digest) noexcept {
  return {static_cast<double>(digest.maximum), kernel::weight_scale(digest.temperature), false};
}

//! Sums the integer weights of a lane; 0 if the digest has W.
template <class Scalar>
struct weight_of_lane {
  device_batch<Scalar> batch;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t operator()(std::size_t i) const noexcept {
    const auto at = lane_place::of(i, batch.digests.blocks);
    const device_digest& digest = batch.digests.rows[at.row];
    if (!digest.of_whole_row().ok() || digest.one_hot || digest.total_weight != 0) return 0;
    const auto row = open_row(batch.rows, batch.transform, at.row);
    const kernel::integer_weight weight = weight_of(digest);
    std::uint64_t sum = 0;
    for (std::uint32_t id = at.first(); id < at.end(row.size); id += kernel::lane_count)
      sum += weight(static_cast<double>(row.value(id)));
    return sum;
  }
};

//! Computes W of each row of a batch whose maxima are known, unless the digest has W.
template <class Policy, class Scalar>
SPECVERIFY_INLINE void sum_weights(const Policy& policy, const device_batch<Scalar>& batch, std::uint64_t* totals) {
  const std::size_t lanes = std::size_t{batch.digests.blocks} * kernel::lane_count;
  reduce_groups(policy, batch.rows.count, lanes, weight_of_lane<Scalar>{batch}, totals, plus{});
}

template <class Policy, class Scalar>
void write_whole_digests(const Policy& policy, const device_batch<Scalar>& batch, const device_request& request) {
  const std::size_t rows = batch.rows.count, blocks = rows * batch.digests.blocks;
  const std::size_t lanes = blocks * kernel::lane_count;
  const std::uint32_t terms = exact_terms(batch.rows.size);
  const temporary<double, Policy> term_room(policy, request.exact_normaliser ? rows * terms : 0);
  const temporary<std::uint64_t, Policy> total_room(policy, request.integer_total ? rows : 0);
  double* const exact = request.exact_normaliser ? term_room.data() : nullptr;
  std::uint64_t* const totals = request.integer_total ? total_room.data() : nullptr;
  for_each_index(policy, blocks, sample_block<Scalar>{batch});
  for_each_index(policy, rows, open_digest<Scalar>{batch});
  for_each_index(policy, lanes, sum_lane<Scalar>{batch, false});
  for_each_index(policy, blocks, top_of_block{batch.digests});
  for_each_index(policy, rows, find_top<Scalar>{batch});
  for_each_index(policy, lanes, sum_lane<Scalar>{batch, true});
  for_each_index(policy, blocks, sum_block{batch.digests});
  if (exact != nullptr) for_each_index(policy, rows * terms, term_of_digest<Scalar>{batch, exact, terms});
  if (totals != nullptr) sum_weights(policy, batch, totals);
  for_each_index(policy, rows, close_digest{batch.digests, exact, terms, totals});
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
