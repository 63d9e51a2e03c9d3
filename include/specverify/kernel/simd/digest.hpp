// SPDX-License-Identifier: Apache-2.0
//! Computes the coarse pass of a digest with vector instructions. Each lane j of a block is summed in one vector lane,
//! so lane sums have the same bits as the scalar reference.
#ifndef SPECVERIFY_KERNEL_SIMD_DIGEST_HPP
#define SPECVERIFY_KERNEL_SIMD_DIGEST_HPP

#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/simd/argmax.hpp>
#include <specverify/kernel/simd/quick_powers.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Neighbouring blocks are read together, but each block is in a different page, and CPUs prefetch only within a page.
//! So the next group is prefetched while the current group is read, in the order of the cache lines. The first group is
//! prefetched in parts while the row is sampled.
inline constexpr std::uint32_t coarse_width = pack_size<float> >= 4 ? pack_size<float> / 4 : 1;  // blocks per group
inline constexpr std::uint32_t ahead_share = 128, ahead_shares = coarse_width * block_size / ahead_share;

SPECVERIFY_INLINE void ask_ahead(const void* value) noexcept { __builtin_prefetch(value); }

template <class Level, class Scalar>
[[nodiscard]] inline working<Scalar> sampled_reference(exec::simd_on<Level>,
                                                       const row_source<Scalar>& source) noexcept {
  using work = working<Scalar>;
  constexpr std::uint32_t width = pack_size<work>;
  pack<work> best(source.forbidden());
  std::uint32_t first = 0;
  if (const Scalar* const values = source.unchanged(); values != nullptr) {
    for (; first + sampled_ids <= source.size; first += block_size) {
      const std::uint32_t block = first / block_size;
      const bool inside = block < ahead_shares && source.size >= (block + 1) * ahead_share;
      for (std::uint32_t i = 0; inside && i < ahead_share; i += 64 / sizeof(Scalar))
        ask_ahead(values + block * ahead_share + i);
      for (std::uint32_t i = 0; i < sampled_ids; i += width) best = larger(load_pack(values + first + i), best);
    }
  }
  work buffer[sampled_ids];
  for (; first < source.size; first += block_size) {
    const work* values = load(source, first, sampled_ids, buffer);
    for (std::uint32_t i = 0; i < sampled_ids; i += width) best = larger(load_pack(values + i), best);
  }
  return largest_lane(best);
}

//! State shared by the passes over all blocks. `marks` detects NaNs, and `smallest` detects values below 0.
struct coarse_state {
  pack<std::int32_t> marks = pack<std::int32_t>(0);
  pack<float> smallest = pack<float>(0.0f);
};

//! Computes the bits of w for logits. `floor` must be the first operand of `larger`, so that a NaN passes through.
[[nodiscard]] SPECVERIFY_INLINE pack<std::int32_t> coarse_exponentials(const pack<float>& values,
                                                                       const pack<float>& reference,
                                                                       const pack<float>& scale) noexcept {
  const pack<float> scaled = (values - reference) * scale;
  const pack<float> floor(static_cast<float>(coarse_minimum));
  return truncated(larger(floor, scaled)) + pack<std::int32_t>(coarse_bias);
}

[[nodiscard]] SPECVERIFY_INLINE pack<float> coarse_probabilities(const pack<float>& values) noexcept {
  const pack<float> zero(0.0f);
  return chosen(values > zero, larger(values, pack<float>(0x1.0p-126f)), zero);
}

//! Inputs and outputs of a group of neighbouring blocks. `tops`: the largest value of each lane for each group of 256
//! ids, or null.
template <class Stored>
struct coarse_blocks {
  const Stored* values[4];
  std::uint32_t ahead;  // distance from the first value to the values to prefetch
  float* lane_sums;
  double* block_sums;
  float* tops;
};

//! Sums w over the first `size` values (a multiple of 16) of each of `Blocks` neighbouring blocks. The blocks are
//! summed at the same time, because their sums are independent chains of additions. Returns the largest value of each
//! lane.
template <std::uint32_t Blocks, bool Probabilities, class Stored, class Size>
[[nodiscard]] SPECVERIFY_INLINE pack<float> coarse_group(const coarse_blocks<Stored>& group, Size size,
                                                         const envelope<float>& weight, float forbidden,
                                                         coarse_state& state) noexcept {
  constexpr std::uint32_t width = pack_size<float>, rows = lane_count / width, chains = Blocks * rows;
  const pack<float> reference(weight.reference), scale(weight.scale);
  pack<float> sums[chains], best(forbidden);
  for (auto& sum : sums) sum = pack<float>(0.0f);
  pack<std::int32_t> marks = state.marks;
  for (std::uint32_t part = 0; part < size; part += top_size) {
    const std::uint32_t end = size - part < top_size ? static_cast<std::uint32_t>(size) : part + top_size;
    pack<float> tops[chains];
    for (auto& top : tops) top = pack<float>(forbidden);
    for (std::uint32_t i = part; i < end; i += lane_count) {
      if (i % (64 / sizeof(Stored)) == 0) {
        for (std::uint32_t b = 0; b < Blocks; ++b)
          ask_ahead(group.values[0] + group.ahead + i * Blocks + b * (64 / sizeof(Stored)));
      }
      pack<std::int32_t> bits[chains];
      pack<float> values[rows];
      for (std::uint32_t c = 0; c < chains; ++c) {
        if (c % rows == 0) load_sixteen(group.values[c / rows] + i, values);
        const pack<float>& value = values[c % rows];
        tops[c] = larger(value, tops[c]);
        if constexpr (Probabilities) {
          state.smallest = smaller(state.smallest, value);
          sums[c] += coarse_probabilities(value);
        } else {
          bits[c] = coarse_exponentials(value, reference, scale);
          sums[c] += float_bits(bits[c]);
        }
        if constexpr (Probabilities || !truncation_marks_nans) marks = larger(marks, magnitude_bits(value));
      }
      if constexpr (!Probabilities && truncation_marks_nans) {
        for (std::uint32_t c = 0; c < chains; c += 2) marks = merged(marks, bits[c], bits[c + 1 < chains ? c + 1 : c]);
      }
    }
    for (std::uint32_t b = 0; b < Blocks; ++b) order_sixteen<Stored>(tops + b * rows);
    for (std::uint32_t c = 0; c < chains; ++c) {
      best = larger(tops[c], best);
      if (group.tops != nullptr)
        store_pack(group.tops + (c / rows * (block_size / top_size) + part / top_size) * lane_count + c % rows * width,
                   tops[c]);
    }
  }
  state.marks = marks;
  for (std::uint32_t b = 0; b < Blocks; ++b) {
    order_sixteen<Stored>(sums + b * rows);
    for (std::uint32_t r = 0; r < rows; ++r)
      store_pack(group.lane_sums + b * lane_count + r * width, sums[b * rows + r]);
    group.block_sums[b] = lane_tree(sums + b * rows);
  }
  return best;
}

//! Returns whether the marks show a NaN or, for logits, an exponent beyond the range of a float.
template <bool Probabilities>
[[nodiscard]] inline bool marked(const coarse_state& state) noexcept {
  if constexpr (truncation_marks_nans && !Probabilities) {
    return largest_lane(-(state.marks >> 31)) != 0;
  } else {
    return largest_lane(state.marks) > infinity_bits<float>;
  }
}

//! Sums powers of a block right after its coarse sums, while the block is in the first-level cache.
class quick_sums {
 public:
  quick_sums(const envelope<float>& weight, double inverse_temperature) noexcept
      : powers_({static_cast<double>(weight.reference), inverse_temperature, false}) {}
  [[nodiscard]] bool usable() const noexcept { return powers_.usable(); }
  template <class Stored, class Size>
  SPECVERIFY_INLINE void add(const Stored* values, Size size) noexcept {
    total_.add(quick_block(powers_, values, size));
  }
  [[nodiscard]] double value() const noexcept { return total_.value() * numeric::exp2(-powers_.offset()); }

 private:
  quick_powers powers_;
  wide_sum total_;
};
//! Computes the coarse pass over a row of floats. `powers` may be null.
template <bool Probabilities, class Scalar>
[[nodiscard]] inline row_extremes<float> coarse_rows(const row_source<Scalar>& source, const envelope<float>& weight,
                                                     const coarse_output& out, quick_sums* powers) noexcept {
  constexpr std::uint32_t blocks = coarse_width, distance = blocks * block_size;
  constexpr std::uint32_t tops_a_block = block_size / top_size * lane_count;
  row_extremes<float> found;
  found.maximum = found.second = source.forbidden();
  std::uint32_t best_first = 0;
  coarse_state state;
  alignas(64) float buffer[blocks * block_size];
  const bool plain = source.unchanged() != nullptr;
  const auto read = [&](std::uint32_t first, auto count, auto size, const auto& values_of) {
    const std::uint32_t block = first / block_size;
    const bool inside = plain && source.size - first > distance && source.size - first - distance >= count * size;
    coarse_blocks<std::remove_cv_t<std::remove_pointer_t<decltype(values_of(0u))>>> group{
        {},
        inside ? distance : 0,
        out.lane_sums + std::size_t{block} * lane_count,
        out.block_sums + block,
        out.tops == nullptr ? nullptr : out.tops + std::size_t{block} * tops_a_block};
    for (std::uint32_t b = 0; b < count; ++b) group.values[b] = values_of(b);
    const pack<float> top = coarse_group<count, Probabilities>(group, size, weight, source.forbidden(), state);
    for (std::uint32_t b = 0; !Probabilities && powers != nullptr && b < count; ++b) {
      if constexpr (!std::is_same_v<decltype(size), std::uint32_t>) {
        powers->add(group.values[b], size);
      } else {  // the last block
        const std::uint32_t whole = block_groups(size, quick_group);
        powers->add(load(source, first, whole, buffer), whole);
      }
    }
    if (!any_above(top, pack<float>(found.maximum))) return;
    found.maximum = largest_lane(top);
    best_first = first;
  };
  using whole = std::integral_constant<std::uint32_t, block_size>;
  std::uint32_t first = 0;
  const auto loaded = [&](std::uint32_t size) {
    return [&, size](std::uint32_t b) { return load(source, first + b * block_size, size, buffer + b * block_size); };
  };
  constexpr std::integral_constant<std::uint32_t, blocks> group{};
  if constexpr (!std::is_same_v<Scalar, float>) {
    const Scalar* const stored = source.unchanged();
    for (; stored != nullptr && source.size - first >= blocks * block_size; first += blocks * block_size)
      read(first, group, whole{}, [&](std::uint32_t b) { return stored + first + b * block_size; });
  }
  for (; source.size - first >= blocks * block_size; first += blocks * block_size)
    read(first, group, whole{}, loaded(block_size));
  for (; first < source.size; first += block_size) {
    const std::uint32_t size = block_width(source.size - first);
    read(first, std::integral_constant<std::uint32_t, 1>{}, size, loaded(size));
  }

  found.has_nan = marked<Probabilities>(state) || is_nan(found.maximum);
  // Only a value this far above the reference can give an exponent beyond the range of a float, which looks like a NaN.
  // The caller then reads again.
  if (!Probabilities && coarse_difference(found.maximum, weight.reference) * weight.scale >= 128 * coarse_scale_unit)
    found.has_nan = false;
  found.has_negative = Probabilities && -largest_lane(-state.smallest) < 0.0f;
  if (found.has_nan || !is_finite(found.maximum)) return found;
  for (first = best_first; first < source.size; first += block_size) {
    found.argmax = locate_value(source, first, found.maximum);
    if (source.value(found.argmax) >= found.maximum) break;
  }
  return found;
}

template <class Level, class Scalar>
[[nodiscard, gnu::noinline]] inline row_extremes<working<Scalar>> coarse_pass(exec::simd_on<Level>,
                                                                              const row_source<Scalar>& source,
                                                                              const envelope<working<Scalar>>& weight,
                                                                              const coarse_output& out) noexcept {
  if constexpr (std::is_same_v<working<Scalar>, float>) {
    if (out.quick_total != nullptr) *out.quick_total = 0;
    if (source.probabilities) return coarse_rows<true>(source, weight, out, nullptr);
    if (out.quick_total != nullptr) {
      quick_sums powers(weight, out.inverse_temperature);
      if (powers.usable()) {
        [[maybe_unused]] const flushed_denormals no_assists;
        const row_extremes<float> found = coarse_rows<false>(source, weight, out, &powers);
        *out.quick_total = powers.value();
        return found;
      }
    }
    return coarse_rows<false>(source, weight, out, nullptr);
  } else {
    return coarse_pass(exec::seq, source, weight, out);  // double rows are only for tests and references
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
