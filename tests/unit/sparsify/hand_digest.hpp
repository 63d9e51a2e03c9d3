// SPDX-License-Identifier: Apache-2.0
//! A digest made by hand from a row of integer weights, and the support that a full sort would keep.
#ifndef SPECVERIFY_TESTS_UNIT_SPARSIFY_HAND_DIGEST_HPP
#define SPECVERIFY_TESTS_UNIT_SPARSIFY_HAND_DIGEST_HPP

#include <specverify/row/reading.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "support/reading_test_access.hpp"

namespace hand {

using ids = std::vector<specverify::token_id>;
using weights = std::vector<std::uint32_t>;

// Ids of positive weight, largest first, ties to the smaller id.
inline ids ranked(const weights& row) {
  ids order;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] > 0) order.push_back(static_cast<specverify::token_id>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](specverify::token_id a, specverify::token_id b) {
    return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
  });
  return order;
}

inline ids largest(const weights& row, std::size_t count) {
  ids order = ranked(row);
  order.resize(std::min(count, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

inline std::uint64_t total(const weights& row) { return std::accumulate(row.begin(), row.end(), std::uint64_t{0}); }

//! Whether a sum of weights reaches a share of a total, but for half a unit for each of `roundings`.
inline bool reaches(std::uint64_t sum, double share, std::uint64_t all, double roundings) {
  return 2.0 * static_cast<double>(sum) + roundings >= share * (2.0 * static_cast<double>(all));
}

//! The row in units of 2^24, next to which roundings are small.
inline weights in_units(weights row) {
  for (std::uint32_t& weight : row) weight <<= 24;
  return row;
}

// What a digest of this row looks like that gathered the `top_entries` largest entries.
struct digest {
  digest(const weights& row, std::size_t top_entries, bool with_total = true)
      : bytes(row.size() * 8 + 320), space(std::span(bytes)) {
    const ids kept = largest(row, top_entries);
    value.mark = *space.take_slice<specverify::reading_mark>(1);
    const auto id_slice = *space.take_slice<specverify::token_id>(kept.size());
    const auto weight_slice = *space.take_slice<std::uint32_t>(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      space.at<specverify::token_id>(id_slice)[i] = kept[i];
      space.at<std::uint32_t>(weight_slice)[i] = row[static_cast<std::size_t>(kept[i])];
    }
    value.valid_size = static_cast<std::uint32_t>(row.size());
    value.top_ids = id_slice;
    value.top_weights = weight_slice;
    value.total_weight = with_total ? total(row) : 0;
    value.top_complete = kept.size() == ranked(row).size();
  }
  //! What a sparsifier sees.
  [[nodiscard]] specverify::row_summary row() const { return specverify::reading_test_access::summary(value, space); }

  std::vector<std::byte> bytes;
  mutable specverify::workspace space;
  specverify::row_digest value;
};

// The outcome of a sparsifier: its status, the ids and weights it kept.
struct outcome {
  specverify::status why{};
  ids kept{};
  weights kept_weights{};
  std::uint64_t total_weight = 0;
};

inline outcome outcome_of(const specverify::result<specverify::support>& made) {
  outcome out;
  out.why = made.error();
  if (!made) return out;
  out.kept.assign(made->ids.begin(), made->ids.end());
  out.kept_weights.assign(made->weights.begin(), made->weights.end());
  out.total_weight = made->total_weight;
  return out;
}

template <class Sparsifier>
outcome select(const Sparsifier& sparsifier, const digest& of) {
  std::vector<std::byte> bytes(sparsifier.workspace_size(sparsifier.initial_state(), of.value.valid_size) +
                               of.value.top_ids.count * 12 + 256);
  specverify::workspace scratch{std::span(bytes)};
  return outcome_of(sparsifier.select(of.row(), sparsifier.initial_state(), scratch));
}

// A row in one of several shapes: flat, log-uniform, Zipf, tied, sparse.
inline weights random_row(std::mt19937_64& random, std::size_t size, std::uint32_t shape) {
  weights row(size);
  for (std::size_t i = 0; i < size; ++i) {
    switch (shape % 5) {
      case 0:
        row[i] = static_cast<std::uint32_t>(random() >> 33);
        break;
      case 1:
        row[i] = static_cast<std::uint32_t>(random() >> 33) >> (random() % 32);
        break;
      case 2:
        row[i] = static_cast<std::uint32_t>((std::uint64_t{1} << 31) / (i + 1));
        break;
      case 3:
        row[i] = static_cast<std::uint32_t>(1 + random() % 3);
        break;
      default:
        row[i] = random() % 4 == 0 ? 1u << 31 : 0;
        break;
    }
  }
  if (row[size / 2] == 0) row[size / 2] = 1;
  return row;
}

}  // namespace hand

#endif
