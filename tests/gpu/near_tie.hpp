// SPDX-License-Identifier: Apache-2.0
//! How near a decision came to another outcome, in long double: one that differs must have had a near tie.
#ifndef SPECVERIFY_TESTS_GPU_NEAR_TIE_HPP
#define SPECVERIFY_TESTS_GPU_NEAR_TIE_HPP

#include <specverify/device/batch.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/locate.hpp>
#include <specverify/row/acceptance.hpp>
#include <specverify/row/residual.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gpu_tests {

using namespace specverify;

//! A row as draws and tests see it.
struct drawn_from {
  std::vector<double> values;  //!< after bias and mask
  device_digest digest;
  const double* block_sums;
  const float* lane_sums;
  std::uint32_t blocks;
  std::vector<token_id> kept;  //!< of a truncated row

  [[nodiscard]] long double weight(std::size_t id) const {
    const auto token = static_cast<token_id>(id);
    if (digest.one_hot) return token == digest.argmax ? 1 : 0;
    if (digest.truncated && !std::binary_search(kept.begin(), kept.end(), token)) return 0;
    const long double x = (static_cast<long double>(values[id]) - static_cast<long double>(digest.reference)) /
                          static_cast<long double>(digest.temperature);
    return x >= -700 ? std::exp(x) : 0;
  }
  [[nodiscard]] long double total() const {
    long double sum = 0;
    for (std::size_t id = 0; id < values.size(); ++id) sum += weight(id);
    return sum;
  }
};

//! What is taken from the law of a row before a draw: nothing, a law, or a point mass (residual draws).
struct taken_from {
  const law* source = nullptr;
  token_id point = no_token;
  long double total = 0;  //!< of the row's weights; not looked at where nothing is taken

  [[nodiscard]] bool is_nothing() const { return source == nullptr && point == no_token; }
  [[nodiscard]] long double left(std::size_t id, long double weight) const {
    if (is_nothing() || !(weight > 0)) return weight;
    const auto token = static_cast<token_id>(id);
    long double share = token == point ? 1 : 0;
    if (source != nullptr)
      share = static_cast<long double>(source->count(token)) / static_cast<long double>(source->resolution);
    return std::max(weight - share * total, 0.0L);
  }
};

inline long double distance_of(long double a, long double b) {
  const long double most = std::max(std::fabs(a), std::fabs(b));
  return most > 0 ? std::fabs(a - b) / most : 1;
}

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
inline long double closest_of_trial(const drawn_from& row, const taken_from& taken, const random_block& random) {
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
  const std::size_t id = first + at * kernel::lane_count;
  const long double tested =
      static_cast<long double>(decision_uniform(random, 1)) * static_cast<long double>(entries[at]);
  const long double scale = static_cast<long double>(kernel::envelope_slack) * correction, weight = row.weight(id);
  const long double limit = scale * taken.left(id, weight);
  // A rest that is small next to its weight is no more exact than that.
  return std::min(nearest, std::fabs(tested - limit) / std::max(tested, scale * weight));
}

//! The nearest that the exact rule comes to another outcome: of the sum over what is left, or of whether anything is.
inline long double closest_of_rule(const drawn_from& row, const taken_from& taken, double uniform) {
  std::vector<long double> entries;
  long double mass = 0;
  for (std::size_t id = 0; id < row.values.size(); ++id) {
    entries.push_back(taken.left(id, row.weight(id)));
    mass += entries.back();
  }
  long double nearest = 1;
  if (!taken.is_nothing()) {
    const long double least = static_cast<long double>(residual_mass_floor) * taken.total;
    nearest = distance_of(mass, least);
    if (mass < least) return std::min(nearest, closest_of_rule(row, {}, uniform));  // a draw from the row itself
  }
  const long double target = static_cast<long double>(uniform) * mass;
  long double before = 0;
  for (const long double entry : entries) {
    before += entry;
    nearest = std::min(nearest, std::fabs(before - target) / mass);
  }
  return nearest;
}

//! The nearest that a draw comes to another outcome: in one of its trials, or in the exact rule behind them.
template <class Stream>
long double closest_draw(const drawn_from& row, taken_from taken, const Stream& random, std::uint32_t trials,
                         std::uint32_t trial_cap) {
  if (row.digest.one_hot) return 1;  // no random number is read
  if (!taken.is_nothing()) taken.total = row.total();
  if (row.digest.truncated) return closest_of_rule(row, taken, random.uniform(0));
  long double nearest = 1;
  for (std::uint32_t t = 0; t < trials; ++t) nearest = std::min(nearest, closest_of_trial(row, taken, random.block(t)));
  return trials < trial_cap ? nearest : std::min(nearest, closest_of_rule(row, taken, random.uniform(trial_cap)));
}

//! The nearest that the test of a token comes to another outcome.
inline long double closest_test(const drawn_from& row, const drafted_token& drafted, double uniform) {
  if (drafted.token < 0 || static_cast<std::size_t>(drafted.token) >= row.values.size()) return 1;
  const long double weight = row.weight(static_cast<std::size_t>(drafted.token));
  if (row.digest.one_hot || drafted.count == 0 || !(weight > 0)) return 1;
  const long double asked = static_cast<long double>(uniform) * static_cast<long double>(drafted.count) * row.total();
  return distance_of(asked, static_cast<long double>(drafted.resolution) * weight);
}

//! How many draws of a perturbation come within 2^-20 of another outcome.
template <class Source>
std::uint32_t close_draws(const std::vector<double>& values, token_id token, const perturbation_options& options,
                          const uniforms<Source>& random) {
  const double most = *std::max_element(values.begin(), values.end());
  std::uint32_t close = 0;
  for (std::uint32_t m = 0; m < options.samples; ++m) {
    const long double temperature = static_cast<long double>(options.maximum_temperature *
                                                             random.at(purpose::perturbation_temperature, m).uniform());
    const auto weight = [&](double value) -> long double {
      const long double x = (static_cast<long double>(value) - static_cast<long double>(most)) / temperature;
      return x >= -700 ? std::exp(x) : 0;
    };
    if (temperature < 1e-6L) continue;  // a point mass
    long double total = 0;
    for (const double value : values) total += weight(value);
    const long double drawn = static_cast<long double>(random.at(purpose::perturbed_draw, m).uniform());
    const long double mine = weight(values[static_cast<std::size_t>(token)]);
    if (mine > 0 && distance_of(drawn * total, mine) <= 0x1p-20L) ++close;
  }
  return close;
}

}  // namespace gpu_tests

#endif
