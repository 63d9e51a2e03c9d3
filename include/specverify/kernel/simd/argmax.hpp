// SPDX-License-Identifier: Apache-2.0
//! Finds the largest and second largest value of a row with vectors. The result equals the scalar reference.
//!
//! The loop over a block tracks only the largest value and NaNs. A block is read again only if its largest value
//! exceeds the second largest value so far.
#ifndef SPECVERIFY_KERNEL_SIMD_ARGMAX_HPP
#define SPECVERIFY_KERNEL_SIMD_ARGMAX_HPP

#include <specverify/kernel/scalar/argmax.hpp>
#include <specverify/kernel/simd/pack.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Returns the smallest index of a value that reaches `bar`, or `count`. `count` must be a multiple of the pack size.
template <class Work>
[[nodiscard]] inline std::uint32_t first_at_least(const Work* values, std::uint32_t count, Work bar) noexcept {
  const pack<Work> least(bar);
  for (std::uint32_t i = 0; i < count; i += pack_size<Work>) {
    const std::uint32_t mask = at_least(load_pack(values + i), least);
    if (mask != 0) return i + lowest_lane(mask);
  }
  return count;
}

//! Returns the smallest id of a block that reaches `value`, the largest value of the block. Returns the first id if no
//! value reaches it (NaN).
template <class Scalar>
[[nodiscard]] inline std::uint32_t locate_value(const row_source<Scalar>& source, std::uint32_t first,
                                                working<Scalar> value) noexcept {
  alignas(64) working<Scalar> buffer[block_size];
  const std::uint32_t filled = block_groups(source.size - first, pack_size<working<Scalar>>);
  const std::uint32_t at = first_at_least(load(source, first, filled, buffer), filled, value);
  return at < filled ? first + at : first;
}

//! Returns the largest of `count` values other than the one at `left_out`. `count` must be a multiple of the pack size.
template <class Work>
[[nodiscard]] inline Work largest_without(const Work* values, std::uint32_t count, std::uint32_t left_out,
                                          Work forbidden) noexcept {
  constexpr std::uint32_t width = pack_size<Work>;
  const std::uint32_t own = left_out / width * width;
  pack<Work> top(forbidden);
  for (std::uint32_t i = 0; i < own; i += width) top = larger(load_pack(values + i), top);
  for (std::uint32_t i = own + width; i < count; i += width) top = larger(load_pack(values + i), top);
  Work best = largest_lane(top);
  for (std::uint32_t i = own; i < own + width; ++i) best = i != left_out && values[i] > best ? values[i] : best;
  return best;
}

//! Number of values per block. Larger blocks amortize the overhead per block, but cost more when a block is scanned
//! twice.
inline constexpr std::uint32_t scan_size = 2048;

template <class Level, class Scalar>
[[nodiscard, gnu::noinline]] inline row_extremes<working<Scalar>> find_maximum(
    exec::simd_on<Level>, const row_source<Scalar>& source) noexcept {
  using work = working<Scalar>;
  constexpr std::uint32_t width = pack_size<work>, chains = 4;  // independent chains of maxima
  const work forbidden = source.forbidden();
  const bool probabilities = source.probabilities;
  row_extremes<work> found;
  found.maximum = found.second = forbidden;
  std::uint32_t best_first = 0;
  nan_finder<work> nans;
  pack<work> smallest(work{0});
  alignas(64) work buffer[scan_size];
  const auto scan = [&](std::uint32_t first, auto count) {
    const work* values = load(source, first, count, buffer);
    pack<work> top[chains];
    for (auto& one : top) one = pack<work>(forbidden);
    for (std::uint32_t i = 0; i < count; i += chains * width) {
      pack<work> value[chains];
      for (std::uint32_t c = 0; c < chains; ++c) value[c] = in_register(load_pack(values + i + c * width));
      for (std::uint32_t c = 0; c < chains; ++c) top[c] = larger(value[c], top[c]);
      for (std::uint32_t c = 0; c < chains; c += 2) nans.see(value[c], value[c + 1]);
      if (probabilities) {
        for (std::uint32_t c = 0; c < chains; ++c) smallest = smaller(smallest, value[c]);
      }
    }
    const pack<work> best = larger(larger(top[0], top[1]), larger(top[2], top[3]));
    if (!any_above(best, pack<work>(found.second))) return;
    const work value = largest_lane(best);
    if (value > found.maximum) {
      found.second = found.maximum;
      found.maximum = value;
      best_first = first;
    } else {
      found.second = value;
    }
  };
  std::uint32_t first = 0;
  for (; source.size - first >= scan_size; first += scan_size)
    scan(first, std::integral_constant<std::uint32_t, scan_size>{});
  constexpr std::uint32_t step = chains * width;
  if (first < source.size) scan(first, (source.size - first + step - 1) / step * step);

  found.has_nan = nans.found() || is_nan(found.maximum);
  found.has_negative = probabilities && -largest_lane(-smallest) < work{0};
  const std::uint32_t left = source.size - best_first;
  const std::uint32_t filled = left < scan_size ? (left + width - 1) / width * width : scan_size;
  const work* values = load(source, best_first, filled, buffer);
  const std::uint32_t at = first_at_least(values, filled, found.maximum);
  if (found.has_nan || at == filled) return found;
  found.argmax = best_first + at;
  const work second = largest_without(values, filled, at, forbidden);
  if (second > found.second) found.second = second;
  return found;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
