// SPDX-License-Identifier: Apache-2.0
//! Writes those entries of each row that pass a test, in the order of their ids. One pass counts the entries of each
//! chunk that pass, and a scan of these counts gives the positions in the output.
#ifndef SPECVERIFY_DEVICE_DETAIL_COMPACT_HPP
#define SPECVERIFY_DEVICE_DETAIL_COMPACT_HPP

#include <specverify/device/detail/digest.hpp>

#include <thrust/scan.h>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

inline constexpr std::uint32_t piece_ids = 32;  // neighbouring ids that one thread tests

//! Counts of a chunk or a row: `listed` entries that pass, with the sum `sum`, and all `positive` entries.
struct entry_count {
  std::uint32_t listed = 0, positive = 0;
  std::uint64_t sum = 0;
};
struct add_counts {
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE entry_count operator()(entry_count a, entry_count b) const noexcept {
    return {a.listed + b.listed, a.positive + b.positive, a.sum + b.sum};
  }
};

[[nodiscard]] SPECVERIFY_INLINE std::uint32_t pieces_of(std::uint32_t size) noexcept {
  return (size + piece_ids - 1) / piece_ids;
}

//! Counts the entries of chunks. `Entries` must have of(r), which returns a row or a list with size() entries, value(i)
//! for the value and id(i) for the id of an entry, and passes(i, value), which returns whether the entry is listed.
template <class Entries>
struct count_piece {
  Entries entries;
  std::uint32_t pieces;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE entry_count operator()(std::size_t i) const noexcept {
    const auto row = entries.of(i / pieces);
    const std::uint32_t first = static_cast<std::uint32_t>(i % pieces) * piece_ids;
    entry_count count;
    for (std::uint32_t at = first; at < first + piece_ids && at < row.size(); ++at) {
      const std::uint32_t value = row.value(at);
      const bool passes = row.passes(at, value);
      count.positive += value > 0 ? 1 : 0;
      count.listed += passes ? 1 : 0;
      count.sum += passes ? value : 0;
    }
    return count;
  }
};
template <class Entries>
struct listed_in_piece {
  count_piece<Entries> count;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::uint32_t operator()(std::size_t i) const noexcept {
    return count(i).listed;
  }
};

//! Writes the ids and values of the entries of all rows, at most `pitch` entries per row.
struct list_writer {
  token_id* ids;
  std::uint32_t* values;
  std::size_t pitch;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE std::size_t room() const noexcept { return pitch; }
  template <class Row>
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t place, const Row& row, std::uint32_t at,
                                                  std::uint32_t value) const noexcept {
    ids[place] = row.id(at);
    values[place] = value;
  }
};

//! Writes the entries of a chunk, up to the capacity of a row.
template <class Entries, class Writer>
struct write_piece {
  Entries entries;
  std::uint32_t pieces;
  const std::uint32_t* places;
  Writer write;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t r = i / pieces;
    const auto row = entries.of(r);
    const std::uint32_t first = static_cast<std::uint32_t>(i % pieces) * piece_ids;
    std::size_t place = places[i];
    for (std::uint32_t at = first; at < first + piece_ids && at < row.size(); ++at) {
      const std::uint32_t value = row.value(at);
      if (!row.passes(at, value)) continue;
      if (place >= write.room()) return;
      write(r * write.room() + place++, row, at, value);
    }
  }
};

//! Writes the entries of `rows` rows with at most `size` entries each.
template <class Policy, class Entries, class Writer>
void place_entries(const Policy& policy, std::size_t rows, std::uint32_t size, const Entries& entries,
                   const Writer& write) {
  const std::uint32_t pieces = pieces_of(size);
  const temporary<std::uint32_t, Policy> places(policy, rows * pieces);
  const thrust_ns::counting_iterator<std::size_t> first(0);
  const auto keys = thrust_ns::make_transform_iterator(first, group_of{pieces});
  const auto listed = thrust_ns::make_transform_iterator(first, listed_in_piece<Entries>{{entries, pieces}});
  thrust_ns::exclusive_scan_by_key(policy, keys, keys + static_cast<std::ptrdiff_t>(rows * pieces), listed,
                                   places.data());
  for_each_index(policy, rows * pieces, write_piece<Entries, Writer>{entries, pieces, places.data(), write});
}

//! Writes the entries, and the counts of each row to `counts`.
template <class Policy, class Entries, class Writer>
void compact_rows(const Policy& policy, std::size_t rows, std::uint32_t size, const Entries& entries,
                  const Writer& write, entry_count* counts) {
  const std::uint32_t pieces = pieces_of(size);
  reduce_groups(policy, rows, pieces, count_piece<Entries>{entries, pieces}, counts, add_counts{});
  place_entries(policy, rows, size, entries, write);
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
