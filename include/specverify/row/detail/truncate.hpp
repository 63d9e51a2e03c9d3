// SPDX-License-Identifier: Apache-2.0
//! Finds the entries that a truncation keeps: the first in the total order (by weight, then id).
//!
//! The truncation determines how many of the largest entries are gathered: top_k is a number, min_p a least weight, and
//! top_p a share of the upper bound on W. If the lower and the upper bound on W give different cuts, closer bounds are
//! computed until both cuts agree.
#ifndef SPECVERIFY_ROW_DETAIL_TRUNCATE_HPP
#define SPECVERIFY_ROW_DETAIL_TRUNCATE_HPP

#include <specverify/row/detail/long_list.hpp>
#include <specverify/row/detail/total.hpp>
#include <specverify/row/digest.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Gathers the entries that a truncation keeps. `mark` must have the bounds on W from the read, which are narrowed if
//! necessary.
template <class Policy, class Scalar>
class kept_entries {
 public:
  kept_entries(Policy policy, const kernel::row_source<Scalar>& source, const kernel::integer_weight& weight,
               float* tops, std::uint32_t* room, reading_mark& mark) noexcept
      : policy_(policy), source_(source), weight_(weight), tops_(tops), room_(room), mark_(mark) {}

  //! `list` must have space for the row, or for twice top_k plus 1024.
  void gather(const row_truncation& cut, kernel::candidate_list& list) noexcept {
    const std::uint64_t floor = cut.min_p > 0.0 ? least_of_largest(cut.min_p) : 1;
    const auto least = static_cast<std::uint32_t>(floor);
    if (is_counted(cut, source_.size)) {
      gather_largest(cut.top_k, list);
      if (cut.top_p < 1.0 && !is_share_of_total(cut, source_.size)) know_total(list);
      drop_below(least, list);
      if (cut.top_p < 1.0) (void)cut_share(cut, true, list);
    } else if (!(cut.top_p < 1.0)) {
      gather_from(least, list);
    } else {
      gather_share(cut, least, list);
    }
  }

 private:
  static constexpr bool is_vector =
      !std::is_same_v<Policy, exec::seq_policy> && std::is_same_v<kernel::working<Scalar>, float>;
  static constexpr std::uint32_t first_look = 128, looks = 3;

  void gather_largest(std::uint32_t count, kernel::candidate_list& list) noexcept { look(count, 0xFFFFFFFFu, list); }
  void gather_from(std::uint32_t least, kernel::candidate_list& list) noexcept { look(0, least, list); }
  void look(std::uint32_t wanted, std::uint32_t always, kernel::candidate_list& list) noexcept {
    const std::uint32_t room = list.capacity;
    const std::uint64_t needed = std::uint64_t{wanted} * 2 + 1024;
    if (wanted > 0 && needed < room) list.capacity = static_cast<std::uint32_t>(needed);
    list.size = 0;
    list.dropped = false;
    list.wanted = wanted;
    list.always = always;
    kernel::gather(policy_, source_, weight_, tops_, list);
    list.capacity = room;
  }

  //! Returns the least mass that reaches the share of `total` that top_p requires.
  [[nodiscard]] std::uint64_t share_of(const row_truncation& cut, std::uint64_t total) const noexcept {
    return least_of_share(cut.top_p, total, roundings_of(cut, source_.size));
  }

  void know_total(const kernel::candidate_list& list) noexcept { mark_.least = mark_.most = mass_of(list); }

  //! Returns whether an entry was removed.
  static bool drop_below(std::uint32_t least, kernel::candidate_list& list) noexcept {
    const std::uint32_t before = list.size;
    if (least > 1) shorten(list, {least, 0xFFFFFFFFu});
    return list.size < before;
  }

  //! Cuts the list to the smallest prefix that holds the share of W. If the list is `whole`, another rule has already
  //! removed all other entries, so a list with less mass is kept. Returns false if more entries are needed.
  [[nodiscard]] bool cut_share(const row_truncation& share, bool whole, kernel::candidate_list& list) noexcept {
    const std::uint64_t mass = mass_of(list);
    if (list.size >= 4096 && mass >= share_of(share, mark_.least)) mark_.narrow(mark_, true);  // bounds are too wide
    for (;;) {
      const std::uint64_t target = share_of(share, mark_.least), most = share_of(share, mark_.most);
      if (mass < target) return whole;
      const kernel::order_cut cut = mass_cut(list, mass, target, room_);
      const std::uint64_t reached = target == most ? most : mass_of(list, cut);
      if (reached >= most || (whole && reached == mass)) {
        shorten(list, cut);
        return true;
      }
      mark_.narrow(mark_, false);
    }
  }

  void gather_share(const row_truncation& share, std::uint32_t least, kernel::candidate_list& list) noexcept {
    const bool looks_first = is_vector && source_.size >= 8 * first_look;
    std::uint32_t from = 1;
    for (std::uint32_t count = 0;; ++count) {
      if (count == 0 && looks_first) {
        gather_largest(first_look, list);
      } else {
        gather_from(from, list);
      }
      if (!list.dropped) know_total(list);
      const bool whole = drop_below(least, list) || !list.dropped;
      if (cut_share(share, whole, list)) return;
      from = count < looks ? sampled_bar(share, count, list) : 1;
    }
  }

  //! Samples 16 of every 256 or 1024 ids, and returns a weight that the missing entries reach, but not many others. For
  //! safety, the entries that reach it also hold a quarter of the mass that is not needed. Overwrites the list.
  [[nodiscard]] std::uint32_t sampled_bar(const row_truncation& share, std::uint32_t number,
                                          kernel::candidate_list& list) noexcept {
    const double mass = static_cast<double>(mass_of(list)), all = static_cast<double>(mark_.most);
    const double left = (all - static_cast<double>(share_of(share, mark_.most))) / (all - mass);
    std::uint32_t listed = kernel::weight_one;
    for (std::uint32_t i = 0; i < list.size; ++i) listed = list.weights[i] < listed ? list.weights[i] : listed;
    listed -= number > 0 ? 1u : 0u;  // only the pass over the largest entries may leave ties; later passes may not
    const std::uint32_t step = source_.size < 64 * kernel::block_size ? kernel::top_size : kernel::block_size;
    kernel::working<Scalar> buffer[kernel::lane_count];
    std::uint32_t size = 0;
    std::uint64_t sampled = 0;
    for (std::uint32_t first = 0; first < source_.size; first += step) {
      const std::uint32_t place = ((first + number) * 0x9E3779B9u >> 16) % (step / kernel::lane_count);
      const auto* values = kernel::load(source_, first + place * kernel::lane_count, kernel::lane_count, buffer);
      std::uint32_t* const weights = list.weights + size;
      (void)kernel::write_weights(policy_, values, kernel::lane_count, weight_, weights);
      for (std::uint32_t i = 0; i < kernel::lane_count; ++i) {
        weights[i] = weights[i] <= listed ? weights[i] : 0u;
        sampled += weights[i];
      }
      size += kernel::lane_count;
    }
    const auto target = static_cast<std::uint64_t>(static_cast<double>(sampled) * (1.0 - 0.75 * left));
    return kernel::radix_cut(list.weights, size, target > 0 ? target : 1, true).weight;
  }

  Policy policy_;
  const kernel::row_source<Scalar>& source_;
  const kernel::integer_weight& weight_;
  float* tops_;
  std::uint32_t* room_;  // space for at least as many entries as the list has
  reading_mark& mark_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
