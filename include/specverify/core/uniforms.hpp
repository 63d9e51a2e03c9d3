// SPDX-License-Identifier: Apache-2.0
//! The random numbers of one place in the text: a source with a position and a round, and streams by purpose.
//!
//! Use it wherever a draw or a test asks for randomness: `uniforms{source, position, round}` says where the text
//! stands, `.at(purpose)` gives the stream of one use there, and the draw reads the trials of that stream.
//! Symbols:    counter of trial t = {position, round, lane + t, purpose, branch 0} (core/random.hpp).
//! Guarantees: trivially copyable where the source is (16 bytes with `philox`), constexpr, no state, no allocation; the
//!             counters are functions of the arguments alone.
//! See:        docs/algorithms/uniforms.md, tests/unit/core/uniforms_test.cpp, examples/docs/uniforms.cpp
#ifndef SPECVERIFY_CORE_UNIFORMS_HPP
#define SPECVERIFY_CORE_UNIFORMS_HPP

#include <specverify/core/concepts.hpp>

#include <cstdint>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! The numbers of one purpose at one place. Trial t is lane + t.
template <uniform_source Source = philox>
struct uniform_stream {
  Source source;
  random_counter first{};  //!< the counter of trial 0

  [[nodiscard]] SPECVERIFY_HD constexpr random_counter counter(std::uint32_t trial) const noexcept {
    random_counter at = first;
    at.lane += trial;
    return at;
  }
  //! 128 bits.
  [[nodiscard]] SPECVERIFY_HD constexpr random_block block(std::uint32_t trial = 0) const noexcept {
    return source(counter(trial));
  }
  //! A decision uniform in [0, 1) with 53 bits; `half` 0 or 1 of the trial's block.
  [[nodiscard]] SPECVERIFY_HD constexpr double uniform(std::uint32_t trial = 0, int half = 0) const noexcept {
    return decision_uniform(block(trial), half);
  }
  //! An unbiased integer in [0, bound), bound >= 1. Reads trial 0, and the trials after it only when it must reject.
  [[nodiscard]] SPECVERIFY_HD constexpr std::uint64_t integer(std::uint64_t bound) const noexcept {
    return uniform_integer(source, first, bound);
  }
};
template <class Source>
uniform_stream(Source, random_counter) -> uniform_stream<Source>;

//! A source at one position of one round.
template <uniform_source Source = philox>
struct uniforms {
  Source source;
  std::uint32_t position = 0;  //!< absolute token position
  std::uint32_t round = 0;     //!< of the session: positions drafted again get new numbers

  //! The same round, `offset` positions further on.
  [[nodiscard]] SPECVERIFY_HD constexpr uniforms after(std::uint32_t offset) const noexcept {
    return {source, position + offset, round};
  }
  //! The stream of one use at this position, from `lane` on.
  [[nodiscard]] SPECVERIFY_HD constexpr uniform_stream<Source> at(purpose use, std::uint32_t lane = 0) const noexcept {
    return {source, {position, round, lane, use, 0}};
  }
};
template <class Source>
uniforms(Source, std::uint32_t, std::uint32_t) -> uniforms<Source>;

static_assert(sizeof(uniforms<>) == 16 && std::is_trivially_copyable_v<uniforms<>>);

SPECVERIFY_NAMESPACE_END

#endif
