// SPDX-License-Identifier: Apache-2.0
//! How near a draw came to another outcome, in long double: a draw that differs must have had a near tie.
#ifndef SPECVERIFY_TESTS_GPU_NEAR_TIE_HPP
#define SPECVERIFY_TESTS_GPU_NEAR_TIE_HPP

#include <specverify/device/batch.hpp>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/locate.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gpu_tests {

using namespace specverify;

//! A row as draws see it.
struct drawn_from {
  std::vector<double> values;  //!< after bias and mask
  device_digest digest;
  const double* block_sums;
  const float* lane_sums;
  std::uint32_t blocks;

  [[nodiscard]] long double weight(std::size_t id) const {
    const long double x = (static_cast<long double>(values[id]) - static_cast<long double>(digest.reference)) /
                          static_cast<long double>(digest.temperature);
    return x >= -700 ? std::exp(x) : 0;
  }
};

//! The distance of `position` to the next border of `entries`, as a share of their sum; moves it behind the border
//! before it. `at`: the entry that it is in.
template <class Entry>
long double to_border(const Entry* entries, std::size_t count, long double& position, std::size_t& at) {
  long double sum = 0, start = 0, nearest = 1;
  bool found = false;
  at = count;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<long double>(entries[i]);
  long double before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    nearest = std::min(nearest, std::fabs(before - position) / sum);
    if (!found && entries[i] > 0) at = i, start = before;
    before += static_cast<long double>(entries[i]);
    found = found || before > position;
  }
  position -= start;
  return nearest;
}

//! The nearest that trial `random` comes to another outcome.
inline long double closest_of_trial(const drawn_from& row, const random_block& random) {
  const kernel::envelope<float> envelope{row.digest.reference, kernel::coarse_scale(row.digest.temperature), false};
  long double position =
      static_cast<long double>(decision_uniform(random, 0)) * static_cast<long double>(row.digest.coarse_total);
  std::size_t block = 0, lane = 0, at = 0;
  long double nearest = to_border(row.block_sums, row.blocks, position, block);
  if (block == row.blocks) return nearest;
  const float* lanes = row.lane_sums + block * kernel::lane_count;
  nearest = std::min(nearest, to_border(lanes, kernel::lane_count, position, lane));
  if (lane == kernel::lane_count) return nearest;
  std::vector<float> entries;
  const std::size_t first = block * kernel::block_size + lane, end = (block + 1) * kernel::block_size;
  for (std::size_t id = first; id < end && id < row.values.size(); id += kernel::lane_count)
    entries.push_back(envelope(static_cast<float>(row.values[id])));
  long double sum = 0;
  for (const float entry : entries) sum += static_cast<long double>(entry);
  const long double correction = sum / static_cast<long double>(lanes[lane]);
  position *= correction;
  nearest = std::min(nearest, to_border(entries.data(), entries.size(), position, at));
  if (at == entries.size()) return nearest;
  const long double tested =
      static_cast<long double>(decision_uniform(random, 1)) * static_cast<long double>(entries[at]);
  const long double limit =
      static_cast<long double>(kernel::envelope_slack) * correction * row.weight(first + at * kernel::lane_count);
  return std::min(nearest, std::fabs(tested - limit) / std::max(tested, limit));
}

//! The nearest that a draw comes to another outcome: in one of its trials, or in the exact rule behind them.
template <class Stream>
long double closest_decision(const drawn_from& row, const Stream& random, std::uint32_t trials,
                             std::uint32_t trial_cap) {
  long double nearest = 1;
  for (std::uint32_t t = 0; t < trials; ++t) nearest = std::min(nearest, closest_of_trial(row, random.block(t)));
  if (trials < trial_cap) return nearest;
  long double mass = 0, before = 0;
  for (std::size_t id = 0; id < row.values.size(); ++id) mass += row.weight(id);
  const long double target = static_cast<long double>(random.uniform(trial_cap)) * mass;
  for (std::size_t id = 0; id < row.values.size(); ++id) {
    before += row.weight(id);
    nearest = std::min(nearest, std::fabs(before - target) / mass);
  }
  return nearest;
}

}  // namespace gpu_tests

#endif
