// SPDX-License-Identifier: Apache-2.0
//! Holds the state of a round of drafts while one thread verifies it: the rows, the verdict, and the distribution
//! against which a draft is tested.
#ifndef SPECVERIFY_DEVICE_DETAIL_ROUND_HPP
#define SPECVERIFY_DEVICE_DETAIL_ROUND_HPP

#include <specverify/device/detail/tests.hpp>
#include <specverify/device/rounds.hpp>
#include <specverify/verify/detail/progress.hpp>

SPECVERIFY_DEVICE_BEGIN
namespace thrust_detail {

//! One thread's work on a round.
template <class Scalar>
struct round_at_work {
  const device_rounds<Scalar>& rounds;
  status* states;
  std::uint32_t number;
  device_verdict made{};
  std::uint32_t length = 0, rows = 0, first_row = 0;

  SPECVERIFY_HD SPECVERIFY_INLINE round_at_work(const device_rounds<Scalar>& all, const device_verdicts& out,
                                                std::uint32_t round) noexcept
      : rounds(all), states(out.row_states), number(round), first_row(all.first_row(round)) {
    begin(all.first_row(round + 1), all.draft_begin[round], all.draft_begin[round + 1]);
  }

  //! Determines the length of the round and its rows, or an error.
  SPECVERIFY_HD SPECVERIFY_INLINE void begin(std::uint32_t last, std::uint32_t begin, std::uint32_t end) noexcept {
    const device_rounds<Scalar>& all = rounds;
    for (std::uint32_t row = first_row; states != nullptr && last <= all.rows.count && row < last; ++row)
      states[row] = {errc::not_read, part::verify, row - first_row};
    if (first_row > last || last > all.rows.count || begin > end) return fail(errc::size_mismatch, 0);
    std::uint32_t drafted = 0;
    while (drafted < end - begin && all.drafts[begin + drafted].token != no_token) ++drafted;
    counters().drafted = drafted;
    const round_limits limits = all.limits(number);
    const std::uint32_t tested = detail::length_of_round(drafted, limits);
    const std::uint32_t needed = detail::rows_of_round(tested, limits);
    if (last - first_row < needed) return fail(errc::too_few_rows, last - first_row);
    if (needed == 0) made.decided.stop = stop_reason::budget;
    length = tested;
    rows = needed;
  }

  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE verdict_counters& counters() noexcept { return made.decided.counters; }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE const device_draft& draft_at(std::uint32_t index) const noexcept {
    return rounds.drafts[rounds.draft_begin[number] + index];
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool is_forced(std::uint32_t index) const noexcept {
    return rounds.forced_rejects != nullptr && rounds.forced_rejects[rounds.draft_begin[number] + index] != 0;
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool has(token_id token) const noexcept {
    return token >= 0 && static_cast<std::uint32_t>(token) < rounds.rows.size;
  }
  SPECVERIFY_HD SPECVERIFY_INLINE void fail(errc code, std::uint32_t index) noexcept {
    made.why = {code, part::verify, index};
  }
  //! Records a read row. Returns false if the read failed.
  SPECVERIFY_HD SPECVERIFY_INLINE bool row_read(errc code, std::uint32_t index) noexcept {
    if (states != nullptr) states[first_row + index] = {code, part::verify, index};
    if (code != errc::ok) fail(code, index);
    return code == errc::ok;
  }
  //! Accepts a draft. Returns true if the round ends with it.
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool accept(token_id token) noexcept {
    return detail::accept_draft(made.decided, rounds.limits(number), token);
  }
  SPECVERIFY_HD SPECVERIFY_INLINE void finish(token_id token, token_source source) noexcept {
    detail::finish_round(made.decided, rounds.limits(number), token, source);
  }
};

//! Distribution that a draft is tested against, and that a rejection subtracts.
struct tested_draft {
  drafted_token drafted{no_token, 1, 1};
  subtracted taken{};
  bool known = true;  // whether a rejected draft can be replaced here

  SPECVERIFY_HD SPECVERIFY_INLINE tested_draft() noexcept {}
  SPECVERIFY_HD SPECVERIFY_INLINE explicit tested_draft(const device_draft& given) noexcept
      : drafted{given.token, given.count, given.resolution} {
    if (given.source.vocab_size != 0) {
      drafted.count = given.source.count(given.token);
      drafted.resolution = given.source.resolution;
      taken = {&given.source, no_token, 1.0 / static_cast<double>(given.source.resolution)};
    } else if (given.count == 0) {
      drafted.count = drafted.resolution = 1;
      taken = {nullptr, given.token, 1.0};
    } else {
      known = false;
    }
  }
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE bool is_valid() const noexcept {
    return drafted.resolution > 0 && drafted.count <= drafted.resolution;
  }
};

//! Random numbers of one draft of a round.
template <class Key>
struct draft_stream {
  device_stream<Key> stream;
  std::uint32_t round, index;
  [[nodiscard]] SPECVERIFY_HD SPECVERIFY_INLINE random_block block(std::uint32_t trial) const noexcept {
    random_counter counter = stream.first_of(round);
    counter.position += index;
    counter.lane += trial;
    return stream.at(round, counter);
  }
};

}  // namespace thrust_detail
SPECVERIFY_DEVICE_END

#endif
