// SPDX-License-Identifier: Apache-2.0
//! Finds the largest entries of a row with vectors. Values select candidates, and integer weights decide among these.
//!
//! The coarse pass keeps the largest value of each lane for each group of 256 ids. The `wanted`-th largest of these
//! maxima is a lower bound on the `wanted`-th largest value, so lanes below it are skipped. If too many ids reach the
//! bound (for example, because of ties), a sample of the row gives a higher threshold, as an integer weight. The list
//! then has all ids above this threshold, but at most `wanted` ids with exactly this weight.
#ifndef SPECVERIFY_KERNEL_SIMD_SELECT_HPP
#define SPECVERIFY_KERNEL_SIMD_SELECT_HPP

#include <specverify/kernel/scalar/select.hpp>
#include <specverify/kernel/simd/integer_weights.hpp>
#include <specverify/kernel/simd/topped_row.hpp>

#include <cstring>
#include <type_traits>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Writes first + i for every set bit i of a mask, ascending, in steps of `Least` ids. It may write up to Least further
//! ids.
template <std::uint32_t Least>
SPECVERIFY_INLINE void write_ids(token_id* to, std::uint32_t first, std::uint64_t mask, std::uint32_t count) noexcept {
  constexpr std::uint64_t end = std::uint64_t{1} << 63;  // a lane for surplus writes
  std::uint32_t written = 0;
  do {
    for (std::uint32_t i = 0; i < Least; ++i) {
      *to++ = static_cast<token_id>(first + lowest_lane(mask | end));
      mask &= mask - 1;
    }
    written += Least;
  } while (written < count);
}

//! Appends ids. The bits of the values are stored in place of the weights, which are computed later.
class value_list {
 public:
  explicit value_list(candidate_list& list) noexcept : list_(list) {}

  //! Lists exactly the ids of a row that a cut keeps. Returns false if they do not fit in the list.
  template <class Scalar>
  [[nodiscard]] bool take(const topped_row<Scalar>& row, value_cut cut) noexcept {
    list_.size = 0;
    std::uint32_t from = 0;
    if (cut.ties > 0) [[unlikely]] {  // up to the last kept tie; after it, only ids that reach `all`
      typename topped_row<Scalar>::walk some(row, cut.some, 0);
      while (cut.ties > 0) {
        if (!some.next()) return true;
        cut.apply(some.groups);
        from = some.groups.end;
        if (!append(some.groups)) return false;
      }
    }
    typename topped_row<Scalar>::walk all(row, cut.all, from);
    while (all.next()) {
      if (!append(all.groups)) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t slack = 16;  // ids that may be written after the last
#if SPECVERIFY_COMPRESSES
  static constexpr std::uint32_t compressed_least = compressed_size == 16 ? 4 : 8;
#endif

  [[nodiscard, gnu::noinline]] bool append(const marked_groups& groups) noexcept {
    const std::uint32_t total = groups.total;
    const std::uint32_t room = list_.capacity - list_.size, words = groups.count * marked_groups::parts;
    if (total > room) return false;
    // Writes whole vectors of ids. A scalar loop is cheaper for a few ids, and required at the end of the buffer.
    if (total < 2 * words || total + slack > room) {
      one_by_one(groups);
    } else {
      total < 3 * words ? write<4>(groups) : write<8>(groups);
    }
    SPECVERIFY_ASSERT(list_.size <= list_.capacity, "more ids than were counted");
    return true;
  }

  template <std::uint32_t Least>
  void write(const marked_groups& groups) noexcept {
    token_id* to = list_.ids + list_.size;
    std::uint32_t* values = list_.weights + list_.size;
    for (std::uint32_t i = 0; i < groups.count; ++i) {
      const token_id* const begin = to;
      for (std::uint32_t part = 0; part < marked_groups::parts; ++part) {
        const std::uint64_t mask = groups.words[i][part];
        const std::uint32_t count = lanes_of(mask), first = groups.firsts[i] + part * 64;
#if SPECVERIFY_COMPRESSES_BYTES
        write_places(to, first, mask, count);
#elif SPECVERIFY_COMPRESSES
        if constexpr (Least >= compressed_least) {
          write_compressed(to, first, mask);
        } else {
          write_ids<Least>(to, first, mask, count);
        }
#else
        write_ids<Least>(to, first, mask, count);
#endif
        to += count;
      }
      if (groups.plain != nullptr) continue;
      for (const token_id* id = begin; id < to; ++id)
        *values++ = bits_as<std::uint32_t>(groups.values[i][static_cast<std::uint32_t>(*id) - groups.firsts[i]]);
    }
    if (groups.plain != nullptr) {
      for (const token_id* id = list_.ids + list_.size; id < to; ++id)
        *values++ = bits_as<std::uint32_t>(groups.plain[*id]);
    }
    list_.size = static_cast<std::uint32_t>(to - list_.ids);
  }

  void one_by_one(const marked_groups& groups) noexcept {
    for (std::uint32_t i = 0; i < groups.count; ++i) {
      for (std::uint32_t part = 0; part < marked_groups::parts; ++part) {
        for (std::uint64_t mask = groups.words[i][part]; mask != 0; mask &= mask - 1) {
          const std::uint32_t place = part * 64 + lowest_lane(mask);
          list_.ids[list_.size] = static_cast<token_id>(groups.firsts[i] + place);
          list_.weights[list_.size++] = bits_as<std::uint32_t>(groups.values[i][place]);
        }
      }
    }
  }

  candidate_list& list_;
};

//! Converts the values of a list into weights.
template <class Level>
inline void weigh(exec::simd_on<Level> policy, const integer_weight& weight, candidate_list& list) noexcept {
  constexpr std::uint32_t held = 256, piece = 8;  // constant and as wide as registers: no call of memcpy
  float values[held];
  const std::uint32_t whole = list.size / piece * piece;
  for (std::uint32_t i = 0; i < whole; i += held) {
    const std::uint32_t count = whole - i < held ? whole - i : held;
    for (std::uint32_t at = 0; at < count; at += piece)
      std::memcpy(values + at, list.weights + i + at, piece * sizeof(float));
    (void)write_weights(policy, static_cast<const float*>(values), count, weight, list.weights + i);
  }
  for (std::uint32_t i = whole; i < list.size; ++i)
    list.weights[i] = weight(static_cast<double>(bits_as<float>(list.weights[i])));
}

//! Lists at least `wanted` ids, including all ids that belong to the cut. Used if more ids reach the weight `low` than
//! the list can hold. The ids whose weight is always kept must fit in the list. Returns a weight that all listed ids
//! reach.
template <class Scalar>
[[nodiscard]] inline std::uint32_t take_fewer(const topped_row<Scalar>& row, std::uint32_t low,
                                              const integer_weight& weight, candidate_list& list) noexcept {
  value_list to(list);
  std::uint32_t high = weight_one + 1;  // `wanted` or more ids reach low, fewer reach high
  if (list.always <= weight_one) {
    const float sure = value_of_weight(weight, list.always);
    if (to.take(row, {sure, sure, 0}) && list.size >= list.wanted) return list.always;
    high = list.always;
  }
  for (std::uint32_t look = 0; low < high; ++look) {
    std::uint32_t level = low + (high - low) / 2;
    if (look < 4) {
      const float value = row.sampled(value_of_weight(weight, low), list.capacity / 2, look);
      level = weight(static_cast<double>(value));
      level = level < low ? low : level < high ? level : high - 1;
    }
    const float some = value_of_weight(weight, level);
    const float all = level < weight_one ? value_of_weight(weight, level + 1) : -negative_infinity<float>();
    if (!to.take(row, {all, some, list.wanted})) {
      low = level + 1;
    } else if (list.size < list.wanted) {
      high = level;
    } else {
      return level;
    }
  }
  return low;
}

//! Returns the cut of the total order after `target` of `size` > target entries, all of which reach the weight `low`.
//! Gallops upward, then interpolates between the counts at both ends, with every third step a bisection. O(size) per
//! step.
[[nodiscard]] inline order_cut exact_cut(const std::uint32_t* weights, std::uint32_t size, std::uint32_t target,
                                         std::uint32_t low) noexcept {
  std::uint32_t high = weight_one + 1, at_low = size, above = 0;  // more than `target` reach low; `above` reach high
  std::uint32_t step = low / 8 + 1;
  for (std::uint32_t round = 0; high - low > 1; ++round) {
    std::uint32_t middle = low + (high - low) / 2;
    if (high > weight_one && step < high - low) {
      middle = low + step;
      step *= 2;
    } else if (round % 3 != 2) {
      const std::uint64_t part = std::uint64_t{high - low} * (at_low - target) / (at_low - above);
      middle = low + static_cast<std::uint32_t>(part);
      middle = middle > low ? middle : low + 1;
      middle = middle < high ? middle : high - 1;
    }
    const std::uint32_t count = count_reaching(weights, size, middle);
    if (count == target) return {middle, 0xFFFFFFFFu};
    if (count > target) {
      low = middle;
      at_low = count;
    } else {
      high = middle;
      above = count;
    }
  }
  return {low, target - above};
}

inline void keep(order_cut cut, candidate_list& list) noexcept {
#if SPECVERIFY_COMPRESSES
  const std::uint32_t kept = keep_above(list.ids, list.weights, list.size, cut.weight, cut.ties);
  apply_cut(cut, list, list.size / compressed_size * compressed_size, kept);
#else
  apply_cut(cut, list);
#endif
}

template <class Level, class Scalar>
inline void gather(exec::simd_on<Level> policy, const row_source<Scalar>& source, const integer_weight& weight,
                   float* tops, candidate_list& list) noexcept {
  if constexpr (!std::is_same_v<working<Scalar>, float>) {
    gather(exec::seq, source, weight, tops, list);  // double rows are only for tests and references
  } else {
    list.dropped = true;
    if (list.wanted == 0 && list.always > weight_one) [[unlikely]]
      return;  // no weight is this large
    const topped_row<Scalar> row(source, tops, weight);
    const float bar = list.wanted == 0 ? static_cast<float>(weight.maximum) : row.bar_for(list.wanted);
    const bool weighs = is_finite(bar) && !(weight.probabilities && bar < 0.0f);  // bar may be below all values
    const std::uint32_t at_bar = weighs ? weight(static_cast<double>(bar)) : 0;
    std::uint32_t lowest = at_bar < list.always ? at_bar : list.always;
    lowest = lowest > 1 ? lowest : 1;
    const float least = value_of_weight(weight, lowest);
    const bool whole = value_list(list).take(row, {least, least, 0});
    if (!whole) [[unlikely]]
      lowest = take_fewer(row, lowest, weight, list);
    weigh(policy, weight, list);

    const std::uint32_t positive = list.size;
    const std::uint32_t always = list.always > weight_one ? 0 : count_reaching(list.weights, positive, list.always);
    const std::uint32_t wanted = always > list.wanted ? always : list.wanted;
    if (wanted < positive) [[likely]] {
      keep(exact_cut(list.weights, positive, wanted, lowest), list);
    } else if (whole && lowest == 1) {
      list.dropped = false;
    } else {
      const float positive_from = value_of_weight(weight, 1);
      list.dropped = row.lanes_reaching(positive_from) > positive || row.count(positive_from, positive) > positive;
    }
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
