// SPDX-License-Identifier: Apache-2.0
//! Provides the random numbers for one position of the text, as one stream per purpose.
//!
//! Use it for every draw or test that needs randomness. `uniforms{source, position, round}` fixes the position, and
//! `.at(purpose)` returns the stream for one use. A draw reads the numbers of trial 0, 1, ... from this stream.
//! Symbols:    counter of trial t = {position, round, lane + t, purpose, branch 0} (core/random.hpp).
//! Guarantees: trivially copyable if the source is, constexpr, no allocation. There is no state: counters depend only
//!             on the arguments.
//! Cost:       O(1).
//! See:        docs/algorithms/uniforms.md, tests/unit/core/uniforms_test.cpp
#ifndef SPECVERIFY_CORE_UNIFORMS_HPP
#define SPECVERIFY_CORE_UNIFORMS_HPP

#include <specverify/core/concepts.hpp>

#include <cstdint>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! The random numbers of one purpose at one position. Trial t uses lane + t.
template <uniform_source Source = philox>
struct uniform_stream {
  Source source;
  random_counter first{};  //!< the counter of trial 0

  [[nodiscard]] SPECVERIFY_HD constexpr random_counter counter(std::uint32_t trial) const noexcept {
    random_counter at = first;
    at.lane += trial;
    return at;
  }
  //! Returns the 128 bits of a trial.
  [[nodiscard]] SPECVERIFY_HD constexpr random_block block(std::uint32_t trial = 0) const noexcept {
    return source(counter(trial));
  }
  //! Returns a uniform number in [0, 1) with 53 bits, from `half` 0 or 1 of the trial's block.
  [[nodiscard]] SPECVERIFY_HD constexpr double uniform(std::uint32_t trial = 0, int half = 0) const noexcept {
    return decision_uniform(block(trial), half);
  }
  //! Returns an unbiased integer in [0, bound), bound >= 1. Reads trial 0, and later trials only after a rejection.
  [[nodiscard]] SPECVERIFY_HD constexpr std::uint64_t integer(std::uint64_t bound) const noexcept {
    return uniform_integer(source, first, bound);
  }
};
template <class Source>
uniform_stream(Source, random_counter) -> uniform_stream<Source>;

//! A random source at one position of one round.
template <uniform_source Source = philox>
struct uniforms {
  Source source;
  std::uint32_t position = 0;  //!< absolute token position
  std::uint32_t round = 0;     //!< round of the session; a position drafted again gets new numbers

  //! Returns the numbers of the position `offset` tokens later, in the same round.
  [[nodiscard]] SPECVERIFY_HD constexpr uniforms after(std::uint32_t offset) const noexcept {
    return {source, position + offset, round};
  }
  //! Returns the stream of one purpose at this position. Trial 0 uses `lane`.
  [[nodiscard]] SPECVERIFY_HD constexpr uniform_stream<Source> at(purpose use, std::uint32_t lane = 0) const noexcept {
    return {source, {position, round, lane, use, 0}};
  }
};
template <class Source>
uniforms(Source, std::uint32_t, std::uint32_t) -> uniforms<Source>;

static_assert(sizeof(uniforms<>) == 16 && std::is_trivially_copyable_v<uniforms<>>);

SPECVERIFY_NAMESPACE_END

#endif
