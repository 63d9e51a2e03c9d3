// SPDX-License-Identifier: Apache-2.0
//! Provides random numbers that a test sets in advance, and records the counters that are read.
//!
//! Use it to run a function on chosen numbers, or to check which counters the function reads.
//! Paper:      none; test kit.
//! Symbols:    half = one of the two 64-bit words of a counter; k = decision uniform of a half * 2^53, an integer.
//! Guarantees: every counter has a value, either set by the test or specified by `script_fill`. Allocates; one thread.
//! Cost:       O(n) per read, n = number of values that are set.
//! See:        docs/algorithms/enumerate_law.md, tests/unit/testing/uniform_script_test.cpp
#ifndef SPECVERIFY_TESTING_UNIFORM_SCRIPT_HPP
#define SPECVERIFY_TESTING_UNIFORM_SCRIPT_HPP

#include <specverify/core/concepts.hpp>
#include <specverify/testing/exact_mass.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN

//! Value of each half that the test did not set.
enum class script_fill : std::uint8_t {
  zero,            //!< the smallest uniform, 0
  near_one,        //!< the largest uniform, 1 - 2^-53
  middle,          //!< 1/2
  scattered,       //!< a hash of counter and half
  scattered_first  //!< half 0 is a hash, half 1 is zero
};

//! Random numbers by counter. Each half of a counter has an integer k in [0, 2^53). The decision uniform is k 2^-53,
//! and the 64 bits are k 2^11 + 2^10. Because the low 11 bits are in the middle of their range, an integer draw with a
//! bound below 2^10 never retries.
class uniform_script {
 public:
  explicit uniform_script(script_fill fill = script_fill::zero) : fill_(fill) {}

  void set(random_counter counter, int half, std::uint64_t steps) {
    for (entry& known : entries_) {
      if (known.half == half && known.counter == counter) {
        known.steps = steps;
        return;
      }
    }
    entries_.push_back({counter, half, steps});
  }
  //! Sets half `half` of `counter` so that its decision uniform is `uniform`, rounded down to 53 bits. `uniform` must
  //! be in [0, 1).
  void set_uniform(random_counter counter, int half, double uniform) {
    set(counter, half, static_cast<std::uint64_t>(uniform * 0x1.0p53));
  }
  void push(random_counter counter, int half, std::uint64_t steps) { entries_.push_back({counter, half, steps}); }
  void pop() { entries_.pop_back(); }
  void set_last(std::uint64_t steps) { entries_.back().steps = steps; }
  //! Selects the values of halves that the test did not set. The hashes depend on the seed, so each seed is one random
  //! point.
  void set_fill(script_fill fill, std::uint32_t seed = 0) {
    fill_ = fill;
    seed_ = seed;
  }
  [[nodiscard]] static std::uint64_t scatter(random_counter counter, int half, std::uint32_t seed) {
    const random_block block = philox4x32(counter.position, counter.round, counter.lane,
                                          static_cast<std::uint32_t>(counter.use) | (counter.branch << 8),
                                          {{0x5EED0001u + seed, static_cast<std::uint32_t>(half)}});
    return ((std::uint64_t{block.word[0]} << 32) | block.word[1]) >> 11;
  }
  [[nodiscard]] bool lists(random_counter counter, int half) const {
    for (const entry& known : entries_) {
      if (known.half == half && known.counter == counter) return true;
    }
    return false;
  }

  //! Returns the counters read since the last `forget`, each once, in order of the first read.
  [[nodiscard]] const std::vector<random_counter>& reads() const { return reads_; }
  //! Returns a mask: bit h is set if, since the last `forget`, half h of a counter was read that the test had not set.
  [[nodiscard]] unsigned filled_halves() const { return filled_; }
  void forget() {
    reads_.clear();
    filled_ = 0;
  }

  [[nodiscard]] random_block read(random_counter counter) {
    bool seen = false;
    for (const random_counter& earlier : reads_) seen = seen || earlier == counter;
    if (!seen) reads_.push_back(counter);
    const std::uint64_t first = bits(counter, 0);
    const std::uint64_t second = bits(counter, 1);
    return {{static_cast<std::uint32_t>(first >> 32), static_cast<std::uint32_t>(first),
             static_cast<std::uint32_t>(second >> 32), static_cast<std::uint32_t>(second)}};
  }

 private:
  struct entry {
    random_counter counter;
    int half;
    std::uint64_t steps;
  };

  [[nodiscard]] std::uint64_t bits(random_counter counter, int half) {
    std::uint64_t steps = 0;
    bool listed = false;
    for (const entry& known : entries_) {
      if (known.half == half && known.counter == counter) {
        steps = known.steps;
        listed = true;
        break;
      }
    }
    if (!listed) {
      steps = filled(counter, half);
      filled_ |= 1u << half;
    }
    return (steps << 11) | 0x400u;
  }

  [[nodiscard]] std::uint64_t filled(random_counter counter, int half) const {
    switch (fill_) {
      case script_fill::zero:
        return 0;
      case script_fill::near_one:
        return uniform_steps - 1;
      case script_fill::middle:
        return uniform_steps / 2;
      case script_fill::scattered_first:
        if (half == 1) return 0;
        break;
      case script_fill::scattered:
        break;
    }
    return scatter(counter, half, seed_);
  }

  std::vector<entry> entries_{};
  std::vector<random_counter> reads_{};
  unsigned filled_ = 0;
  script_fill fill_;
  std::uint32_t seed_ = 0;
};

//! The source that the code under test receives; satisfies `uniform_source`. The script must outlive this source.
class scripted_source {
 public:
  explicit scripted_source(uniform_script& script) noexcept : script_(&script) {}
  [[nodiscard]] random_block operator()(random_counter counter) const noexcept { return script_->read(counter); }

 private:
  uniform_script* script_;
};
static_assert(uniform_source<scripted_source>);

SPECVERIFY_NAMESPACE_END

#endif
