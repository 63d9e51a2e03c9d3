// SPDX-License-Identifier: Apache-2.0
//! Sums, cuts and weighs lists of entries that can be as long as a row.
#ifndef SPECVERIFY_ROW_DETAIL_LONG_LIST_HPP
#define SPECVERIFY_ROW_DETAIL_LONG_LIST_HPP

#include <specverify/kernel/kernels.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

// Loops over long lists run in steps of fixed length, so that compilers can vectorize them.
inline constexpr std::uint32_t list_run = 64;

//! Returns the sum of all weights that are at least `least`.
[[nodiscard, gnu::noinline]] inline std::uint64_t mass_from(const std::uint32_t* weights, std::uint32_t size,
                                                            std::uint32_t least) noexcept {
  std::uint64_t mass = 0;
  std::uint32_t first = 0;
  for (; first + list_run <= size; first += list_run) {
    const std::uint32_t* const run = weights + first;
    std::uint32_t low = 0, high = 0;  // 16-bit halves, so that the sums stay below 2^32
    for (std::uint32_t i = 0; i < list_run; ++i) {
      const std::uint32_t weight = run[i] >= least ? run[i] : 0u;
      low += weight & 0xFFFFu;
      high += weight >> 16;
    }
    mass += (std::uint64_t{high} << 16) + low;
  }
  for (; first < size; ++first) mass += weights[first] >= least ? weights[first] : 0u;
  return mass;
}
[[nodiscard]] inline std::uint64_t mass_of(const kernel::candidate_list& list) noexcept {
  return mass_from(list.weights, list.size, 0);
}
//! Returns the mass of the entries that a cut keeps. The list must contain all ties of the cut.
[[nodiscard]] inline std::uint64_t mass_of(const kernel::candidate_list& list, kernel::order_cut cut) noexcept {
  return std::uint64_t{cut.weight} * cut.ties + mass_from(list.weights, list.size, cut.weight + 1);
}

struct run_counts {
  std::uint32_t above = 0;
  std::uint32_t equal = 0;
};
[[nodiscard]] inline run_counts counts_of(const std::uint32_t* weights, std::uint32_t count,
                                          std::uint32_t weight) noexcept {
  run_counts found;
  if (count == list_run) {
    for (std::uint32_t i = 0; i < list_run; ++i) {
      found.above += weights[i] > weight ? 1u : 0u;
      found.equal += weights[i] == weight ? 1u : 0u;
    }
    return found;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    found.above += weights[i] > weight ? 1u : 0u;
    found.equal += weights[i] == weight ? 1u : 0u;
  }
  return found;
}

//! Removes the entries that a cut drops, in place. The loop over single entries is skipped for a run that is dropped as
//! a whole, or that stays in place as a whole.
inline void shorten(kernel::candidate_list& list, kernel::order_cut cut) noexcept {
  token_id* const ids = list.ids;
  std::uint32_t* const weights = list.weights;
  std::uint32_t kept = 0;
  for (std::uint32_t first = 0; first < list.size; first += list_run) {
    const std::uint32_t count = list.size - first < list_run ? list.size - first : list_run;
    const run_counts found = counts_of(weights + first, count, cut.weight);
    const std::uint32_t ties = found.equal < cut.ties ? found.equal : cut.ties, all = found.above + ties;
    cut.ties -= ties;
    if (kept == first && all == count) {
      kept += count;
      continue;
    }
    const bool some = ties > 0 && ties < found.equal;  // only one run can be cut inside the ties
    const std::uint32_t least = cut.weight + (ties > 0 ? 0u : 1u);
    std::uint32_t left = some ? ties : count;
    for (std::uint32_t i = 0, taken = 0; taken < all; ++i) {
      const std::uint32_t weight = weights[first + i];
      ids[kept + taken] = ids[first + i];
      weights[kept + taken] = weight;
      const bool tie = some && weight == cut.weight;
      taken += weight >= least && !(tie && left == 0) ? 1u : 0u;
      left -= tie && left > 0 ? 1u : 0u;
    }
    kept += all;
  }
  list.size = kept;
}

//! Estimates a cut by mass from a sample of the list's weights.
class sampled_cut {
 public:
  static constexpr std::uint32_t size = 1024;
  //! The list must have at least as many entries as the sample. `left`: the mass after the cut, which is spread over
  //! many entries.
  sampled_cut(const kernel::candidate_list& list, std::uint64_t left) noexcept {
    for (std::uint32_t i = 0; i < size; ++i) {  // one entry of each 1024th of the list, at a pseudorandom position
      const std::uint64_t place = (i << 16) + (i * 0x9E3779B9u >> 16);
      all_ += weights_[i] = list.weights[static_cast<std::uint32_t>(list.size * place >> 26)];
    }
    const auto behind = static_cast<std::uint64_t>(static_cast<double>(left) * size / list.size);
    near_ = all_ > behind ? all_ - behind : 0;
    off_ = (all_ - near_) / 2 < all_ / 16 ? (all_ - near_) / 2 : all_ / 16;
  }
  [[nodiscard]] std::uint32_t middle() const noexcept { return at(near_); }
  [[nodiscard]] std::uint32_t low() const noexcept { return at(near_ + off_); }
  [[nodiscard]] std::uint32_t high() const noexcept { return near_ > off_ ? at(near_ - off_) : 0xFFFFFFFEu; }

 private:
  [[nodiscard]] std::uint32_t at(std::uint64_t target) const noexcept {
    return kernel::radix_cut(weights_, size, target > 0 ? target : 1, true).weight;
  }
  std::uint32_t weights_[size];
  std::uint64_t all_ = 0, near_ = 0, off_ = 0;
};

//! Finds the cut at which a list whose total mass is `mass` reaches `target`. In a long list, only the weights near the
//! cut, found from a sample, are examined one by one. `room` must be as long as the list.
[[nodiscard]] inline kernel::order_cut mass_cut(const kernel::candidate_list& list, std::uint64_t mass,
                                                std::uint64_t target, std::uint32_t* room) noexcept {
  const std::uint32_t* const weights = list.weights;
  const std::uint32_t size = list.size;
  if (size < 4 * sampled_cut::size) return kernel::radix_cut(weights, size, target, true);
  const sampled_cut sample(list, mass - target);
  const std::uint32_t middle = sample.middle();
  std::uint32_t low = middle, high = middle;
  std::uint64_t above = mass_from(weights, size, middle + 1), reached = mass_from(weights, size, middle);
  if (above < target && reached >= target)  // the cut is among the ties of `middle`
    return {middle, static_cast<std::uint32_t>((target - above + middle - 1) / middle)};
  if (reached < target) {
    low = sample.low();
    high = middle - 1;
    above = reached;
    reached = mass_from(weights, size, low);
  } else {
    low = middle + 1;
    high = sample.high();
    reached = above;
    above = mass_from(weights, size, high + 1);
  }
  if (above >= target || reached < target || low > high) return kernel::radix_cut(weights, size, target, true);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    room[count] = weights[i];
    count += weights[i] - low <= high - low ? 1u : 0u;
  }
  return kernel::radix_cut(room, count, target - above, true);
}

//! Computes e_v of all entries of a list in double, and returns the sum, added in the order of the ids. Loops have a
//! fixed length, so that compilers can vectorize them.
template <class Scalar>
[[nodiscard]] inline double weigh_exactly(const kernel::row_source<Scalar>& source, const kernel::exact_weight& exact,
                                          const kernel::candidate_list& list, double* weights) noexcept {
  constexpr std::uint32_t held = 64;
  double values[held], results[held], sum = 0;
  const double reference = exact.reference, inverse = exact.inverse_temperature;
  for (std::uint32_t first = 0; first < list.size; first += held) {
    const std::uint32_t count = list.size - first < held ? list.size - first : held;
    const token_id* const ids = list.ids + first;
    if (const auto* plain = source.plain()) {
      for (std::uint32_t i = 0; i < count; ++i) values[i] = static_cast<double>(plain[ids[i]]);
    } else {
      for (std::uint32_t i = 0; i < count; ++i)
        values[i] = static_cast<double>(source.value(static_cast<std::uint32_t>(ids[i])));
    }
    if (count == held && !source.probabilities) {  // positive integer weights: no exponent is below -23
      for (std::uint32_t i = 0; i < held; ++i)
        results[i] = kernel::bounded_exponential<false>((values[i] - reference) * inverse);
    } else {
      for (std::uint32_t i = 0; i < count; ++i) results[i] = exact(values[i]);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      weights[first + i] = results[i];
      sum += results[i];
    }
  }
  return sum;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
