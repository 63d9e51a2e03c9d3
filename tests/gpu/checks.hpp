// SPDX-License-Identifier: Apache-2.0
//! What kernels of cuda/ must find: that of exec::seq. One function a kernel; `check_batch` lists them.
#ifndef SPECVERIFY_TESTS_GPU_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_CHECKS_HPP

#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>

#include <specverify/device/batch.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/locate.hpp>
#include <specverify/row/acceptance.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/residual.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <gpu/batches.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gpu_tests {

using namespace specverify;

// Near ties: the distance of a decision from another outcome, in long double. Only a near tie may be decided otherwise.

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

template <class T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

//! Whether a call was taken. What is refused here is a mistake of the check.
inline bool taken(status why, const char* call, tally& found) {
  if (!why.ok()) found.complain(std::string(call) + ": error " + std::to_string(static_cast<int>(why.code)));
  return why.ok();
}

//! A row as the host reads it, with the memory that this takes.
template <class Scalar>
struct host_reading {
  host_reading(const batch<Scalar>& rows, std::uint32_t r, const read_request& wanted = {}, std::size_t more = 0)
      : bytes(digest_workspace_size(rows.how.size, rows.host_transform(r), wanted) + more),
        scratch(std::span<std::byte>(bytes)),
        row(read_row(exec::seq, rows.host_row(r), rows.host_transform(r), wanted, scratch)) {}
  std::vector<std::byte> bytes;
  workspace scratch;
  result<row_reading<exec::seq_policy, Scalar>> row;
};

// ---- read_rows

//! The digests of a batch, copied to the host.
template <class Scalar>
struct copied_digests {
  std::uint32_t blocks;
  std::vector<device_digest> rows;
  std::vector<double> block_sums;
  std::vector<float> lane_sums, lane_maxima;
  std::size_t capacity;
  std::vector<token_id> kept_ids;
  std::vector<double> kept_weights;

  explicit copied_digests(const device_batch<Scalar>& from)
      : blocks(from.digests.blocks),
        rows(from.digests.count),
        block_sums(rows.size() * blocks),
        lane_sums(rows.size() * blocks * kernel::lane_count),
        lane_maxima(lane_sums.size()),
        capacity(from.digests.kept_capacity),
        kept_ids(rows.size() * capacity),
        kept_weights(kept_ids.size()) {
    scene::copy(rows.data(), from.digests.rows, rows.size() * sizeof(device_digest));
    scene::copy(block_sums.data(), from.digests.block_sums, block_sums.size() * sizeof(double));
    scene::copy(lane_sums.data(), from.digests.lane_sums, lane_sums.size() * sizeof(float));
    scene::copy(lane_maxima.data(), from.digests.lane_maxima, lane_maxima.size() * sizeof(float));
    scene::copy(kept_ids.data(), from.digests.kept_ids, kept_ids.size() * sizeof(token_id));
    scene::copy(kept_weights.data(), from.digests.kept_weights, kept_weights.size() * sizeof(double));
  }
  //! What a truncated row keeps.
  [[nodiscard]] std::vector<token_id> kept_of(std::uint32_t r) const {
    if (!rows[r].why.ok() || !rows[r].truncated) return {};
    const auto first = kept_ids.begin() + static_cast<std::ptrdiff_t>(r * capacity);
    return {first, first + rows[r].kept};
  }
};

//! What is kept of a truncated row: ids, their weights and sums.
template <class Scalar, class Expected>
void compare_kept(const copied_digests<Scalar>& made, const Expected& expected, std::uint32_t size, std::uint32_t r,
                  tally& found) {
  const auto ids = expected.space.template at<token_id>(expected.value.kept_ids);
  const auto weights = expected.space.template at<double>(expected.value.kept_weights);
  const device_digest& digest = made.rows[r];
  const double* const first = made.kept_weights.data() + r * made.capacity;
  found.expect(digest.kept == ids.size() && digest.kept <= made.capacity, "number of ids that are kept", size, r);
  if (digest.kept != ids.size() || digest.kept > made.capacity) return;
  const std::vector<token_id> kept = made.kept_of(r);
  found.expect(std::equal(ids.begin(), ids.end(), kept.begin()), "ids that are kept", size, r);
  found.expect(std::memcmp(weights.data(), first, weights.size() * sizeof(double)) == 0, "weights that are kept", size,
               r);
  found.expect(digest.total_weight == expected.value.total_weight, "W of what is kept", size, r);
  found.expect(same_bits(digest.normaliser, expected.value.normaliser), "Z of what is kept", size, r);
}

template <class Scalar>
void compare_digest(const batch<Scalar>& rows, const copied_digests<Scalar>& made, std::uint32_t r, tally& found) {
  const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), {});
  const device_digest& digest = made.rows[r];
  const auto expect = [&](bool right, const char* what) { found.expect(right, what, rows.how.size, r); };
  expect(digest.why == expected.outcome, "status of a digest");
  if (!expected.outcome.ok()) return;
  const row_digest& host = expected.value;
  expect(digest.argmax == host.argmax, "argmax of a digest");
  expect(same_bits(static_cast<double>(digest.maximum), host.maximum), "maximum");
  expect(same_bits(static_cast<double>(digest.reference), host.reference), "reference");
  expect(same_bits(digest.temperature, host.temperature), "temperature");
  expect(same_bits(digest.coarse_total, host.coarse_total), "coarse total");
  expect(same_bits(digest.lower, host.lower) && same_bits(digest.upper, host.upper), "bounds of Z");
  expect(digest.one_hot == host.one_hot && digest.truncated == host.truncated && digest.made_by == digest_source::row,
         "kind of a digest");
  if (host.truncated) compare_kept(made, expected, rows.how.size, r, found);
  if (host.one_hot || host.truncated) return;
  const std::size_t first = std::size_t{r} * made.blocks;
  const auto sums = expected.space.template at<double>(host.block_sums);
  const auto lanes = expected.space.template at<float>(host.lane_sums);
  expect(std::memcmp(made.block_sums.data() + first, sums.data(), sums.size() * sizeof(double)) == 0, "block sums");
  expect(
      std::memcmp(made.lane_sums.data() + first * kernel::lane_count, lanes.data(), lanes.size() * sizeof(float)) == 0,
      "lane sums");
  const std::vector<double> values = rows.values(r);
  std::vector<double> most(std::size_t{made.blocks} * kernel::lane_count, -row_cases::infinity);
  for (std::uint32_t id = 0; id < rows.how.size; ++id) {
    double& best = most[id / kernel::block_size * kernel::lane_count + id % kernel::lane_count];
    best = std::max(best, values[id]);
  }
  const auto same = [](double host_value, float value) { return host_value == static_cast<double>(value); };
  expect(std::equal(most.begin(), most.end(),
                    made.lane_maxima.begin() + static_cast<std::ptrdiff_t>(first * kernel::lane_count), same),
         "lane maxima");
}

//! The digests come back, for the checks of what is made of them.
template <class Scalar>
copied_digests<Scalar> check_digests(const batch<Scalar>& rows, tally& found) {
  (void)taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found);
  const copied_digests<Scalar> made(rows.made());
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) { compare_digest(rows, made, r, part); });
  return made;
}

//! Truncated rows with room for `capacity` ids: those that keep more say how many, the others are as with all room.
template <class Scalar>
void check_capacity(scene& where, const batch<Scalar>& rows, const copied_digests<Scalar>& whole,
                    std::uint32_t capacity, tally& found) {
  device_transform transform = rows.transform();
  transform.kept_capacity = capacity;
  const std::size_t bytes = device_batch_size(rows.rows(), transform);
  const array<std::byte> memory(where, bytes);
  const auto all = make_device_batch(rows.rows(), transform, {memory.data(), bytes});
  if (!taken(all.error(), "make_device_batch", found) || !taken(read_rows(exec::cuda{}, *all), "read_rows", found))
    return;
  const copied_digests<Scalar> made(*all);
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const device_digest &digest = made.rows[r], &host = whole.rows[r];
    const bool fits = !host.why.ok() || !host.truncated || host.kept <= made.capacity;
    const status expected = fits ? host.why : status{errc::support_too_large, part::row, host.kept};
    part.expect(digest.why == expected, "status of a row without room", rows.how.size, r);
    if (host.why.ok() && fits) part.expect(made.kept_of(r) == whole.kept_of(r), "ids in the room", rows.how.size, r);
  });
}

// ---- argmax

template <class Scalar>
void check_argmax(scene& where, const batch<Scalar>& rows, tally& found) {
  const array<device_argmax> out(where, rows.how.count);
  if (!taken(argmax(exec::cuda{}, rows.rows(), rows.transform(), out.data()), "argmax", found)) return;
  const std::vector<device_argmax> best = out.read();
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    row_transform transform = rows.host_transform(r);
    transform.temperature = 1;  // argmax asks for neither on the device
    transform.truncation = {};
    const auto expected = argmax(exec::seq, rows.host_row(r), transform);
    const device_argmax& device = best[r];
    part.expect(device.why == expected.error(), "status of an argmax", rows.how.size, r);
    if (!expected.ok()) return;
    part.expect(device.token == expected->token && device.near_tie == expected->near_tie &&
                    same_bits(device.margin, expected->margin),
                "argmax", rows.how.size, r);
  });
}

// ---- sample

template <class Scalar>
drawn_from drawn_from_row(const batch<Scalar>& rows, const copied_digests<Scalar>& made, std::uint32_t r) {
  const std::size_t first = std::size_t{r} * made.blocks;
  return {rows.values(r),
          made.rows[r],
          made.block_sums.data() + first,
          made.lane_sums.data() + first * kernel::lane_count,
          made.blocks,
          made.kept_of(r)};
}

//! Whether the distance of a decision is taken although it is the same: of one in sixteen. Not by the exact rule, whose
//! sum over a wide row is always near a border.
inline bool is_looked_at(std::uint32_t r, bool exact = false) { return r % 16 == 0 && !exact; }

//! Tokens of a batch at its places of now.
template <class Scalar>
void compare_draws(const batch<Scalar>& rows, const copied_digests<Scalar>& made,
                   const std::vector<device_token>& tokens, std::uint32_t trial_cap, tally& found) {
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const host_reading<Scalar> host(rows, r);
    const device_token& device = tokens[r];
    part.expect(device.why == host.row.error(), "status of a draw", rows.how.size, r);
    if (!host.row) return;
    const auto random = rows.uniforms_of(r).at(purpose::bonus_draw, 3);
    const auto expected = host.row->sample(random, {.trial_cap = trial_cap});
    const bool same = expected.ok() && device.token == expected->token && device.trials == expected->trials &&
                      device.exact == expected->exact;
    part.decide(same, is_looked_at(r, device.exact), tally::place_of("a draw", rows.how.size, r), [&] {
      const std::uint32_t trials = expected.ok() ? std::max(device.trials, expected->trials) : trial_cap;
      return closest_draw(drawn_from_row(rows, made, r), {}, random, std::min(trials, trial_cap), trial_cap);
    });
  });
}

template <class Scalar>
void check_draws(scene& where, const batch<Scalar>& rows, const copied_digests<Scalar>& made, std::uint32_t trial_cap,
                 tally& found) {
  const array<device_token> out(where, rows.how.count);
  const auto random = rows.uniforms_on().at(purpose::bonus_draw, 3);
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(sample(exec::cuda{}, rows.made(), random, out.data(), {trial_cap}), "sample", found))
    return;
  compare_draws(rows, made, out.read(), trial_cap, found);
}

// ---- select

template <class Scalar>
void check_selections(scene& where, const batch<Scalar>& rows, std::uint32_t k, tally& found) {
  const std::size_t count = rows.how.count;
  const array<device_support> supports(where, count);
  const array<token_id> ids(where, count * k);
  const array<std::uint32_t> weights(where, count * k);
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(select(exec::cuda{}, rows.made(), k, {supports.data(), ids.data(), weights.data(), k}), "select", found))
    return;
  const std::vector<device_support> made = supports.read();
  const std::vector<token_id> made_ids = ids.read();
  const std::vector<std::uint32_t> made_weights = weights.read();
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    read_request request;
    request.top_entries = k;
    const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), request);
    part.expect(made[r].why == expected.outcome, "status of a support", rows.how.size, r);
    if (!expected.outcome.ok()) return;
    const auto host_ids = expected.space.template at<token_id>(expected.value.top_ids);
    const auto host_weights = expected.space.template at<std::uint32_t>(expected.value.top_weights);
    const auto first = static_cast<std::ptrdiff_t>(std::size_t{r} * k);
    const bool same = made[r].size == host_ids.size() && made[r].complete == expected.value.top_complete &&
                      std::equal(host_ids.begin(), host_ids.end(), made_ids.begin() + first) &&
                      std::equal(host_weights.begin(), host_weights.end(), made_weights.begin() + first);
    part.expect(same, "support", rows.how.size, r);
  });
}

}  // namespace gpu_tests

#endif
