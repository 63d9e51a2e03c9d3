// SPDX-License-Identifier: Apache-2.0
//! Draws a token from one row in one thread. It uses the proposals and the exact rule of row/sample.hpp, and a digest
//! in device memory.
#ifndef SPECVERIFY_DEVICE_DETAIL_DRAW_HPP
#define SPECVERIFY_DEVICE_DETAIL_DRAW_HPP

#include <specverify/device/detail/rows.hpp>
#include <specverify/kernel/scalar/locate.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! A row to draw tokens from, with its digest.
template <class Scalar>
struct drawn_row {
  kernel::row_source<Scalar> source;
  const device_digest& digest;
  const double* block_sums;
  const float* lane_sums;
  std::uint32_t blocks;
  const token_id* kept_ids;  // kept ids of a truncated row, ascending
  const double* kept_weights;

  SPECVERIFY_HD SPECVERIFY_INLINE drawn_row(const device_batch<Scalar>& batch, std::size_t row) noexcept
      : source(open_row(batch.rows, batch.transform, row)),
        digest(batch.digests.rows[row]),
        block_sums(batch.digests.block_sums + row * batch.digests.blocks),
        lane_sums(batch.digests.lane_sums + row * batch.digests.blocks * kernel::lane_count),
        blocks(batch.digests.blocks),
        kept_ids(batch.digests.kept_ids + row * batch.digests.kept_capacity),
        kept_weights(batch.digests.kept_weights + row * batch.digests.kept_capacity) {}

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE kernel::exact_weight exact() const noexcept {
    return {static_cast<double>(digest.reference), 1.0 / digest.temperature, false};
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double weight(std::uint32_t id) const noexcept {
    return exact()(static_cast<double>(source.value(id)));
  }
  //! Returns e_v of a token. The row must contain the token.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double weight_of(token_id token) const noexcept {
    if (digest.one_hot) return token == digest.argmax ? 1.0 : 0.0;
    if (!digest.truncated) return weight(static_cast<std::uint32_t>(token));
    const std::uint32_t at = first_where(digest.kept, [&](std::uint32_t i) { return kept_ids[i] >= token; });
    return at < digest.kept && kept_ids[at] == token ? kept_weights[at] : 0.0;
  }
  //! Returns the number of ids that can have a weight: the kept ids, or all ids.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t entries() const noexcept {
    return digest.truncated ? digest.kept : source.size;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE token_id entry(std::uint32_t at) const noexcept {
    return digest.truncated ? kept_ids[at] : static_cast<token_id>(at);
  }
  //! Returns the proposals per draw; 0 for a truncated row, because it uses only the exact rule.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t trials(std::uint32_t cap) const noexcept {
    return digest.truncated ? 0 : cap;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool has(token_id token) const noexcept {
    return token >= 0 && static_cast<std::uint32_t>(token) < source.size;
  }
};

//! Random numbers of one row: block(t) returns the numbers of trial t.
template <class Key>
struct row_stream {
  device_stream<Key> stream;
  std::uint32_t row;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE random_block block(std::uint32_t trial) const noexcept {
    random_counter counter = stream.first_of(row);
    counter.lane += trial;
    return stream.at(row, counter);
  }
};

//! A proposed id with its envelope. `correction` is the lane's sum in double divided by its sum in float.
struct proposed {
  token_id token = no_token;
  double envelope = 0;
  double correction = 1;
};

//! Returns one proposal from one uniform, by serial prefix sums (row/detail/proposal.hpp).
template <class Scalar>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE proposed propose(const drawn_row<Scalar>& row, double uniform) noexcept {
  double position = numeric::product(uniform, row.digest.coarse_total);
  const std::size_t block = kernel::locate(row.block_sums, row.blocks, position);
  if (block == row.blocks) return {};
  const float* const lanes = row.lane_sums + block * kernel::lane_count;
  const std::size_t lane = kernel::locate(lanes, kernel::lane_count, position);
  if (lane == kernel::lane_count) return {};
  const kernel::envelope<float> weight{row.digest.reference, kernel::coarse_scale(row.digest.temperature), false};
  const auto first = static_cast<std::uint32_t>(block * kernel::block_size + lane);
  float entries[lane_ids];
  double sum = 0;
  std::uint32_t count = 0;
  for (std::uint32_t id = first; count < lane_ids && id < row.source.size; id += kernel::lane_count) {
    entries[count] = weight(row.source.value(id));
    sum += static_cast<double>(entries[count++]);
  }
  const double correction = sum / static_cast<double>(lanes[lane]);
  position = numeric::product(position, correction);
  const std::size_t at = kernel::locate(entries, count, position);
  if (at == count) return {};
  return {static_cast<token_id>(first + static_cast<std::uint32_t>(at) * kernel::lane_count),
          static_cast<double>(entries[at]), correction};
}

//! Sums weight(id, e_v) serially until the sum exceeds `target`. Returns that token, or the last token of positive
//! weight.
template <class Scalar, class Weight>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE token_id walk(const drawn_row<Scalar>& row, double target,
                                                            const Weight& weight, double& sum) noexcept {
  token_id last = no_token;
  sum = 0;
  const kernel::exact_weight exact = row.exact();
  const bool kept = row.digest.truncated;
  const std::uint32_t count = row.entries();
  for (std::uint32_t i = 0; i < count; ++i) {
    const token_id id = row.entry(i);
    const double entry = weight(id, kept ? row.kept_weights[i] : exact(static_cast<double>(row.source.value(i))));
    if (!(entry > 0.0)) continue;
    last = id;
    sum += entry;
    if (sum > target) break;
  }
  return last;
}

//! The weights e_v without a subtraction.
struct whole_weight {
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double operator()(token_id, double weight) const noexcept {
    return weight;
  }
};

//! The exact rule: returns the least id whose running sum exceeds uniform * Z.
template <class Scalar>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE token_id exact_token(const drawn_row<Scalar>& row,
                                                                   double uniform) noexcept {
  double mass = 0, sum = 0;
  if (row.digest.truncated) {
    mass = row.digest.normaliser;  // the sum that the loop would compute
  } else {
    (void)walk(row, 1.0e300, whole_weight{}, mass);
  }
  return walk(row, uniform * mass, whole_weight{}, sum);
}

//! The canonical draw. `random.block(t)` must return the block of trial t.
template <class Scalar, class Random>
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE device_token draw_from(const drawn_row<Scalar>& row, const Random& random,
                                                                     std::uint32_t trial_cap) noexcept {
  device_token drawn;
  drawn.why = row.digest.of_whole_row();
  if (!drawn.why.ok()) return drawn;
  if (row.digest.one_hot) {
    drawn.token = row.digest.argmax;
    return drawn;
  }
  while (drawn.trials < row.trials(trial_cap)) {
    const random_block block = random.block(drawn.trials++);
    const proposed tried = propose(row, decision_uniform(block, 0));
    if (tried.token == no_token) continue;
    if (decision_uniform(block, 1) * tried.envelope <
        kernel::envelope_slack * tried.correction * row.weight(static_cast<std::uint32_t>(tried.token))) {
      drawn.token = tried.token;
      return drawn;
    }
  }
  drawn.exact = true;
  drawn.token = exact_token(row, decision_uniform(random.block(drawn.trials)));
  return drawn;
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
