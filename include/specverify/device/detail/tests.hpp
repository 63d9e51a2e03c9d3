// SPDX-License-Identifier: Apache-2.0
//! Tests a token against a row or draws from a residual, in one thread. If a decision needs Z but Z is unknown, the
//! test or draw reports this. Then many threads compute Z, and the test or draw runs again.
#ifndef SPECVERIFY_DEVICE_DETAIL_TESTS_HPP
#define SPECVERIFY_DEVICE_DETAIL_TESTS_HPP

#include <specverify/device/detail/draw.hpp>
#include <specverify/device/detail/subtracted.hpp>
#include <specverify/row/acceptance.hpp>
#include <specverify/row/residual.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

using subtracted = device_detail::subtracted_law;

//! Computes the weight (scale * e_v - q(v) Z)+ of an id, or e_v if nothing is subtracted.
struct left_weight {
  subtracted taken;
  double scale;
  double total;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double operator()(token_id token, double weight) const noexcept {
    if (!(weight > 0.0) || taken.is_nothing()) return weight;
    const double left = kernel::left_of(numeric::product(scale, weight), taken.share(token), total);
    return left > 0.0 ? left : 0.0;
  }
};

//! A row, with Z if it is known.
template <class Scalar>
struct tested_row {
  drawn_row<Scalar> row;
  double summed;           // Z from a separate sum, or 0
  bool needs_sum = false;  // whether a decision needed Z, but Z was unknown
  bool used_sum = false;   // whether a decision used `summed`

  SPECVERIFY_HD SPECVERIFY_INLINE tested_row(const device_batch<Scalar>& batch, std::size_t number, double sum) noexcept
      : row(batch, number), summed(sum) {}

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool knows() const noexcept {
    return row.digest.one_hot || row.digest.normaliser > 0.0;
  }
  //! Returns Z. If Z is unknown, it returns 0 and sets needs_sum.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE double normaliser() noexcept {
    if (knows()) return row.digest.one_hot ? 1.0 : row.digest.normaliser;
    used_sum = summed > 0.0;
    needs_sum = !used_sum;
    return summed;
  }

  //! Accept test (row/acceptance.hpp) of a token. The row must contain the token.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE acceptance test(const drafted_token& drafted, double uniform) noexcept {
    acceptance tested;
    const double weight = row.weight_of(drafted.token);
    tested.accepted = weight > 0.0;
    if (!tested.accepted || drafted.count == 0) return tested;
    const double have = numeric::product(static_cast<double>(drafted.resolution), weight);
    const auto full = static_cast<double>(drafted.count);
    const double drawn = uniform * full;
    if (!knows()) {
      const auto decision = detail::decide(drawn, full, have, row.digest.lower, row.digest.upper);
      tested.accepted = decision == detail::bound_decision::accepted;
      if (decision != detail::bound_decision::open) return tested;
    }
    const double total = normaliser();
    if (needs_sum) return tested;
    tested = detail::decide_exactly(drawn, full, have, total);
    tested.exact = !knows();
    return tested;
  }

  //! Draws a token from norm((scale * p - q)+) with q = `taken`, or from p if nothing is subtracted (row/residual.hpp).
  template <class Random>
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE device_token draw(const subtracted& taken, const Random& random,
                                                                  const residual_options& options) noexcept {
    if (taken.is_nothing()) return draw_from(row, random, options.trial_cap);
    device_token drawn;
    drawn.why = row.digest.of_whole_row();
    if (!drawn.why.ok()) return drawn;
    if (row.digest.one_hot) {
      drawn.token = row.digest.argmax;
      drawn.fallback = !(options.scale - taken.share(drawn.token) >= residual_mass_floor);
      return drawn;
    }
    while (drawn.trials < row.trials(options.trial_cap) && !needs_sum) {
      const random_block block = random.block(drawn.trials++);
      const proposed tried = propose(row, decision_uniform(block, 0));
      if (tried.token == no_token || !keeps(tried, taken, options.scale, decision_uniform(block, 1))) continue;
      drawn.token = tried.token;
      return drawn;
    }
    const double total = normaliser();
    if (!needs_sum) draw_exactly({taken, options.scale, total}, decision_uniform(random.block(drawn.trials)), drawn);
    return drawn;
  }

 private:
  //! Returns whether a proposal is accepted.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool keeps(const proposed& tried, const subtracted& taken, double scale,
                                                           double uniform) noexcept {
    const double have = numeric::product(scale, row.weight(static_cast<std::uint32_t>(tried.token)));
    const double share = taken.share(tried.token);
    const double need = uniform * tried.envelope;
    const double slack = kernel::envelope_slack * tried.correction;
    if (!(share > 0.0)) return need < slack * have;
    const auto decision = detail::decide_rest(need, slack, have, share, row.digest.lower, row.digest.upper);
    if (decision != detail::bound_decision::open) return decision == detail::bound_decision::accepted;
    const double total = normaliser();
    return !needs_sum && need < slack * kernel::left_of(have, share, total);
  }

  //! Draws by the exact rule, or by the exact rule of p if the residual's mass is too small for doubles.
  SPECVERIFY_HD SPECVERIFY_INLINE void draw_exactly(const left_weight& left, double uniform,
                                                    device_token& drawn) noexcept {
    drawn.exact = true;
    double mass = 0, sum = 0;
    (void)walk(row, 1.0e300, left, mass);
    drawn.fallback = !(kernel::is_finite(mass) && mass >= residual_mass_floor * left.total);
    drawn.token = drawn.fallback ? exact_token(row, uniform) : walk(row, uniform * mass, left, sum);
    if (drawn.token == no_token) drawn.why = {errc::residual_unavailable, part::row, 0};
  }
};

//! Computes terms of Z for the rows that need it.
template <class Scalar>
struct term_if_needed {
  device_batch<Scalar> batch;
  const std::uint32_t* asked;  // per group of terms: the row plus 1, or 0
  double* terms;
  std::uint32_t count;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    if (asked[i / count] == 0) return;
    const drawn_row<Scalar> row(batch, asked[i / count] - 1);
    terms[i] = exact_term(row.source, static_cast<std::uint32_t>(i % count) * kernel::exact_size, row.exact());
  }
};

//! Workspace for decisions that may depend on Z; each decision concerns one row.
template <class Policy>
struct question_room {
  std::uint32_t terms_of_row;
  temporary<std::uint32_t, Policy> asked;
  temporary<double, Policy> terms;
  SPECVERIFY_INLINE question_room(const Policy& policy, std::size_t questions, std::uint32_t size)
      : terms_of_row(exact_terms(size)), asked(policy, questions), terms(policy, questions * terms_of_row) {}
};

//! Makes each decision without Z, and repeats it with Z if it depends on Z. `Question`: operator()(row, Z or 0) must
//! return whether it needs Z.
template <class Question>
struct ask_row {
  Question question;
  std::uint32_t* asked;
  const double* terms;  // null on the first pass
  std::uint32_t count;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t r) const noexcept {
    if (terms == nullptr) {
      asked[r] = question(r, 0.0) ? static_cast<std::uint32_t>(r) + 1 : 0;
    } else if (asked[r] != 0) {
      (void)question(r, sum_of_terms(terms + r * count, count));
    }
  }
};
template <class Policy, class Scalar, class Question>
void ask_rows(const Policy& policy, const device_batch<Scalar>& batch, const Question& question) {
  const std::size_t rows = batch.rows.count;
  const question_room<Policy> room(policy, rows, batch.rows.size);
  const std::uint32_t count = room.terms_of_row;
  for_each_index(policy, rows, ask_row<Question>{question, room.asked.data(), nullptr, count});
  for_each_index(policy, rows * count, term_if_needed<Scalar>{batch, room.asked.data(), room.terms.data(), count});
  for_each_index(policy, rows, ask_row<Question>{question, room.asked.data(), room.terms.data(), count});
}

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
