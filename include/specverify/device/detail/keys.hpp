// SPDX-License-Identifier: Apache-2.0
//! Finds the largest entries of up to 256 rows at a time, by sorting 64-bit keys of row, weight and id.
//!
//! The first K entries in this order are selected, and the next one shows whether the selection is complete. The K + 1
//! largest entries of a row are in the K + 1 lanes (of 64 ids) with the largest maxima. So the lanes are sorted first,
//! then the entries of the first lanes, and then the first K entries by id.
#ifndef SPECVERIFY_DEVICE_DETAIL_KEYS_HPP
#define SPECVERIFY_DEVICE_DETAIL_KEYS_HPP

#include <specverify/device/detail/digest.hpp>
#include <specverify/device/detail/draw.hpp>

#include <thrust/sort.h>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

inline constexpr std::uint32_t row_shift = 56;  // the row within the chunk
inline constexpr std::uint32_t weight_shift = 24;
inline constexpr std::size_t most_rows_at_once = 256;
inline constexpr std::size_t most_keys_at_once = std::size_t{1} << 22;
inline constexpr std::uint32_t id_mask = 0xFFFFFFu;
inline constexpr std::uint64_t no_entry = 0xFFFFFFFFFFFFFFu;  // a key that is larger than the key of every entry

//! Returns a key for sorting one row: larger weights have smaller keys, and equal weights ascend by id. A weight of 0
//! gives no_entry. Callers add the row's number above these bits.
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint64_t key_of(std::uint32_t weight, std::uint32_t id) noexcept {
  return weight == 0 ? no_entry : std::uint64_t{~weight} << weight_shift | id;
}
[[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t weight_of_key(std::uint64_t key) noexcept {
  return ~static_cast<std::uint32_t>(key >> weight_shift);
}

//! Sizes of a selection. They depend only on the sizes of the batch, because the size of the workspace must not depend
//! on data.
struct selection {
  std::uint32_t k;        // entries per row
  std::uint32_t lanes;    // lanes per row
  std::uint32_t looked;   // lanes whose ids are sorted
  std::uint32_t entries;  // sorted ids
  std::size_t rows;       // rows at once

  [[nodiscard]] SPECVERIFY_INLINE static selection of(std::uint32_t blocks, std::uint32_t size, std::size_t rows,
                                                      std::uint32_t k) noexcept {
    selection made{};
    made.k = k < size ? k : size;
    made.lanes = blocks * kernel::lane_count;
    made.looked = made.k + 1 < made.lanes ? made.k + 1 : made.lanes;
    made.entries = made.looked * lane_ids;
    const std::size_t most = most_keys_at_once / made.entries;
    made.rows = most < 1 ? 1 : most < most_rows_at_once ? most : most_rows_at_once;
    if (rows < made.rows) made.rows = rows;
    return made;
  }
};

//! Computes the key of a lane's largest entry and the lane's first id.
template <class Scalar>
struct key_of_lane {
  device_batch<Scalar> batch;
  std::size_t first_row;
  std::uint64_t* keys;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const auto at = lane_place::of(i, batch.digests.blocks);
    const device_digest& digest = batch.digests.rows[first_row + at.row];
    std::uint64_t best = no_entry;
    if (digest.of_whole_row().ok() && !digest.one_hot) {
      const auto row = open_row(batch.rows, batch.transform, first_row + at.row);
      const kernel::integer_weight weight = thrust_detail::weight_of(digest);
      const std::size_t lane = first_row * batch.digests.blocks * kernel::lane_count + i;
      const std::uint32_t most = weight(static_cast<double>(batch.digests.lane_maxima[lane]));
      for (std::uint32_t id = at.first(); most != 0 && id < at.end(row.size); id += kernel::lane_count) {
        if (weight(static_cast<double>(row.value(id))) != most) continue;
        best = key_of(most, id);
        break;
      }
    }
    keys[i] = std::uint64_t{at.row} << row_shift | best;
  }
};

//! Computes the keys of all ids in the first lanes of each row.
template <class Scalar>
struct key_of_id {
  device_batch<Scalar> batch;
  std::size_t first_row;
  selection shape;
  const std::uint64_t* lanes;
  std::uint64_t* keys;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t r = i / shape.entries, place = i % shape.entries;
    const std::uint64_t lane = lanes[r * shape.lanes + place / lane_ids] & no_entry;
    std::uint64_t key = no_entry;
    if (lane != no_entry) {
      const std::uint32_t top = static_cast<std::uint32_t>(lane) & id_mask;
      const std::uint32_t id = top / kernel::block_size * kernel::block_size + top % kernel::lane_count +
                               static_cast<std::uint32_t>(place % lane_ids) * kernel::lane_count;
      const auto row = open_row(batch.rows, batch.transform, first_row + r);
      const kernel::integer_weight weight = thrust_detail::weight_of(batch.digests.rows[first_row + r]);
      if (id < row.size) key = key_of(weight(static_cast<double>(row.value(id))), id);
    }
    keys[i] = std::uint64_t{r} << row_shift | key;
  }
};

//! Converts the first k entries of each row, or the kept entries, to keys in the order of ids: row, id, weight.
struct key_by_id {
  const device_digest* digests;  // of the chunk
  selection shape;
  const std::uint64_t* entries;
  std::uint64_t* keys;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t r = i / shape.k, j = i % shape.k;
    const bool is_there = j < shape.entries && !(digests[r].truncated && j >= digests[r].kept);
    const std::uint64_t key = (is_there ? entries[r * shape.entries + j] : no_entry) & no_entry;
    const std::uint64_t id = key & id_mask;
    keys[i] = std::uint64_t{r} << row_shift | (key == no_entry ? no_entry : id << 32 | weight_of_key(key));
  }
};

//! Writes ids and weights of a chunk's rows.
struct write_entry {
  selection shape;
  std::size_t first_place;  // beginning of the chunk's ids and weights
  const std::uint64_t* keys;
  device_supports out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::uint64_t key = keys[i] & no_entry;
    if (key == no_entry) return;
    const std::size_t at = (first_place + i / shape.k) * out.pitch + i % shape.k;
    out.ids[at] = static_cast<token_id>(key >> 32);
    out.weights[at] = static_cast<std::uint32_t>(key);
  }
};

//! Writes the result of each row of a chunk.
template <class Scalar>
struct write_support {
  device_batch<Scalar> batch;
  selection shape;
  std::size_t first_row, first_place;
  const std::uint64_t* entries;
  const std::uint64_t* keys;
  device_supports out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    const std::size_t row = first_row + r;
    const device_digest& digest = batch.digests.rows[row];
    device_support support;
    support.why = digest.of_whole_row();
    if (support.why.ok()) support.total_weight = digest.total_weight;
    if (support.why.ok() && digest.one_hot) {
      out.ids[(first_place + r) * out.pitch] = digest.argmax;
      out.weights[(first_place + r) * out.pitch] = kernel::weight_one;
      support.size = 1;
      support.complete = true;
    } else if (support.why.ok()) {
      const std::uint64_t* const listed = keys + r * shape.k;
      support.size = first_where(shape.k, [&](std::uint32_t i) { return (listed[i] & no_entry) == no_entry; });
      support.complete = digest.truncated ? support.size == digest.kept
                                          : support.size < shape.k || shape.k >= shape.entries ||
                                                (entries[r * shape.entries + shape.k] & no_entry) == no_entry;
    }
    out.rows[row] = support;
  }
};

//! Workspace for the largest entries of one chunk of rows.
template <class Policy>
struct entry_room {
  temporary<std::uint64_t, Policy> lanes, entries;
  SPECVERIFY_INLINE entry_room(const Policy& policy, const selection& shape)
      : lanes(policy, shape.rows * shape.lanes), entries(policy, shape.rows * shape.entries) {}
};
template <class Policy>
struct selection_room {
  entry_room<Policy> largest;
  temporary<std::uint64_t, Policy> kept;
  SPECVERIFY_INLINE selection_room(const Policy& policy, const selection& shape)
      : largest(policy, shape), kept(policy, shape.rows * shape.k) {}
};

//! Writes the keys of `count` rows starting at `first_row` to room.entries, with count <= shape.rows. All keys are
//! ascending, and the first k + 1 of a row are the first of the row's order.
template <class Policy, class Scalar>
void sort_entries(const Policy& policy, const device_batch<Scalar>& batch, std::size_t first_row, std::size_t count,
                  const selection& shape, const entry_room<Policy>& room) {
  std::uint64_t *const lanes = room.lanes.data(), *const entries = room.entries.data();
  for_each_index(policy, count * shape.lanes, key_of_lane<Scalar>{batch, first_row, lanes});
  if (shape.looked < shape.lanes) thrust_ns::sort(policy, lanes, lanes + count * shape.lanes);
  for_each_index(policy, count * shape.entries, key_of_id<Scalar>{batch, first_row, shape, lanes, entries});
  thrust_ns::sort(policy, entries, entries + count * shape.entries);
}

//! Selects from `count` rows starting at `first_row`, with count <= shape.rows. Ids and weights of the first row go to
//! row `first_place` of the output; the result of a row goes to the row's own index.
template <class Policy, class Scalar>
void select_rows(const Policy& policy, const device_batch<Scalar>& batch, std::size_t first_row, std::size_t count,
                 std::size_t first_place, const selection& shape, const selection_room<Policy>& room,
                 const device_supports& out) {
  const std::uint64_t* const entries = room.largest.entries.data();
  std::uint64_t* const kept = room.kept.data();
  sort_entries(policy, batch, first_row, count, shape, room.largest);
  for_each_index(policy, count * shape.k, key_by_id{batch.digests.rows + first_row, shape, entries, kept});
  thrust_ns::sort(policy, kept, kept + count * shape.k);
  for_each_index(policy, count * shape.k, write_entry{shape, first_place, kept, out});
  for_each_index(policy, count, write_support<Scalar>{batch, shape, first_row, first_place, entries, kept, out});
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
