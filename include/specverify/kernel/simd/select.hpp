// SPDX-License-Identifier: Apache-2.0
//! Gathering the largest entries in vectors: a comparison of values finds candidates, the integer weights of those
//! decide.
//!
//! The coarse pass leaves the largest value of every lane of every 256 ids. As many of those as are wanted bound the
//! last wanted value from below, so only ids in such groups are looked at. Where too many ids reach that bound (ties,
//! runs of neighbours), a higher one is searched between it and the maximum.
#ifndef SPECVERIFY_KERNEL_SIMD_SELECT_HPP
#define SPECVERIFY_KERNEL_SIMD_SELECT_HPP

#include <specverify/kernel/scalar/select.hpp>
#include <specverify/kernel/simd/integer_weights.hpp>
#include <specverify/kernel/simd/pack.hpp>

#include <cmath>
#include <type_traits>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Places of floats in their order: neighbours differ by 1.
[[nodiscard]] SPECVERIFY_INLINE std::int64_t float_place(float value) noexcept {
  const auto bits = static_cast<std::int64_t>(bits_as<std::uint32_t>(value));
  return bits < 0x80000000 ? bits : 0x80000000 - bits;
}
[[nodiscard]] SPECVERIFY_INLINE float float_at(std::int64_t place) noexcept {
  return bits_as<float>(static_cast<std::uint32_t>(place >= 0 ? place : 0x80000000 - place));
}
inline constexpr float largest_float = 0x1.fffffep127f;

//! A value that every entry of integer weight above `floor` reaches: a little low, so that rounding cannot lose one.
[[nodiscard]] inline float value_above(const integer_weight& weight, std::uint32_t floor) noexcept {
  const double least = floor == 0 ? 0.25 : static_cast<double>(floor) - 0.5;  // w > floor means 2^31 e^x > floor - 1/4
  const double share = least * 0x1.0p-31 * (1.0 - 1e-6);
  double value = 0;
  if (weight.probabilities) {
    value = share * weight.maximum;
  } else {
    const double octaves = std::log2(share);  // weight.scale: 2^26 octaves per logit
    value = weight.maximum + octaves * 67108864.0 / weight.scale * (1.0 + 1e-6);
  }
  value -= (value < 0.0 ? -value : value) * 1e-6;
  return value > -static_cast<double>(largest_float) ? static_cast<float>(value) : -largest_float;
}

//! The smallest float whose integer weight is at least `least`, in 1 .. weight_one: weights never fall as values rise.
//! From a value that is a little low by steps that grow, then by halves.
[[nodiscard]] inline float value_of_weight(const integer_weight& weight, std::uint32_t least) noexcept {
  const auto reaches = [&](std::int64_t place) noexcept {
    return weight(static_cast<double>(float_at(place))) >= least;
  };
  std::int64_t low = float_place(value_above(weight, least - 1));
  if (reaches(low)) return float_at(low);                               // of the least float itself
  std::int64_t high = float_place(static_cast<float>(weight.maximum));  // reaches
  for (std::int64_t step = 8; low + step < high; step *= 2) {
    if (reaches(low + step)) {
      high = low + step;
    } else {
      low += step;
    }
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (reaches(middle) ? high : low) = middle;
  }
  return float_at(high);
}

//! How many of `size` values, a multiple of 16, are at least `bar`.
[[nodiscard]] inline std::uint32_t count_at_least(const float* values, std::uint32_t size, float bar) noexcept {
  const pack<float> least(bar);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < size; i += pack_size<float>) count += lanes_of(at_least(load_pack(values + i), least));
  return count;
}

//! A row with the largest values of its lanes.
template <class Scalar>
class topped_row {
 public:
  //! `tops` has room for a quarter more, which is written.
  topped_row(const row_source<Scalar>& source, float* tops, const integer_weight& weight) noexcept
      : source_(source),
        tops_(tops),
        groups_(block_count(source.size, top_size)),
        maximum_(static_cast<float>(weight.maximum)) {}

  //! A value that at least `wanted` ids reach, and not many more; -infinity where the tops do not say.
  [[nodiscard]] float bar_for(std::uint32_t wanted) const noexcept {
    const std::uint32_t lanes = groups_ * lane_count, blocks = block_count(source_.size);
    if (wanted > blocks * lane_count / 4) return bar_of(tops_, lanes, wanted);
    constexpr std::uint32_t in_block = block_size / top_size * lane_count;  // fewer values to count: tops of blocks
    float* tops = tops_ + lanes;
    for (std::uint32_t block = 0; block < blocks; ++block) {
      for (std::uint32_t i = 0; i < lane_count; i += pack_size<float>) {
        pack<float> top = load_pack(tops_ + block * in_block + i);
        for (std::uint32_t at = block * in_block + lane_count; at < (block + 1) * in_block && at < lanes;
             at += lane_count)
          top = larger(load_pack(tops_ + at + i), top);
        store_pack(tops + block * lane_count + i, top);
      }
    }
    return bar_of(tops, blocks * lane_count, wanted);
  }

  //! Calls `visit(first id, values, mask)` for every 64 ids from `start` on, a multiple of top_size, of which at least
  //! one reaches `bar`, ascending, until it returns false. Bit i of the mask: the i-th of them does.
  template <class Visit>
  bool each(float bar, std::uint32_t start, const Visit& visit) const noexcept {
    constexpr std::uint32_t held = 16;  // groups whose masks are written before one is read
    std::uint64_t words[held][top_size / 64];
    alignas(64) float buffer[top_size];
    const float* const plain = source_.plain();
    const pack<float> least(bar);
    for (std::uint32_t from = start / top_size; from < groups_; from += held) {
      const std::uint32_t until = groups_ - from < held ? groups_ : from + held;
      std::uint32_t listed[held], count = 0;  // groups with a lane that reaches the bar
      for (std::uint32_t group = from; group < until; ++group) {
        listed[count] = group * top_size;
        count += reaches(tops_ + std::size_t{group} * lane_count, least) ? 1u : 0u;
      }
      std::uint32_t whole = 0;  // of those that are read where they stand
      if (plain != nullptr) {
        for (; whole < count && source_.size - listed[whole] >= top_size; ++whole)
          write_masks(plain + listed[whole], top_size, least, words[whole]);
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t first = listed[i], left = source_.size - first;
        const float* values = i < whole ? plain + first : buffer;
        std::uint32_t filled = top_size;
        if (i >= whole) {
          filled = left < top_size ? (left + 63) / 64 * 64 : top_size;
          values = load(source_, first, filled, buffer);
          write_masks(values, filled, least, words[i]);
        }
        for (std::uint32_t part = 0; part < filled; part += 64) {
          const std::uint64_t mask = words[i][part / 64];
          if (mask != 0 && !visit(first + part, values + part, mask)) return false;
        }
      }
    }
    return true;
  }

  //! How many ids reach `bar`; once they are more than `most`, some number above it.
  [[nodiscard]] std::uint32_t count(float bar, std::uint32_t most) const noexcept {
    std::uint32_t found = 0;
    (void)each(bar, 0, [&](std::uint32_t, const float*, std::uint64_t mask) noexcept {
      found += lanes_of(mask);
      return found <= most;
    });
    return found;
  }

  //! The smallest value that reaches `bar`.
  [[nodiscard]] float smallest(float bar) const noexcept {
    const pack<float> least(bar), none(maximum_);
    pack<float> lowest = none;
    (void)each(bar, 0, [&](std::uint32_t, const float* values, std::uint64_t) noexcept {
      for (std::uint32_t i = 0; i < 64; i += pack_size<float>) {
        const pack<float> value = load_pack(values + i);
        lowest = smaller(lowest, chosen(value >= least, value, none));
      }
      return true;
    });
    return -largest_lane(-lowest);
  }

  [[nodiscard]] std::uint32_t lanes_reaching(float bar) const noexcept {
    return count_at_least(tops_, groups_ * lane_count, bar);
  }

 private:
  //! A value that at least `wanted` of the tops reach, and not many more; -infinity where too few are above it.
  [[nodiscard]] float bar_of(const float* tops, std::uint32_t size, std::uint32_t wanted) const noexcept {
    if (wanted > size || count_at_least(tops, size, -largest_float) < wanted) return negative_infinity<float>();
    const std::uint32_t plenty = wanted + wanted / 8 + 4;
    float low = -largest_float, high = maximum_,
          width = 4.0f;  // down from the maximum by steps that double, then halves
    for (std::uint32_t step = 0; float_place(high) - float_place(low) > 1; ++step) {
      float middle = low > -largest_float ? low + 0.5f * (high - low) : maximum_ - width;
      width *= 2.0f;
      if (step >= 24 || !(middle > low) || !(middle < high))
        middle = float_at((float_place(low) + float_place(high)) / 2);
      const std::uint32_t count = count_at_least(tops, size, middle);
      (count >= wanted ? low : high) = middle;
      if (count >= wanted && count <= plenty) break;
    }
    return low;
  }

  [[nodiscard]] static SPECVERIFY_INLINE bool reaches(const float* tops, const pack<float>& bar) noexcept {
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < lane_count; i += pack_size<float>) found |= at_least(load_pack(tops + i), bar);
    return found != 0;
  }

  const row_source<Scalar>& source_;
  float* tops_;
  std::uint32_t groups_;
  float maximum_;
};

//! What to take of a row: every id that reaches `all`, and the first `ties` of those that only reach `some`.
struct value_cut {
  float all = 0;
  float some = 0;
  std::uint32_t ties = 0;
};

//! Appends ids and their values to a list, and turns values into weights a batch at a time.
template <class Level>
class list_writer {
 public:
  list_writer(exec::simd_on<Level> policy, const integer_weight& weight, candidate_list& list) noexcept
      : policy_(policy), weight_(weight), list_(list) {
    list_.size = 0;
  }
  //! The ids of a mask; false once the list is full.
  [[nodiscard]] SPECVERIFY_INLINE bool append(std::uint32_t first, const float* from, std::uint64_t mask) noexcept {
    const std::uint32_t count = lanes_of(mask);
    if (count > list_.capacity - list_.size) return false;
    token_id* ids = list_.ids + list_.size;
    float* values = values_ + filled_;
    for (; mask != 0; mask &= mask - 1) {
      const std::uint32_t lane = lowest_lane(mask);
      *ids++ = static_cast<token_id>(first + lane);
      *values++ = from[lane];
    }
    list_.size += count;
    filled_ += count;
    if (filled_ > held - 64) flush();
    return true;
  }
  void flush() noexcept {
    (void)write_weights(policy_, static_cast<const float*>(values_), filled_, weight_,
                        list_.weights + list_.size - filled_);
    filled_ = 0;
  }

 private:
  static constexpr std::uint32_t held = 320;
  exec::simd_on<Level> policy_;
  const integer_weight& weight_;
  candidate_list& list_;
  float values_[held];
  std::uint32_t filled_ = 0;
};

//! Fills the list with what a cut takes, and its weights; false once the list is full.
template <class Level, class Scalar>
[[nodiscard]] inline bool fill(exec::simd_on<Level> policy, const topped_row<Scalar>& row, value_cut cut,
                               const integer_weight& weight, candidate_list& list) noexcept {
  list_writer<Level> to(policy, weight, list);
  std::uint32_t next = 0;
  bool whole = true;
  if (cut.ties > 0) {  // until the last of them, then those that reach `all`
    (void)row.each(cut.some, 0, [&](std::uint32_t first, const float* from, std::uint64_t mask) noexcept {
      std::uint64_t taken = 0;
      for (; mask != 0; mask &= mask - 1) {
        const bool tie = from[lowest_lane(mask)] < cut.all;
        if (tie && cut.ties == 0) continue;
        cut.ties -= tie ? 1u : 0u;
        taken |= mask & (~mask + 1);
      }
      next = first + 64;
      whole = to.append(first, from, taken);
      return whole && (cut.ties > 0 || next % top_size != 0);
    });
    next = (next + top_size - 1) / top_size * top_size;
  }
  whole = whole && row.each(cut.all, next, [&](std::uint32_t first, const float* from, std::uint64_t mask) noexcept {
    return to.append(first, from, mask);
  });
  to.flush();
  return whole;
}

//! A cut that leaves at least `wanted` ids and no more than the list holds, where those that reach `low` are too many.
//! Ids of a weight that is always kept are never too many, and belong to the cut.
template <class Scalar>
[[nodiscard]] inline value_cut tighter_cut(const topped_row<Scalar>& row, float low, const integer_weight& weight,
                                           const candidate_list& list) noexcept {
  const std::uint32_t wanted = list.wanted, most = list.capacity;
  const auto weight_at = [&](float value) noexcept { return weight(static_cast<double>(value)); };
  float high = static_cast<float>(weight.maximum);  // too few reach what is above
  if (list.always <= weight_one) {
    const float sure = value_of_weight(weight, list.always);
    if (row.count(sure, most) >= wanted) return {sure, sure, 0};
    high = sure;
  }
  for (;;) {
    // Too many reach low. Are those of one weight the reason?
    const std::uint32_t level = weight_at(row.smallest(low));
    const bool top = level == weight_one;
    const float next = top ? largest_float : value_of_weight(weight, level + 1);
    const std::uint32_t above = top ? 0 : row.count(next, most);
    if (above < wanted)
      return level == 0 ? value_cut{next, next, 0} : value_cut{next, value_of_weight(weight, level), wanted - above};
    if (above <= most) return {next, next, 0};
    low = next;
    for (;;) {  // halves, first of the values, then of their places
      float middle = low + 0.5f * (high - low);
      if (!(middle > low) || !(middle < high)) middle = float_at((float_place(low) + float_place(high)) / 2);
      if (!(middle > low)) break;
      const std::uint32_t found = row.count(middle, most);
      if (found >= wanted && found <= most) {
        const std::uint32_t own = weight_at(middle);
        const float snapped = value_of_weight(weight, own);
        if (!(snapped < middle) || row.count(snapped, most) <= most) return {snapped, snapped, 0};
        low = snapped;  // its own weight has too many
        break;
      }
      if (found > most) {
        low = middle;
        break;
      }
      high = middle;
    }
  }
}

//! The cut of the total order after `target` of `size` > target entries: halves between the least and the largest
//! weight. O(size) a step.
[[nodiscard]] inline order_cut halved_cut(const std::uint32_t* weights, std::uint32_t size,
                                          std::uint32_t target) noexcept {
  std::uint32_t low = 0, high = weight_one + 1, above = 0;  // `target` or more reach low; `above`, fewer, reach high
  while (high - low > 1) {
    const std::uint32_t middle = low + (high - low) / 2;
    const std::uint32_t count = count_reaching(weights, size, middle);
    if (count == target) return {middle, 0xFFFFFFFFu};
    if (count > target) {
      low = middle;
    } else {
      high = middle;
      above = count;
    }
  }
  return {low, target - above};
}

template <class Level, class Scalar>
inline void gather(exec::simd_on<Level> policy, const row_source<Scalar>& source, const integer_weight& weight,
                   float* tops, candidate_list& list) noexcept {
  if constexpr (!std::is_same_v<working<Scalar>, float>) {
    gather(exec::seq, source, weight, tops, list);  // double rows are for tests and references
  } else {
    list.dropped = true;
    if (list.wanted == 0 && list.always > weight_one) return;  // no weight is so large
    const topped_row<Scalar> row(source, tops, weight);
    float bar = list.wanted == 0 ? static_cast<float>(weight.maximum) : row.bar_for(list.wanted);
    const bool weighs = is_finite(bar) && !(weight.probabilities && bar < 0.0f);  // a bar may lie below all values
    const std::uint32_t at_bar = weighs ? weight(static_cast<double>(bar)) : 0;
    const std::uint32_t lowest = at_bar < list.always ? at_bar : list.always;
    bar = value_above(weight, lowest > 1 ? lowest - 1 : 0);
    const bool whole = fill(policy, row, {bar, bar, 0}, weight, list);
    if (!whole) (void)fill(policy, row, tighter_cut(row, bar, weight, list), weight, list);

    const std::uint32_t positive = count_reaching(list.weights, list.size, 1);
    const std::uint32_t always = count_reaching(list.weights, list.size, list.always);
    const std::uint32_t keep = always > list.wanted ? always : list.wanted;
    const order_cut cut = keep < positive ? halved_cut(list.weights, list.size, keep) : order_cut{};
    if (keep < positive || positive < list.size) apply_cut(cut, list);
    if (keep < positive) return;
    const float least = value_of_weight(weight, 1);
    list.dropped = row.lanes_reaching(least) > positive || row.count(least, positive) > positive;
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
