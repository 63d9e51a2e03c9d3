// SPDX-License-Identifier: Apache-2.0
//! Reads a row of logits without computing sums: finds the largest value of each lane for each group of 256 ids, the
//! row's maximum with its id, and whether the row has a NaN. The coarse pass gives the same maxima.
#ifndef SPECVERIFY_KERNEL_SIMD_TOPS_HPP
#define SPECVERIFY_KERNEL_SIMD_TOPS_HPP

#include <specverify/kernel/simd/digest.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! Prefetches the first cache lines of the page after the next page, because CPUs prefetch within a page only after its
//! first access. More lines would slow down rows that are in a cache.
template <class Stored>
SPECVERIFY_INLINE void begin_page_ahead(const Stored* values, std::uint32_t left) noexcept {
  constexpr std::uint32_t page = 4096 / sizeof(Stored), line = 64 / sizeof(Stored);
  if (left < 3 * page) return;
  for (std::uint32_t i = 0; i < 4; ++i) ask_ahead(values + 2 * page + i * line);
}

//! Writes the largest value of each lane of top_size ids. Returns the maximum of these values and `best`, lane by lane.
template <class Stored>
[[nodiscard]] SPECVERIFY_INLINE pack<float> write_tops(const Stored* values, pack<float> best, float forbidden,
                                                       float* tops, nan_finder<float>& nans) noexcept {
  constexpr std::uint32_t width = pack_size<float>, rows = lane_count / width, chains = rows < 4 ? 4 : rows;
  pack<float> top[chains];
  for (auto& one : top) one = pack<float>(forbidden);
  for (std::uint32_t i = 0; i < top_size; i += chains * width) {
    pack<float> value[chains];
    for (std::uint32_t c = 0; c < chains; ++c) value[c] = in_register(load_pack(values + i + c * width));
    for (std::uint32_t c = 0; c < chains; ++c) top[c] = larger(value[c], top[c]);
    for (std::uint32_t c = 0; c < chains; c += 2) nans.see(value[c], value[c + 1]);
  }
  for (std::uint32_t r = 0; r < rows; ++r) {
    for (std::uint32_t c = r + rows; c < chains; c += rows) top[r] = larger(top[c], top[r]);
    store_pack(tops + r * width, top[r]);
    best = larger(top[r], best);
  }
  return best;
}

//! `tops`: see coarse_output::tops; may be null. Does not set `second` unless `tops` is null.
template <class Level, class Scalar>
[[nodiscard, gnu::noinline]] inline row_extremes<working<Scalar>> find_tops(exec::simd_on<Level> policy,
                                                                            const row_source<Scalar>& source,
                                                                            float* tops) noexcept {
  if constexpr (!std::is_same_v<working<Scalar>, float>) {
    return find_maximum(policy, source);  // double rows are only for tests and references
  } else {
    if (tops == nullptr) return find_maximum(policy, source);
    row_extremes<float> found;
    found.maximum = found.second = source.forbidden();
    std::uint32_t best_first = 0;
    nan_finder<float> nans;
    const auto read = [&](std::uint32_t first, const auto* values, std::uint32_t size) {
      pack<float> best(source.forbidden());
      for (std::uint32_t i = 0; i < size; i += top_size)
        best = write_tops(values + i, best, source.forbidden(), tops + (first + i) / top_size * lane_count, nans);
      if (!any_above(best, pack<float>(found.maximum))) return;
      found.maximum = largest_lane(best);
      best_first = first;
    };
    std::uint32_t first = 0;
    if (const Scalar* const stored = source.unchanged(); stored != nullptr) {
      for (; source.size - first >= block_size; first += block_size) {
        begin_page_ahead(stored + first, source.size - first);
        read(first, stored + first, block_size);
      }
    }
    alignas(64) float buffer[block_size];
    for (; first < source.size; first += block_size) {
      const std::uint32_t size = block_groups(source.size - first, top_size);
      read(first, load(source, first, size, buffer), size);
    }
    found.has_nan = nans.found() || is_nan(found.maximum);
    if (!found.has_nan && is_finite(found.maximum)) found.argmax = locate_value(source, best_first, found.maximum);
    return found;
  }
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
