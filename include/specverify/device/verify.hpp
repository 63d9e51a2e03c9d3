// SPDX-License-Identifier: Apache-2.0
//! Verifies a batch of rounds with Thrust, by the token rule or the greedy rule. One call serves all requests of an
//! engine's step, and the rounds may have different lengths.
//!
//! Pass the engine's logits in a `device_rounds` (device/rounds.hpp). No earlier `read_rows` is needed, because the
//! call reads the rows itself.
//! Guarantees: verdicts, counters and row states equal the results of token_rule and greedy_rule under exec::seq, for
//!             any flags of nvcc. All rows are read, even after a rejection. If a decision depends on a row's
//!             normalizer, the row is read again. The call waits for the device. Temporary memory:
//!             docs/algorithms/device.md.
//! Deviates:   unlike on the CPU, it returns no log-probabilities and does not use the caller's workspace.
//! Cost:       O(V) per row.
//! See:        docs/algorithms/device.md, tests/device/thrust_verify_test.cpp
#ifndef SPECVERIFY_DEVICE_VERIFY_HPP
#define SPECVERIFY_DEVICE_VERIFY_HPP

#include <specverify/device/argmax.hpp>
#include <specverify/device/detail/round.hpp>
#include <specverify/device/digest.hpp>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! Applies the token rule to one round, from the digests of all rows.
template <class Scalar, class Key>
struct decide_round {
  device_rounds<Scalar> rounds;
  device_batch<Scalar> batch;
  device_uniforms<Key> random;
  std::uint32_t trial_cap;
  const double* sums;    // Z or 0, indexed by row
  std::uint32_t* asked;  // indexed by round: the row whose Z the round needs, plus 1; 0: decided
  device_verdicts out;

  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    const auto number = static_cast<std::uint32_t>(i);
    round_at_work<Scalar> round(rounds, out, number);
    std::uint32_t waits = 0;
    for (std::uint32_t index = 0; index < round.rows && waits == 0; ++index)
      if (!step(round, index, waits)) break;
    asked[number] = waits;
    out.rounds[number] = round.made;
  }

 private:
  //! Decides on one row of a round. Returns true if the next row is needed.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool step(round_at_work<Scalar>& round, std::uint32_t index,
                                                          std::uint32_t& waits) const noexcept {
    const bool bonus = index == round.length, forced = !bonus && round.is_forced(index);
    const tested_draft tested = bonus ? tested_draft() : tested_draft(round.draft_at(index));
    const std::uint32_t number = round.first_row + index;
    if (!tested.is_valid()) {
      round.fail(errc::invalid_resolution, index);
      return false;
    }
    if (!round.row_read(batch.digests.rows[number].why.code, index)) return false;
    tested_row<Scalar> row(batch, number, sums[number]);
    if (!bonus && !round.has(tested.drafted.token)) ++round.counters().invalid_tokens;
    bool stands = false, ends = true;
    if (forced || bonus) {
      if (forced) ++round.counters().forced_rejects;
      end(round, row, {}, bonus ? purpose::bonus_draw : purpose::residual_draw, index,
          bonus ? token_source::bonus : token_source::forced);
    } else {
      stands = test(round, row, tested.drafted, index, ends);
      if (!stands && !row.needs_sum && tested.known)
        end(round, row, tested.taken, purpose::residual_draw, index, token_source::residual);
      if (!stands && !row.needs_sum && !tested.known) round.made.decided.outcome = verdict_outcome::deferred;
    }
    if (row.used_sum) ++round.counters().exact_normalisers;
    if (row.needs_sum) waits = number + 1;
    return stands && !ends && !row.needs_sum;
  }

  //! Returns whether a draft is accepted. Sets `ends` if the draft is accepted and ends the round.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool test(round_at_work<Scalar>& round, tested_row<Scalar>& row,
                                                          const drafted_token& drafted, std::uint32_t index,
                                                          bool& ends) const noexcept {
    ++round.counters().evaluated;
    if (!round.has(drafted.token)) return false;
    const draft_stream<Key> numbers{random.at(purpose::acceptance), round.number, index};
    const acceptance answer = row.test(drafted, decision_uniform(numbers.block(0)));
    if (row.needs_sum) return false;
    if (answer.near_tie) ++round.counters().near_ties;
    if (answer.accepted) ends = round.accept(drafted.token);
    return answer.accepted;
  }

  //! Draws the token that ends a round.
  SPECVERIFY_HD SPECVERIFY_INLINE void end(round_at_work<Scalar>& round, tested_row<Scalar>& row,
                                           const subtracted& taken, purpose use, std::uint32_t index,
                                           token_source source) const noexcept {
    const device_token drawn =
        row.draw(taken, draft_stream<Key>{random.at(use), round.number, index}, {trial_cap, 1.0});
    if (row.needs_sum || !round.row_read(drawn.why.code, index)) return;
    if (!taken.is_nothing()) {
      round.counters().residual_trials += drawn.trials;
      if (drawn.fallback) ++round.counters().residual_fallbacks;
    }
    round.finish(drawn.token, drawn.fallback ? token_source::residual_fallback : source);
  }
};

//! Stores the sums that rounds are waiting for.
struct keep_sum {
  const std::uint32_t* asked;
  const double* terms;
  std::uint32_t count;
  double* sums;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    if (asked[i] != 0) sums[asked[i] - 1] = sum_of_terms(terms + i * count, count);
  }
};
struct no_sum {
  double* sums;
  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept { sums[i] = 0; }
};

template <class Policy, class Scalar, class Key>
[[nodiscard]] status verify_rounds(const Policy& policy, std::uint32_t trial_cap, const device_rounds<Scalar>& rounds,
                                   const device_uniforms<Key>& random, const device_verdicts& out) {
  // One more line of 64 bytes, because a caller's allocator may align to less than 64 bytes.
  const std::size_t bytes = device_batch_size(rounds.rows, rounds.transform);
  const temporary<unsigned char, Policy> memory(policy, bytes + 64);
  unsigned char* const line = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
  const auto batch = make_device_batch(rounds.rows, rounds.transform, {line, bytes});
  if (!batch) return batch.error();
  const temporary<double, Policy> sums(policy, rounds.rows.count);
  const question_room<Policy> room(policy, rounds.count, rounds.rows.size);
  const std::uint32_t count = room.terms_of_row;
  std::uint32_t* const asked = room.asked.data();
  write_digests(policy, *batch, {});
  for_each_index(policy, rounds.rows.count, no_sum{sums.data()});
  for (;;) {
    for_each_index(policy, rounds.count,
                   decide_round<Scalar, Key>{rounds, *batch, random, trial_cap, sums.data(), asked, out});
    if (thrust_ns::reduce(policy, asked, asked + rounds.count, std::uint32_t{0}, larger_word{}) == 0) return {};
    for_each_index(policy, std::size_t{rounds.count} * count,
                   term_if_needed<Scalar>{*batch, asked, room.terms.data(), count});
    for_each_index(policy, rounds.count, keep_sum{asked, room.terms.data(), count, sums.data()});
  }
}

//! Applies the greedy rule to one round, from the greedy tokens of all rows.
template <class Scalar>
struct decide_greedily {
  device_rounds<Scalar> rounds;
  const device_argmax* best;
  device_verdicts out;

  SPECVERIFY_HD SPECVERIFY_INLINE void operator()(std::size_t i) const noexcept {
    round_at_work<Scalar> round(rounds, out, static_cast<std::uint32_t>(i));
    for (std::uint32_t index = 0; index < round.rows; ++index)
      if (!step(round, index)) break;
    out.rounds[i] = round.made;
  }

 private:
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE errc check_row(std::uint32_t row) const noexcept {
    const device_transform& transform = rounds.transform;
    if (!is_usable_temperature(temperature_of(transform, row))) return errc::invalid_temperature;
    const bool cuts = transform.truncations == nullptr || transform.truncations[row].valid();
    return cuts ? best[row].why.code : errc::invalid_truncation;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool step(round_at_work<Scalar>& round,
                                                          std::uint32_t index) const noexcept {
    const std::uint32_t row = round.first_row + index;
    if (!round.row_read(check_row(row), index)) return false;
    const token_id target = best[row].token;
    if (best[row].near_tie) ++round.counters().near_ties;
    const bool bonus = index == round.length, forced = !bonus && round.is_forced(index);
    if (forced) ++round.counters().forced_rejects;
    if (bonus || forced) {
      round.finish(target, bonus ? token_source::bonus : token_source::forced);
      return false;
    }
    const token_id token = round.draft_at(index).token;
    ++round.counters().evaluated;
    if (!round.has(token)) ++round.counters().invalid_tokens;
    if (token == target) return !round.accept(token);
    round.finish(target, token_source::residual);
    return false;
  }
};

}  // namespace thrust_detail

//! Verifies `rounds` by the token rule. `random` must have one position per round: the position of the round's first
//! draft.
//! Errors of the call: errors of `make_device_batch` for rows and transform; size_mismatch (no rounds), null_span
//! (drafts, offsets, stop tokens, keys, positions, rounds or verdicts); engine_failed. A round's error is in its
//! verdict.
template <class Policy, class Scalar, class Key>
[[nodiscard]] status verify_batch(const exec::thrust_on<Policy>& how, const device_token_rule& rule,
                                  const device_rounds<Scalar>& rounds, const device_uniforms<Key>& random,
                                  const device_verdicts& out, device_memory = {}) noexcept {
  if (const status why = device_detail::check(rounds); !why.ok()) return why;
  if (out.rounds == nullptr || !random.at(purpose::acceptance).has_all()) return {errc::null_span, part::verify, 0};
  return thrust_detail::guarded(
      [&] { return thrust_detail::verify_rounds(how.policy, rule.trial_cap, rounds, random, out); });
}

//! Verifies `rounds` by the greedy rule. It needs no random numbers; temperature and truncation have no effect. Errors
//! of the call: as for the token rule, except that no random numbers are checked.
template <class Policy, class Scalar>
[[nodiscard]] status verify_batch(const exec::thrust_on<Policy>& how, const device_greedy_rule&,
                                  const device_rounds<Scalar>& rounds, const device_verdicts& out) noexcept {
  if (const status why = device_detail::check(rounds); !why.ok()) return why;
  if (out.rounds == nullptr) return {errc::null_span, part::verify, 0};
  return thrust_detail::guarded([&] {
    const thrust_detail::temporary<device_argmax, Policy> best(how.policy, rounds.rows.count);
    if (const status why = argmax(how, rounds.rows, rounds.transform, best.data()); !why.ok()) return why;
    thrust_detail::for_each_index(how.policy, rounds.count,
                                  thrust_detail::decide_greedily<Scalar>{rounds, best.data(), out});
    return status{};
  });
}

SPECVERIFY_DEVICE_END
#include <specverify/core/foreign_macros_on.def>

#endif
