// SPDX-License-Identifier: Apache-2.0
//! Makes one proposal of the canonical draw (row/sample.hpp): uses serial prefix sums in double to pick block, lane and
//! id from one uniform random number.
#ifndef SPECVERIFY_ROW_DETAIL_PROPOSAL_HPP
#define SPECVERIFY_ROW_DETAIL_PROPOSAL_HPP

#include <specverify/core/uniforms.hpp>
#include <specverify/row/detail/block_proposal.hpp>
#include <specverify/row/detail/total.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

using kernel::envelope_slack;

//! Envelopes of the ids of one lane in a block, and their sum.
struct lane_envelopes {
  static constexpr std::uint32_t most = kernel::block_size / kernel::lane_count;
  float entries[most];
  std::uint32_t count = 0;
  double sum = 0;
};

//! Fills in the envelopes of a lane whose first id is `first`.
template <class Scalar>
SPECVERIFY_INLINE void fill_lane(const kernel::row_source<Scalar>& source, const row_digest& digest,
                                 std::uint32_t first, lane_envelopes& lane) noexcept {
  using work = kernel::working<Scalar>;
  const kernel::envelope<work> weight{
      static_cast<work>(digest.reference),
      digest.kind == row_kind::probabilities ? 1.0f : kernel::coarse_scale(digest.temperature),
      digest.kind == row_kind::probabilities};
  constexpr std::uint32_t per_lane = lane_envelopes::most;
  std::uint32_t count = 0;
  const auto fill = [&](const kernel::row_source<Scalar>& seen) noexcept {
    for (std::uint32_t id = first; count < per_lane && id < seen.size; id += kernel::lane_count) {
      lane.entries[count] = weight(seen.value(id));
      lane.sum += static_cast<double>(lane.entries[count++]);
    }
  };
  if (source.mask == nullptr && source.bias_count == 0) [[likely]] {  // most rows: the loop then needs no checks
    kernel::row_source<Scalar> plain = source;
    plain.mask = nullptr;
    plain.bias_count = 0;
    fill(plain);
  } else {
    fill(source);
  }
  lane.count = count;
}

template <class Policy, class Scalar>
[[nodiscard]] inline proposal propose(Policy policy, const kernel::row_source<Scalar>& source, const row_digest& digest,
                                      workspace_base base, double uniform) noexcept {
  if (digest.claimed_size != 0) [[unlikely]]
    return base.first_of<marked_row<Policy, Scalar>>(digest.mark)->propose(policy, source, digest, base, uniform);
  const double* blocks = base.at<double>(digest.block_sums).data();
  const float* lanes = base.at<float>(digest.lane_sums).data();
  double position = uniform * digest.coarse_total;
  const std::size_t block = locate(blocks, static_cast<std::size_t>(digest.block_sums.count), position);
  if (block == digest.block_sums.count) return {};
  const float* block_lanes = lanes + block * kernel::lane_count;
  const std::size_t lane = locate(block_lanes, kernel::lane_count, position);
  if (lane == kernel::lane_count) return {};
  const auto first = static_cast<std::uint32_t>(block * kernel::block_size + lane);
  lane_envelopes found;
  fill_lane(source, digest, first, found);
  const double correction = found.sum / static_cast<double>(block_lanes[lane]);
  position *= correction;
  const std::size_t at = locate(found.entries, found.count, position);
  if (at == found.count) return {};
  return {static_cast<token_id>(first + static_cast<std::uint32_t>(at) * kernel::lane_count),
          static_cast<double>(found.entries[at]),
          correction,
          {}};
}

//! Implements `inverse` for a truncated row.
template <class Weight>
[[nodiscard]] inline token_id inverse_of_kept(const row_digest& digest, workspace_base base, double target,
                                              const Weight& weight) noexcept {
  const auto ids = base.at<token_id>(digest.kept_ids);
  const auto weights = base.at<double>(digest.kept_weights);
  token_id last = no_token;
  double sum = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const double entry = weight(ids[i], weights[i]);
    if (!(entry > 0.0)) continue;
    last = ids[i];
    sum += entry;
    if (sum > target) break;
  }
  return last;
}

//! Returns the least id with a positive weight at which the running sum of weights exceeds `target`. If rounding keeps
//! the whole sum below `target`, returns the last id with a positive weight. `weight(id, e_v)` maps the exact weight of
//! a token to the weight to draw from.
template <class Policy, class Scalar, class Weight>
[[nodiscard]] inline token_id inverse(Policy policy, const kernel::row_source<Scalar>& source, const row_digest& digest,
                                      workspace_base base, double target, const Weight& weight) noexcept {
  (void)policy;
  if (digest.truncated) return inverse_of_kept(digest, base, target, weight);
  token_id last = no_token;
  double sum = 0;
  using work = kernel::working<Scalar>;
  const kernel::exact_weight exact = exact_of(digest);
  work buffer[kernel::exact_size];
  for (std::uint32_t first = 0; first < source.size; first += kernel::exact_size) {
    const work* values = kernel::load(source, first, kernel::exact_size, buffer);
    for (std::uint32_t i = 0; i < kernel::exact_size && first + i < source.size; ++i) {
      const auto id = static_cast<token_id>(first + i);
      const double entry = weight(id, exact(static_cast<double>(values[i])));
      if (!(entry > 0.0)) continue;
      last = id;
      sum += entry;
      if (sum > target) return last;
    }
  }
  return last;
}

//! Returns the sum of the weights that `inverse` adds, in the same order.
template <class Policy, class Scalar, class Weight>
[[nodiscard]] inline double inverse_total(Policy policy, const kernel::row_source<Scalar>& source,
                                          const row_digest& digest, workspace_base base,
                                          const Weight& weight) noexcept {
  double sum = 0;
  (void)inverse(policy, source, digest, base, 1.0e300, [&](token_id id, double exact) noexcept {
    const double entry = weight(id, exact);
    if (entry > 0.0) sum += entry;
    return entry;
  });
  return sum;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
