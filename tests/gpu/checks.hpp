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

// ---- read_rows

//! The digests of a batch, copied to the host.
template <class Scalar>
struct copied_digests {
  std::uint32_t blocks;
  std::vector<device_digest> rows;
  std::vector<double> block_sums;
  std::vector<float> lane_sums, lane_maxima;

  explicit copied_digests(const device_batch<Scalar>& from)
      : blocks(from.digests.blocks),
        rows(from.digests.count),
        block_sums(rows.size() * blocks),
        lane_sums(rows.size() * blocks * kernel::lane_count),
        lane_maxima(lane_sums.size()) {
    scene::copy(rows.data(), from.digests.rows, rows.size() * sizeof(device_digest));
    scene::copy(block_sums.data(), from.digests.block_sums, block_sums.size() * sizeof(double));
    scene::copy(lane_sums.data(), from.digests.lane_sums, lane_sums.size() * sizeof(float));
    scene::copy(lane_maxima.data(), from.digests.lane_maxima, lane_maxima.size() * sizeof(float));
  }
};

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
  expect(digest.one_hot == host.one_hot, "one-hot");
  if (host.one_hot) return;
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

template <class Scalar>
void check_digests(const batch<Scalar>& rows, tally& found) {
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found)) return;
  const copied_digests<Scalar> made(rows.made());
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) { compare_digest(rows, made, r, part); });
}

// ---- argmax

template <class Scalar>
void check_argmax(scene& where, const batch<Scalar>& rows, tally& found) {
  const array<device_argmax> out(where, rows.how.count);
  if (!taken(argmax(exec::cuda{}, rows.rows(), rows.transform(), out.data()), "argmax", found)) return;
  const std::vector<device_argmax> best = out.read();
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    row_transform transform = rows.host_transform(r);
    transform.temperature = 1;  // argmax does not ask for it on the device
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
  return {rows.values(r), made.rows[r], made.block_sums.data() + first,
          made.lane_sums.data() + first * kernel::lane_count, made.blocks};
}

//! Tokens of a batch at its places of now.
template <class Scalar>
void compare_draws(const batch<Scalar>& rows, const std::vector<device_token>& tokens, std::uint32_t trial_cap,
                   tally& found) {
  const copied_digests<Scalar> made(rows.made());
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    std::vector<std::byte> bytes(digest_workspace_size(rows.how.size, rows.host_transform(r), {}));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows.host_row(r), rows.host_transform(r), {}, scratch);
    const device_token& device = tokens[r];
    part.expect(device.why == reading.error(), "status of a draw", rows.how.size, r);
    if (!reading) return;
    const auto random = rows.uniforms_of(r).at(purpose::bonus_draw, 3);
    const auto expected = reading->sample(random, {.trial_cap = trial_cap});
    ++part.decisions;
    const bool same = expected.ok() && device.token == expected->token && device.trials == expected->trials &&
                      device.exact == expected->exact;
    if (same && (r % 16 != 0 || device.exact || made.rows[r].one_hot)) return;
    const long double distance =
        closest_decision(drawn_from_row(rows, made, r), random, std::max(device.trials, expected->trials), trial_cap);
    if (same) {
      ++part.measured;
      part.close += distance <= 0x1p-20L ? 1 : 0;
    } else if (distance <= 0x1p-20L) {
      ++part.near_ties;
    } else {
      part.complain("a draw differs at V = " + std::to_string(rows.how.size) + ", row " + std::to_string(r) +
                    ", nearest decision " + std::to_string(static_cast<double>(distance)));
    }
  });
}

template <class Scalar>
void check_draws(scene& where, const batch<Scalar>& rows, std::uint32_t trial_cap, tally& found) {
  const array<device_token> out(where, rows.how.count);
  const auto random = rows.uniforms_on().at(purpose::bonus_draw, 3);
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(sample(exec::cuda{}, rows.made(), random, out.data(), {trial_cap}), "sample", found))
    return;
  compare_draws(rows, out.read(), trial_cap, found);
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
