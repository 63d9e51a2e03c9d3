// SPDX-License-Identifier: Apache-2.0
//! Counts, for each row of a batch, how many draws at random temperatures differ from the drafted token, with Thrust.
//!
//! Use it after `read_rows`, on the same batch, with the drafted tokens.
//! Guarantees: counts equal the results of `temperature_perturbation` except at near ties. A draw that simple bounds do
//!             not decide reads the row. The kernel in cuda/ is faster, because one read there serves several draws.
//!             Temporary memory: docs/algorithms/device.md.
//! Deviates:   the grid of temperatures (`expected_disagreement`) exists only on the CPU.
//! Cost:       O(V / 256) per draw, or O(V) if the normalizer decides the draw.
//! See:        docs/algorithms/device.md, tests/device/thrust_whole_row_test.cpp
#ifndef SPECVERIFY_DEVICE_TEMPERATURE_PERTURBATION_HPP
#define SPECVERIFY_DEVICE_TEMPERATURE_PERTURBATION_HPP

#include <specverify/device/detail/rows.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

inline constexpr std::uint32_t draws_at_once = detail::temper_group;
inline constexpr std::size_t most_terms_at_once = std::size_t{1} << 20;

//! One draw at a random temperature.
struct tempered_draw {
  double temperature = 0;
  double drawn = 0;
  double weight = 0;     // e^((z - maximum) / temperature) of the token
  bool is_open = false;  // whether Z decides
};

//! Draws of the rows starting at `first_row`, beginning at sample `first`.
template <class Scalar, class Key>
struct tempered_draws_of {
  device_batch<Scalar> batch;
  const token_id* tokens;
  perturbation_options options;
  device_uniforms<Key> random;
  std::size_t first_row;
  std::uint32_t first;

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool has(std::size_t row) const noexcept {
    return batch.digests.rows[row].of_whole_row().ok() && tokens[row] >= 0 &&
           static_cast<std::uint32_t>(tokens[row]) < batch.rows.size;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double uniform(purpose use, std::size_t row,
                                                               std::uint32_t sample) const noexcept {
    const auto number = static_cast<std::uint32_t>(row);
    const device_stream<Key> stream = random.at(use, sample);
    return decision_uniform(stream.at(number, stream.first_of(number)));
  }
  //! Returns draw m of this group.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE tempered_draw draw(std::size_t row, std::uint32_t m) const noexcept {
    tempered_draw made;
    const device_digest& digest = batch.digests.rows[row];
    made.temperature = options.maximum_temperature * uniform(purpose::perturbation_temperature, row, first + m);
    made.drawn = uniform(purpose::perturbed_draw, row, first + m);
    if (made.temperature < detail::coldest) {
      made.weight = tokens[row] == digest.argmax ? 2.0 : 0.0;  // above every uniform, or below
      return made;
    }
    const auto source = open_row(batch.rows, batch.transform, row);
    const double difference = static_cast<double>(source.value(static_cast<std::uint32_t>(tokens[row]))) -
                              static_cast<double>(digest.maximum);
    made.weight = kernel::exponential(numeric::product(difference, 1.0 / made.temperature));
    made.is_open = made.weight > 0.0 && made.drawn < made.weight;  // Z is at least 1
    return made;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool asks(std::size_t row, std::uint32_t m) const noexcept {
    return first + m < options.samples && has(row);
  }
};

template <class Scalar, class Key>
struct tempered_term {
  tempered_draws_of<Scalar, Key> draws;
  double* terms;
  std::uint32_t count;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t asked = i / count, row = draws.first_row + asked / draws_at_once;
    const auto m = static_cast<std::uint32_t>(asked % draws_at_once);
    if (!draws.asks(row, m)) return;
    const tempered_draw made = draws.draw(row, m);
    if (!made.is_open) return;
    terms[i] = exact_term(open_row(draws.batch.rows, draws.batch.transform, row),
                          static_cast<std::uint32_t>(i % count) * kernel::exact_size,
                          {static_cast<double>(draws.batch.digests.rows[row].maximum), 1.0 / made.temperature, false});
  }
};

//! Result of a draw: 1 if it gives the token, plus 2 if the row was read for it.
template <class Scalar, class Key>
struct tempered_hit {
  tempered_draws_of<Scalar, Key> draws;
  const double* terms;
  std::uint32_t count;
  std::uint32_t* answers;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t row = draws.first_row + i / draws_at_once;
    const auto m = static_cast<std::uint32_t>(i % draws_at_once);
    answers[i] = 0;
    if (!draws.asks(row, m)) return;
    const tempered_draw made = draws.draw(row, m);
    const double total = made.is_open ? sum_of_terms(terms + i * count, count) : 1.0;
    answers[i] = (made.drawn * total < made.weight ? 1u : 0u) | (made.is_open ? 2u : 0u);
  }
};

//! Adds the results of a group to the counts of a row.
template <class Scalar, class Key>
struct add_answers {
  tempered_draws_of<Scalar, Key> draws;
  const std::uint32_t* answers;
  device_disagreement* out;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const std::size_t row = draws.first_row + i;
    device_disagreement found = draws.first == 0 ? device_disagreement{} : out[row];
    found.why = draws.batch.digests.rows[row].of_whole_row();
    if (found.why.ok() && !draws.has(row)) found.why = {errc::token_out_of_range, part::row, 0};
    if (found.why.ok()) {
      found.samples = draws.options.samples;
      for (std::uint32_t m = 0; m < draws_at_once && draws.asks(row, m); ++m) {
        found.disagreements += 1u - (answers[i * draws_at_once + m] & 1u);
        found.reads += answers[i * draws_at_once + m] >> 1;
      }
    }
    out[row] = found;
  }
};

template <class Policy, class Scalar, class Key>
void perturb(const Policy& policy, tempered_draws_of<Scalar, Key> draws, device_disagreement* out) {
  const std::size_t rows = draws.batch.rows.count;
  const std::uint32_t count = exact_terms(draws.batch.rows.size);
  const std::size_t most = most_terms_at_once / (std::size_t{count} * draws_at_once);
  const std::size_t at_once = most < 1 ? 1 : most < rows ? most : rows;
  const temporary<double, Policy> terms(policy, at_once * draws_at_once * count);
  const temporary<std::uint32_t, Policy> answers(policy, at_once * draws_at_once);
  for (; draws.first_row < rows; draws.first_row += at_once) {
    const std::size_t left = rows - draws.first_row, size = left < at_once ? left : at_once;
    for (draws.first = 0; draws.first < draws.options.samples; draws.first += draws_at_once) {
      for_each_index(policy, size * draws_at_once * count, tempered_term<Scalar, Key>{draws, terms.data(), count});
      for_each_index(policy, size * draws_at_once,
                     tempered_hit<Scalar, Key>{draws, terms.data(), count, answers.data()});
      for_each_index(policy, size, add_answers<Scalar, Key>{draws, answers.data(), out});
    }
  }
}

}  // namespace thrust_detail

//! Counts, for each row, the draws among options.samples that are not tokens[row]. The batch's temperature and
//! truncation have no effect.
//! Errors of the call: as for `read_rows` and for check(options); null_span (tokens, keys, positions, rounds or
//! `found`); engine_failed.
//! Errors of a row: the digest's error, token_out_of_range.
template <class Policy, class Scalar, class Key>
[[nodiscard]] status temperature_perturbation(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch,
                                              const token_id* tokens, const perturbation_options& options,
                                              const device_uniforms<Key>& random, device_disagreement* found) noexcept {
  if (const status why = device_detail::check(batch); !why.ok()) return why;
  if (const status why = check(options); !why.ok()) return why;
  const bool placed = random.at(purpose::perturbed_draw).has_all();
  if (tokens == nullptr || found == nullptr || !placed) return device_detail::refusal(errc::null_span);
  return thrust_detail::guarded([&] {
    thrust_detail::perturb(how.policy,
                           thrust_detail::tempered_draws_of<Scalar, Key>{batch, tokens, options, random, 0, 0}, found);
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
