// SPDX-License-Identifier: Apache-2.0
//! Measures the uncertainty of a draft token: the share of draws at random temperatures that give a different token.
//!
//! Paper:      HLM (arXiv 2505.11788), temperature perturbation; also arXiv 2508.12590.
//! Symbols:    M = samples; e_d = probability that one draw at a uniform temperature differs from the draft token d;
//!             u-bar = mean of this probability over a fixed grid of temperatures.
//! Guarantees: the number of disagreements has exactly the distribution Binomial(M, e_d), because no random number of
//!             these draws (purposes 4 and 5) is used to draw d. Usually all M draws together cost less than one
//!             further read of the row (row/tempered.hpp). No allocation; noexcept; exact except at near ties.
//! Deviates:   one uniform decides whether a draw differs from d; the drawn token itself is never computed. A
//!             temperature below 1e-6 gives the argmax. Bias and mask apply, but the transform's temperature and
//!             truncation have no effect.
//! Cost:       O(V) at most per temperature.
//! See:        docs/algorithms/temperature_perturbation.md, tests/unit/uncertainty/temperature_perturbation_test.cpp,
//!             tests/law/skip_test.cpp, benchmarks/bench_temperature_perturbation.cpp
#ifndef SPECVERIFY_UNCERTAINTY_TEMPERATURE_PERTURBATION_HPP
#define SPECVERIFY_UNCERTAINTY_TEMPERATURE_PERTURBATION_HPP

#include <specverify/row/detail/tempered_rest.hpp>
#include <specverify/row/transform.hpp>

#if __cplusplus >= 202002L
#include <specverify/core/concepts.hpp>
#include <specverify/row/tempered.hpp>

#include <span>
#endif

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

struct perturbation_options {
  std::uint32_t samples = 20;      //!< M, number of draws, or of grid points, in [1, 2^16]
  double maximum_temperature = 2;  //!< above 1e-6, up to max_temperature; temperatures are uniform from 0 to this value
};

#if __cplusplus >= 202002L
//! Result of `temperature_perturbation`.
struct disagreement {
  std::uint32_t disagreements = 0;  //!< draws that gave a different token
  std::uint32_t samples = 0;        //!< M
  tempered_reads reads{};           //!< reads of the row that the decision needed

  [[nodiscard]] SPECVERIFY_INLINE constexpr double value() const noexcept {
    return samples == 0 ? 0.0 : static_cast<double>(disagreements) / static_cast<double>(samples);
  }
};

//! Result of `expected_disagreement_within`: lower <= u-bar <= upper.
struct disagreement_bounds {
  double lower = 0;
  double upper = 1;
  tempered_reads reads{};  //!< reads of the row that were needed

  [[nodiscard]] SPECVERIFY_INLINE constexpr double value() const noexcept { return 0.5 * (lower + upper); }
};

//! Number of top entries that a reading should have, so that a perturbation needs few further reads.
inline constexpr std::uint32_t perturbation_top_entries = 64;
#endif  // C++20

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Checks the options. Errors (`where` = index of the field, from 0): invalid_argument.
[[nodiscard]] inline status check(const perturbation_options& options) noexcept {
  if (options.samples == 0 || options.samples > 65536) return {errc::invalid_argument, part::uncertainty, 0};
  const bool hot = is_temperature(options.maximum_temperature) && options.maximum_temperature > detail::coldest;
  return hot ? status{} : status{errc::invalid_argument, part::uncertainty, 1};
}

#if __cplusplus >= 202002L

namespace detail {

[[nodiscard]] SPECVERIFY_INLINE constexpr status uncertainty_error(errc code, std::uint32_t where = 0) noexcept {
  return {code, part::uncertainty, where};
}

//! Returns the number of samples, from sample `first` on, that are decided together.
[[nodiscard]] inline std::uint32_t samples_from(const perturbation_options& options, std::uint32_t first) noexcept {
  return options.samples - first < temper_group ? options.samples - first : temper_group;
}

}  // namespace detail

//! Returns the best transform for a reading that a perturbation uses. It has the bias and the mask, no truncation, and
//! a temperature at which the sums of the reading give good bounds for other temperatures.
[[nodiscard]] inline row_transform perturbed_transform(const row_transform& transform,
                                                       const perturbation_options& options) noexcept {
  row_transform plain = transform;
  plain.temperature = 0.75 * options.maximum_temperature;
  plain.truncation = {};
  return plain;
}

//! Returns the request for a reading with which a perturbation needs few further reads.
[[nodiscard]] constexpr read_request perturbed_request() noexcept {
  read_request wanted;
  wanted.top_entries = perturbation_top_entries;
  return wanted;
}

//! Returns the number of bytes of workspace for `read_for_perturbation`.
[[nodiscard]] constexpr std::size_t perturbation_workspace_size(std::uint32_t vocab_size) noexcept {
  return digest_workspace_size(vocab_size, {}, perturbed_request());
}

//! Counts how many of M draws at random temperatures differ from `token`. Any reading gives the same count, but a
//! reading that `serves_perturbation` needs fewer reads of the row. Draw m uses lane m of `random` at purposes 4 and 5.
//! Errors: invalid_argument (options), and as for `tempered_draws`.
template <execution_policy Policy, class Scalar, uniform_source Source>
[[nodiscard]] result<disagreement> temperature_perturbation(const row_reading<Policy, Scalar>& row, token_id token,
                                                            const perturbation_options& options,
                                                            const uniforms<Source>& random) noexcept {
  if (const status why = check(options); !why.ok()) return why;
  disagreement found{0, options.samples, {}};
  double temperatures[detail::temper_group], drawn[detail::temper_group];
  for (std::uint32_t first = 0; first < options.samples; first += detail::temper_group) {
    const std::uint32_t size = detail::samples_from(options, first);
    for (std::uint32_t m = 0; m < size; ++m) {
      temperatures[m] = options.maximum_temperature * random.at(purpose::perturbation_temperature, first + m).uniform();
      drawn[m] = random.at(purpose::perturbed_draw, first + m).uniform();
    }
    const auto same =
        tempered_draws(row, token, std::span<const double>(temperatures, size), std::span<const double>(drawn, size));
    if (!same) return same.error();
    found.disagreements += size - same->hits;
    found.reads += same->reads;
  }
  return found;
}

//! Returns whether a reading is good enough for a perturbation; if it is, reading the row again would not save time.
//! Such a reading is of logits, at a temperature of 0.45 to 1 times the maximum temperature, with sums, and with at
//! least 32 top entries (or all entries). The options must have passed `check`.
[[nodiscard]] inline bool serves_perturbation(const row_summary& row, const perturbation_options& options) noexcept {
  const double share = row.temperature() / options.maximum_temperature;
  return row.kind() == row_kind::logits && row.has_coarse_sums() && share >= 0.45 && share <= 1.0 &&
         (row.top_complete() || row.top_ids().size() >= 32);
}

//! Reads the row again as a perturbation needs it: with bias, mask and 0.75 times the maximum temperature, without
//! truncation, and with 64 top entries. Takes at most `perturbation_workspace_size` bytes of `scratch`. Errors: as for
//! `check(options)` and `read_row`.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<row_reading<Policy, Scalar>> read_for_perturbation(const row_reading<Policy, Scalar>& row,
                                                                        const perturbation_options& options,
                                                                        workspace& scratch) noexcept {
  if (const status why = check(options); !why.ok()) return why;
  return row.again(perturbed_transform(row.transform(), options), perturbed_request(), scratch);
}

namespace detail {

[[nodiscard]] inline double grid_temperature(const perturbation_options& options, std::uint32_t m) noexcept {
  return options.maximum_temperature * (static_cast<double>(m) + 0.5) / static_cast<double>(options.samples);
}

}  // namespace detail

//! Returns u-bar: the mean of the probability that a draw differs, over the temperatures maximum_temperature (m + 1/2)
//! / samples. This is the midpoint rule for e_d. Uses no random numbers. Reads the row once per temperature.
//! Errors: as for `temperature_perturbation`.
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<double> expected_disagreement(const row_reading<Policy, Scalar>& row, token_id token,
                                                   const perturbation_options& options) noexcept {
  if (const status why = check(options); !why.ok()) return why;
  double temperatures[detail::temper_group], probabilities[detail::temper_group];
  double sum = 0;
  for (std::uint32_t first = 0; first < options.samples; first += detail::temper_group) {
    const std::uint32_t size = detail::samples_from(options, first);
    for (std::uint32_t m = 0; m < size; ++m) temperatures[m] = detail::grid_temperature(options, first + m);
    const auto found = tempered_probabilities(row, token, std::span<const double>(temperatures, size),
                                              std::span<double>(probabilities, size));
    if (!found) return found.error();
    for (const double probability : *found) sum += 1.0 - probability;
  }
  return sum / static_cast<double>(options.samples);
}

//! Returns bounds on u-bar that differ by at most `width`, or by at most 4e-12 if `width` is smaller. It uses
//! `tempered_bounds`, which reads the row as few times as the width allows.
//! Errors: as for `expected_disagreement`; invalid_argument (a width below 0 or not finite).
template <execution_policy Policy, class Scalar>
[[nodiscard]] result<disagreement_bounds> expected_disagreement_within(const row_reading<Policy, Scalar>& row,
                                                                       token_id token,
                                                                       const perturbation_options& options,
                                                                       double width) noexcept {
  if (const status why = check(options); !why.ok()) return why;
  double temperatures[detail::temper_group];
  probability_bounds probabilities[detail::temper_group];
  disagreement_bounds found{0, 0, {}};
  for (std::uint32_t first = 0; first < options.samples; first += detail::temper_group) {
    const std::uint32_t size = detail::samples_from(options, first);
    for (std::uint32_t m = 0; m < size; ++m) temperatures[m] = detail::grid_temperature(options, first + m);
    const auto tempered = tempered_bounds(row, token, std::span<const double>(temperatures, size), width,
                                          std::span<probability_bounds>(probabilities, size));
    if (!tempered) return tempered.error();
    found.reads += tempered->reads;
    for (const probability_bounds& probability : tempered->bounds) {
      found.lower += (1.0 - probability.upper) / static_cast<double>(options.samples);
      found.upper += (1.0 - probability.lower) / static_cast<double>(options.samples);
    }
  }
  return found;
}
#endif  // C++20

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
