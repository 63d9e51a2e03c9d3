// SPDX-License-Identifier: Apache-2.0
//! Chooses how many of the drafter's most probable tokens to send, so that compression changes the distribution by no
//! more than a budget.
//!
//! The k most probable tokens keep their probabilities, and all other tokens share the remaining mass equally.
//! Paper:      CU-HLM (arXiv 2505.11788), Proposition 1 (k* offline).
//! Symbols:    x = drafter's distribution; x^_k = x after this compression; y = target's distribution; V = vocabulary
//!             size; TV = total variation distance; N(k) = 2 TV(x, x^_k) = tail_profile::distortion(k).
//! Guarantees: O(V) to sort and sum, O(log^2 V) per size; no allocation. Two bounds hold for any y if N(k) <= epsilon.
//!             If a token is drawn from x and tested against its probability under x, the TV between the committed
//!             distribution and y is at most epsilon. If a token is drawn from x^_k and verified against x^_k, the
//!             committed distribution is exactly y, and the acceptance probability falls by at most epsilon / 2.
//!             Weights are integers (bit-exact). The double N(k) is within 2^-50 of the N(k) of the weights, and within
//!             V / 2^30 + 2^-23 of the N(k) of the exact distribution.
//! Deviates:   `vocabulary_budget` (k only from N(k)) is ours and bounds the actual bias. The paper's sizes are
//!             `calibrate_offline` and `online_vocabulary_budget`.
//! See:        docs/algorithms/vocabulary_budget.md, tests/unit/sparsify/vocabulary_budget_test.cpp,
//!             tests/law/mismatched_test.cpp, benchmarks/bench_vocabulary_budget.cpp
#ifndef SPECVERIFY_SPARSIFY_VOCABULARY_BUDGET_HPP
#define SPECVERIFY_SPARSIFY_VOCABULARY_BUDGET_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/sparsify/detail/top_entries.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

//! Computes N(k), and the smallest k whose N(k) is within a budget. The object is a view of two arrays in a workspace:
//! the weights of a distribution in descending order, and their prefix sums.
class tail_profile {
 public:
  constexpr tail_profile() noexcept = default;
  //! `descending`: the weights. `sums`: sums[j] is the sum of the first j weights, so there is one more sum than
  //! weights. Ids without an entry have weight 0. The last sum must be > 0.
  constexpr tail_profile(std::span<const std::uint32_t> descending, std::span<const std::uint64_t> sums,
                         std::uint32_t vocab_size) noexcept
      : weights_(descending), sums_(sums), vocab_size_(vocab_size) {}

  [[nodiscard]] constexpr std::uint32_t vocab_size() const noexcept { return vocab_size_; }
  //! Returns the number of tokens with a positive weight. If k is at least this number, N(k) is 0.
  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(weights_.size()); }

  //! Returns N(k), in [0, 2]. O(log V).
  [[nodiscard]] constexpr double distortion(std::uint32_t k) const noexcept {
    if (k >= size() || k >= vocab_size_) return 0;
    const std::uint64_t rest = sums_[size()] - sums_[k];
    const double mean = static_cast<double>(rest) / static_cast<double>(vocab_size_ - k);
    std::uint32_t low = k, high = size();  // the search finds the first weight that is not above the mean
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (static_cast<double>(weights_[middle]) > mean) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const double above =
        static_cast<double>(sums_[low] - sums_[k]) - numeric::product(static_cast<double>(low - k), mean);
    return above > 0 ? 2 * above / static_cast<double>(sums_[size()]) : 0.0;
  }

  //! Returns the smallest k >= 1 with N(k) <= budget. O(log^2 V).
  [[nodiscard]] constexpr std::uint32_t smallest(double budget) const noexcept {
    std::uint32_t low = 1, high = size() > 1 ? size() : 1;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (distortion(middle) <= budget) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

 private:
  std::span<const std::uint32_t> weights_{};
  std::span<const std::uint64_t> sums_{};
  std::uint32_t vocab_size_ = 0;
};

//! Returns the bytes of workspace that `make_tail_profile` takes; they remain allocated.
[[nodiscard]] constexpr std::size_t tail_profile_workspace_size(std::uint32_t vocab_size) noexcept {
  return 2 * slice_bytes<std::uint32_t>(vocab_size) + slice_bytes<std::uint64_t>(std::size_t{vocab_size} + 1) +
         workspace_alignment;
}

namespace detail {

//! Sorts `weights` in descending order in three radix passes; `other` must have the same length. The result is in
//! `other`.
inline void sort_descending(std::span<std::uint32_t> weights, std::span<std::uint32_t> other) noexcept {
  constexpr std::uint32_t bins = 2048;
  std::uint32_t* from = weights.data();
  std::uint32_t* to = other.data();
  for (const int shift : {0, 11, 22}) {
    std::uint32_t starts[bins] = {};
    for (std::size_t i = 0; i < weights.size(); ++i) ++starts[(from[i] >> shift) & (bins - 1)];
    std::uint32_t next = 0;
    for (std::uint32_t b = bins; b > 0; --b) {
      const std::uint32_t count = starts[b - 1];
      starts[b - 1] = next;
      next += count;
    }
    for (std::size_t i = 0; i < weights.size(); ++i) to[starts[(from[i] >> shift) & (bins - 1)]++] = from[i];
    std::uint32_t* const swapped = from;
    from = to;
    to = swapped;
  }
}

}  // namespace detail

//! Returns the profile of a row. The reading must have every token with a positive weight (`read_request` with
//! top_entries = V). O(V). On an error `scratch` is unchanged.
//! Errors: reading_expired, digest_insufficient (the reading does not list all tokens with a positive weight),
//!         workspace_too_small.
[[nodiscard]] inline result<tail_profile> make_tail_profile(const row_summary& row, workspace& scratch) noexcept {
  const auto listed = detail::top_entries_of(row);
  if (!listed) return listed.error();
  const detail::top_view& from = *listed;
  if (!from.complete || from.size() == 0) return status{errc::digest_insufficient, part::sparsify, from.size()};
  workspace_scope scope(scratch);
  const auto weight_space = scratch.take<std::uint32_t>(from.size());
  const auto sorted_space = scratch.take<std::uint32_t>(from.size());
  const auto sum_space = scratch.take<std::uint64_t>(std::size_t{from.size()} + 1);
  if (!weight_space || !sorted_space || !sum_space)
    return status{errc::workspace_too_small, part::sparsify, from.size()};
  scope.keep();
  const std::span<std::uint32_t> weights = *weight_space, descending = *sorted_space;
  const std::span<std::uint64_t> sums = *sum_space;
  for (std::uint32_t i = 0; i < from.size(); ++i) weights[i] = from.weights[i];
  detail::sort_descending(weights, descending);
  sums[0] = 0;
  for (std::uint32_t i = 0; i < from.size(); ++i) sums[i + 1] = sums[i] + descending[i];
  return tail_profile(descending, sums, from.vocab_size);
}

namespace detail {

//! Keeps the k largest tokens, for the smallest k with N(k) <= budget, but at least `least` and at most `most` tokens
//! (`most` = 0: no cap).
[[nodiscard]] inline result<support> keep_within(const row_summary& row, double budget, std::uint32_t least,
                                                 std::uint32_t most, workspace& scratch) noexcept {
  const std::size_t mark = scratch.mark();
  const auto profile = make_tail_profile(row, scratch);
  if (!profile) return profile.error();
  std::uint32_t k = profile->smallest(budget);
  scratch.rewind(mark);
  if (k < least) k = least < profile->size() ? least : profile->size();
  if (most > 0 && k > most) k = most;
  const auto listed = top_entries_of(row);
  return listed ? keep_largest(*listed, k, scratch) : listed.error();
}

}  // namespace detail

struct vocabulary_budget;
//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] constexpr status check(const vocabulary_budget& sparsifier) noexcept;

//! A sparsifier that keeps the k largest tokens, for the smallest k with N(k) <= distortion. This bounds the bias
//! without data from the target. `compressed_law` turns the support into x^_k.
struct vocabulary_budget {
  using state_type = no_state;
  double distortion = 0.1;             //!< epsilon in [0, 2]
  std::uint32_t min_support_size = 1;  //!< minimum k
  std::uint32_t max_support_size = 0;  //!< maximum k; 0: no cap. If the cap binds, the bound does not hold

  [[nodiscard]] constexpr no_state initial_state() const noexcept { return {}; }
  [[nodiscard]] constexpr no_state advance(no_state, const support&) const noexcept { return {}; }

  [[nodiscard]] constexpr read_request request(no_state, std::uint32_t vocab_size) const noexcept {
    read_request wanted;
    wanted.top_entries = vocab_size;
    wanted.sums = false;
    return wanted;
  }
  [[nodiscard]] constexpr std::size_t workspace_size(no_state, std::uint32_t vocab_size) const noexcept {
    return tail_profile_workspace_size(vocab_size) + detail::support_bytes(vocab_size);
  }

  //! Errors: invalid_argument (distortion outside [0, 2] or NaN), digest_insufficient (the reading does not list all
  //!         tokens with a positive weight), reading_expired, workspace_too_small.
  [[nodiscard]] result<support> select(const row_summary& row, no_state, workspace& scratch) const noexcept {
    if (const status why = check(*this); !why.ok()) return why;
    return detail::keep_within(row, distortion, min_support_size, max_support_size, scratch);
  }
};

constexpr status check(const vocabulary_budget& sparsifier) noexcept {
  const bool distance =
      !numeric::is_nan(sparsifier.distortion) && sparsifier.distortion >= 0 && sparsifier.distortion <= 2;
  return distance ? status{} : status{errc::invalid_argument, part::sparsify, 0};
}

//! Sums of U_TV(k, t) = N(k) / TV(x, y) over the uploaded rounds t. These sums determine the paper's fixed size k*.
struct offline_calibration {
  std::span<double> sums{};       //!< the caller's array, initially zero: sums[k - 1] for k = 1 .. sums.size()
  std::uint32_t rounds = 0;       //!< rounds recorded
  double least_variation = 1e-6;  //!< rounds whose TV(x, y) is at most this value are ignored
};

//! Records one uploaded round from the drafter's profile and TV(x, y), which the server reports. O(sums.size() log V).
inline void record(offline_calibration& into, const tail_profile& profile, double total_variation) noexcept {
  if (numeric::is_nan(total_variation) || !(total_variation > into.least_variation)) return;
  for (std::size_t k = 1; k <= into.sums.size() && k < profile.size(); ++k)
    into.sums[k - 1] += profile.distortion(static_cast<std::uint32_t>(k)) / total_variation;
  ++into.rounds;
}

//! Returns k* = min{ k : mean over t of U_TV(k, t) <= distortion }. Returns 0 if no recorded size is sufficient or
//! nothing was recorded. O(log sums.size()).
[[nodiscard]] inline std::uint32_t calibrate_offline(const offline_calibration& from, double distortion) noexcept {
  if (from.rounds == 0 || from.sums.empty()) return 0;
  const double allowed = distortion * static_cast<double>(from.rounds);
  std::size_t low = 1, high = from.sums.size() + 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (from.sums[middle - 1] <= allowed) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low > from.sums.size() ? 0 : static_cast<std::uint32_t>(low);
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
