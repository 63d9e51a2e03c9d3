// SPDX-License-Identifier: Apache-2.0
//! Combines a row with the lane maxima of the coarse pass, which are the largest value of each lane for each group of
//! 256 ids. A search for large values can skip a lane whose maximum is below its threshold.
#ifndef SPECVERIFY_KERNEL_SIMD_TOPPED_ROW_HPP
#define SPECVERIFY_KERNEL_SIMD_TOPPED_ROW_HPP

#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/simd/pack.hpp>

#include <cstring>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Maps floats to integers in the same order, so that the integers of neighbouring floats differ by 1.
[[nodiscard]] SPECVERIFY_INLINE std::int64_t float_place(float value) noexcept {
  const auto bits = static_cast<std::int64_t>(bits_as<std::uint32_t>(value));
  return bits < 0x80000000 ? bits : 0x80000000 - bits;
}
[[nodiscard]] SPECVERIFY_INLINE float float_at(std::int64_t place) noexcept {
  return bits_as<float>(static_cast<std::uint32_t>(place >= 0 ? place : 0x80000000 - place));
}
inline constexpr float largest_float = 0x1.fffffep127f;

//! Returns log2 of a positive normal number within 1e-7. Implemented here to avoid a call into libm.
[[nodiscard]] SPECVERIFY_INLINE double log2_near(double x) noexcept {
  const std::uint64_t bits = bits_as<std::uint64_t>(x), mantissa = (bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u;
  const double m = bits_as<double>(mantissa), octaves = static_cast<double>(static_cast<std::int64_t>(bits >> 52));
  const double t = (m - 1.4142135623730951) / (m + 1.4142135623730951), u = t * t;  // m = sqrt(2) (1 + t) / (1 - t)
  return octaves - 1022.5 +
         t * (2.8853900817779268 + u * (0.9617966939259756 + u * (0.5770780163555854 + u * 0.4121985831111324)));
}

//! Returns a value near the smallest value whose integer weight is at least `least`. `least`: 1 .. weight_one.
[[nodiscard]] inline float value_near(const integer_weight& weight, std::uint32_t least) noexcept {
  const double share = (static_cast<double>(least) - 0.5) * 0x1.0p-31;  // weights are rounded
  const double value = SPECVERIFY_LIKELY(!weight.probabilities)
                           ? weight.maximum + log2_near(share) * (67108864.0 / weight.scale)  // 2^26 octaves per logit
                           : share * weight.maximum;
  return value > -static_cast<double>(largest_float) ? static_cast<float>(value) : -largest_float;
}

//! Returns the smallest float whose integer weight is at least `least`, which must be in 1 .. weight_one. The search
//! requires that weights never fall if values rise. Starts at a nearby value, gallops, then bisects.
[[nodiscard, gnu::noinline]] inline float value_of_weight(const integer_weight& weight, std::uint32_t least) noexcept {
  std::int64_t low = SPECVERIFY_LIKELY(!weight.probabilities) ? float_place(-largest_float) - 1 : -1;
  std::int64_t high = float_place(static_cast<float>(weight.maximum));  // high reaches `least`; low does not
  std::int64_t next = float_place(value_near(weight, least)), step = 1;
  for (bool reached = false, missed = false; high - low > 1;) {
    next = next > low ? (next < high ? next : high - 1) : low + 1;
    const bool reaches = weight(static_cast<double>(float_at(next))) >= least;
    (reaches ? high : low) = next;
    reached = reached || reaches;
    missed = missed || !reaches;
    if (reached && missed) {
      next = low + (high - low) / 2;
    } else {
      next = reaches ? high - step : low + step;
      step *= 2;
    }
  }
  return float_at(high);
}

//! Returns the smallest of `size` values that is at least `bar`, or `none` if there is no such value. `size` must be a
//! multiple of 16.
[[nodiscard]] inline float smallest_reaching(const float* values, std::uint32_t size, float bar, float none) noexcept {
  const pack<float> least(bar), other(none);
  pack<float> lowest = other;
  for (std::uint32_t i = 0; i < size; i += pack_size<float>) {
    const pack<float> value = load_pack(values + i);
    lowest = smaller(lowest, chosen(value >= least, value, other));
  }
  return -largest_lane(-lowest);
}

//! Searches values, none above `maximum`, for a threshold that `wanted` of the values or slightly more reach.
class value_search {
 public:
  value_search(const float* values, std::uint32_t size, std::uint32_t wanted, float maximum) noexcept
      : values_(values), size_(size), wanted_(wanted), maximum_(maximum), high_(float_at(float_place(maximum) + 1)) {}

  //! Returns the threshold, or -infinity if fewer than `wanted` values are finite.
  [[nodiscard]] float find() noexcept {
    constexpr std::uint32_t few = 512;
    if (wanted_ > size_) return negative_infinity<float>();
    float guess = maximum_ - 4.0f;
    if (size_ > 2 * few) {  // guess from a sample
      alignas(64) float part[few];
      for (std::uint32_t i = 0; i < few; i += lane_count) {
        const std::uint32_t at = static_cast<std::uint32_t>(std::uint64_t{i} * (size_ / lane_count) / few) * lane_count;
        std::memcpy(part + i, values_ + at, lane_count * sizeof(float));
      }
      const std::uint64_t share = (std::uint64_t{wanted_} + wanted_ / 16) * few / size_ + 1;
      const float found =
          value_search(part, few, share < few ? static_cast<std::uint32_t>(share) : few, maximum_).find();
      if (is_finite(found)) guess = smallest_reaching(part, few, found, maximum_);
    }
    return from(guess);
  }

 private:
  [[nodiscard]] float from(float middle) noexcept {
    const std::uint32_t plenty = wanted_ + wanted_ / 8 + 4;
    for (std::uint32_t step = 0;; ++step) {
      const std::uint32_t count = count_at_least(values_, size_, middle);
      if (count >= wanted_) {
        low_ = middle;
        at_low_ = count;
        if (count <= plenty) return low_;
      } else {
        high_ = middle;
        at_high_ = count;
        if (step == 0 && count_at_least(values_, size_, -largest_float) < wanted_) return negative_infinity<float>();
      }
      if (float_place(high_) - float_place(low_) <= 1) return low_;
      middle = next(step);
    }
  }

  //! Returns the next threshold to try. First tries a value just above the guess, which may be a tie, and then gallops
  //! downward. Once both ends are known, interpolates the counts; every third step bisects the values, and the last
  //! steps bisect the bit patterns of the floats.
  [[nodiscard]] float next(std::uint32_t step) noexcept {
    if (step == 0 && at_high_ == 0 && low_ > -largest_float) return float_at(float_place(low_) + 1);
    float middle = low_ + 0.5f * (high_ - low_);
    if (!(low_ > -largest_float)) {
      middle = high_ - width_;
      width_ *= 4.0f;
    } else if (step % 3 != 2) {
      const std::uint32_t target = wanted_ + wanted_ / 16;
      middle = low_ + (high_ - low_) * (static_cast<float>(at_low_ - target) / static_cast<float>(at_low_ - at_high_));
    }
    if (step >= 24 || !(middle > low_) || !(middle < high_))
      middle = float_at((float_place(low_) + float_place(high_)) / 2);
    return middle;
  }

  const float* values_;
  std::uint32_t size_, wanted_;
  float maximum_, high_, low_ = -largest_float, width_ = 1.0f;
  std::uint32_t at_low_ = 0, at_high_ = 0;
};

//! A few groups of ids in ascending order, and masks of the ids to take.
struct marked_groups {
  static constexpr std::uint32_t held = 16, parts = top_size / 64;
  std::uint32_t firsts[held];
  const float* values[held];
  std::uint64_t words[held][parts];
  std::uint32_t count = 0;
  std::uint32_t total = 0;       //!< ids to take
  std::uint32_t end = 0;         //!< all ids below this were examined
  const float* plain = nullptr;  //!< the row, if all values can be read in place
};

//! A row with the largest values of its lanes.
template <class Scalar>
class topped_row {
 public:
  //! `tops` must have space for a quarter more values, which is overwritten.
  topped_row(const row_source<Scalar>& source, float* tops, const integer_weight& weight) noexcept
      : source_(source),
        tops_(tops),
        groups_(block_count(source.size, top_size)),
        maximum_(static_cast<float>(weight.maximum)) {}

  //! Returns a threshold that `wanted` ids or slightly more reach; -infinity if the tops do not determine it.
  [[nodiscard]] float bar_for(std::uint32_t wanted) const noexcept {
    const std::uint32_t lanes = groups_ * lane_count, blocks = block_count(source_.size);
    if (wanted > blocks * lane_count / 4) return value_search(tops_, lanes, wanted, maximum_).find();
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
    return value_search(tops, blocks * lane_count, wanted, maximum_).find();
  }

  //! Walks over the groups that have an id that reaches a threshold, a few groups at a time.
  class walk {
   public:
    //! Starts at id `start`, which must be a multiple of top_size.
    walk(const topped_row& row, float bar, std::uint32_t start) noexcept
        : row_(row), bar_(bar), from_(start / top_size) {}

    //! Reads the next groups; returns false after the last.
    [[nodiscard, gnu::noinline]] bool next() noexcept {
      const row_source<Scalar>& source = row_.source_;
      const float* const plain = source.plain();
      const pack<float> least(bar_);
      groups.count = groups.total = 0;
      for (; from_ < row_.groups_ && groups.count < groups.held; ++from_) {
        groups.firsts[groups.count] = from_ * top_size;
        groups.count += row_.reaches(row_.tops_ + std::size_t{from_} * lane_count, least) ? 1u : 0u;
      }
      if (groups.count == 0) return false;
      groups.end = from_ * top_size;
      groups.plain = plain;
      for (std::uint32_t i = 0; i < groups.count; ++i) {
        const std::uint32_t first = groups.firsts[i];
        if (plain != nullptr && source.size - first >= top_size) [[likely]] {
          groups.values[i] = plain + first;
        } else {
          groups.values[i] = load(source, first, top_size, buffer_ + i * top_size);
          groups.plain = nullptr;
        }
        write_masks(groups.values[i], top_size, least, groups.words[i]);
        for (const std::uint64_t word : groups.words[i]) groups.total += lanes_of(word);
      }
      return true;
    }
    marked_groups groups;

   private:
    const topped_row& row_;
    float bar_;
    std::uint32_t from_;
    alignas(64) float buffer_[marked_groups::held * top_size];
  };

  //! Returns the number of ids whose value reaches the threshold `bar`. If there are more than `most`, returns any
  //! number above `most`.
  [[nodiscard]] std::uint32_t count(float bar, std::uint32_t most) const noexcept {
    std::uint32_t found = 0;
    for (walk reached(*this, bar, 0); found <= most && reached.next();) found += reached.groups.total;
    return found;
  }

  //! Returns a value that about `wanted` ids reach, from a sample of the groups that have an id that reaches `bar`. A
  //! different `look` takes a different sample. Values are sampled in runs of 16 neighbours, at pseudorandom positions.
  [[nodiscard]] float sampled(float bar, std::uint32_t wanted, std::uint32_t look) const noexcept {
    constexpr std::uint32_t most = 4096, vectors = top_size / lane_count;
    alignas(64) float sample[most], buffer[lane_count];
    const pack<float> least(bar);
    std::uint32_t listed = 0, stride = 1, size = 0;
    for (std::uint32_t group = 0; group < groups_; ++group)
      listed += reaches(tops_ + std::size_t{group} * lane_count, least) ? 1u : 0u;
    const auto enough = [&] {  // values for the rank
      const std::uint64_t values = std::uint64_t{listed} * top_size / stride;
      return values <= (wanted / stride < 64 ? most : most / 2);
    };
    while (!enough()) stride *= 2;
    const std::uint32_t every = stride > vectors ? stride / vectors : 1, step = stride > vectors ? vectors : stride;
    for (std::uint32_t group = 0, index = 0; group < groups_ && size < most; ++group) {
      if (!reaches(tops_ + std::size_t{group} * lane_count, least) || index++ % every != look % every) continue;
      const std::uint32_t mixed = (group * 0x9E3779B9u + look * 0x85EBCA6Bu) >> 16;
      for (std::uint32_t v = mixed % step; v < vectors; v += step) {
        const float* values = load(source_, group * top_size + v * lane_count, lane_count, buffer);
        std::memcpy(sample + size, values, sizeof(buffer));
        size += lane_count;
      }
    }
    const std::uint32_t rank = wanted / stride > 0 ? wanted / stride : 1;
    const float found = value_search(sample, size, rank, maximum_).find();
    return is_finite(found) ? smallest_reaching(sample, size, found, maximum_) : bar;
  }

  [[nodiscard]] std::uint32_t lanes_reaching(float bar) const noexcept {
    return count_at_least(tops_, groups_ * lane_count, bar);
  }

 private:
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

//! Ids to list from a row: every id whose value is at least `all`, and the first `ties` of the other ids whose value is
//! at least `some`.
struct value_cut {
  float all = 0;
  float some = 0;
  std::uint32_t ties = 0;

  //! Removes surplus ties from the masks of the ids whose value is at least `some`.
  void apply(marked_groups& groups) noexcept {
    const pack<float> least(all);
    for (std::uint32_t i = 0; i < groups.count; ++i) {
      std::uint64_t above[marked_groups::parts];
      write_masks(groups.values[i], top_size, least, above);
      for (std::uint32_t part = 0; part < marked_groups::parts; ++part) {
        const std::uint64_t equal = groups.words[i][part] & ~above[part];
        const std::uint32_t count = lanes_of(equal), kept = count < ties ? count : ties;
        std::uint64_t left = count > ties ? equal : 0;
        for (std::uint32_t k = 0; k < kept && left != 0; ++k) left &= left - 1;
        groups.words[i][part] &= ~left;
        groups.total -= count - kept;
        ties -= kept;
      }
    }
  }
};

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
