// SPDX-License-Identifier: Apache-2.0
//! What kernels of cuda/ must find: that of exec::seq. One function a kernel; `check_batch` lists them.
#ifndef SPECVERIFY_TESTS_GPU_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_CHECKS_HPP

#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>

#include <specverify/row/argmax.hpp>

#include <gpu/batches.hpp>
#include <gpu/near_tie.hpp>

namespace gpu_tests {

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
    request.survivors = k;
    const auto expected = row_cases::make_digest(exec::seq, rows.host_row(r), rows.host_transform(r), request);
    part.expect(made[r].why == expected.outcome, "status of a support", rows.how.size, r);
    if (!expected.outcome.ok()) return;
    const auto host_ids = expected.space.template at<token_id>(expected.value.survivor_ids);
    const auto host_weights = expected.space.template at<std::uint32_t>(expected.value.survivor_weights);
    const auto first = static_cast<std::ptrdiff_t>(std::size_t{r} * k);
    const bool same = made[r].size == host_ids.size() && made[r].complete == expected.value.survivors_complete &&
                      std::equal(host_ids.begin(), host_ids.end(), made_ids.begin() + first) &&
                      std::equal(host_weights.begin(), host_weights.end(), made_weights.begin() + first);
    part.expect(same, "support", rows.how.size, r);
  });
}

}  // namespace gpu_tests

#endif
