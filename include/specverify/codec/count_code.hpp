// SPDX-License-Identifier: Apache-2.0
//! Encodes and decodes the integer counts of a quantized distribution, at the same cost for every list of counts.
//!
//! The cost is log2 of the number of possible lists. For example, if K = 2 positive counts sum to l = 4, there are
//! three lists (1 + 3, 2 + 2, 3 + 1), so the code costs log2 3 bits. The counts are coded as a subset of slots (stars
//! and bars, codec/support_code.hpp). Counts over a whole vocabulary take O(l) for any V.
//! Paper:      Conformal Sparsification (arXiv 2510.09942), the lattice term of eq. (5); Quantize-Sample-and-Verify
//!             (arXiv 2507.00605).
//! Symbols:    l = resolution, K = parts, V = vocab_size.
//! Guarantees: the cost is log2 C(l-1,K-1) bits for positive counts, log2 C(l+K-1,K-1) with zeros, or log2 C(l+V-1,V-1)
//!             over a vocabulary, plus at most the overhead of codec/support_code.hpp. Decoded counts sum to l for any
//!             input bytes. Integers only, no allocation, noexcept; bit-exact.
//! See:        docs/algorithms/count_code.md, docs/wire-format.md, tests/unit/codec/count_code_test.cpp
#ifndef SPECVERIFY_CODEC_COUNT_CODE_HPP
#define SPECVERIFY_CODEC_COUNT_CODE_HPP

#include <specverify/codec/support_code.hpp>

SPECVERIFY_NAMESPACE_BEGIN

//! Encodes `parts` counts that sum to `resolution`. If `zeros` is false, each count must be positive, so parts <=
//! resolution.
class composition_encoder {
 public:
  composition_encoder(range_encoder& coder, std::uint32_t resolution, std::uint32_t parts, bool zeros) noexcept
      : bars_(coder, zeros ? resolution + parts - 1 : resolution - 1, parts - 1),
        left_(parts - 1),
        step_(zeros ? 1 : 0) {
    SPECVERIFY_ASSERT(parts > 0 && (zeros || parts <= resolution), "a composition without room");
  }
  //! Writes the next count. The last count is not written, because it follows from the others.
  void put(std::uint32_t count) noexcept {
    if (left_ == 0) return;
    SPECVERIFY_ASSERT(step_ == 1 || count > 0, "a count of zero");
    place_ += count;
    bars_.put(place_ - 1 + step_);
    place_ += step_;
    --left_;
  }

 private:
  subset_encoder bars_;
  std::uint32_t left_;
  std::uint32_t step_;
  std::uint32_t place_ = 0;
};

//! Decodes the counts in order. `next` may be called at most `parts` times.
class composition_decoder {
 public:
  composition_decoder(range_decoder& coder, std::uint32_t resolution, std::uint32_t parts, bool zeros) noexcept
      : bars_(coder, zeros ? resolution + parts - 1 : resolution - 1, parts - 1),
        left_(parts - 1),
        rest_(resolution),
        step_(zeros ? 1 : 0) {
    SPECVERIFY_ASSERT(parts > 0 && (zeros || parts <= resolution), "a composition without room");
  }
  [[nodiscard]] std::uint32_t next() noexcept {
    std::uint32_t count = rest_;
    if (left_ > 0) {
      --left_;
      const std::uint32_t bar = bars_.next() + 1 - step_;
      count = bar - place_;
      place_ = bar + step_;
    }
    rest_ -= count;
    return count;
  }

 private:
  subset_decoder bars_;
  std::uint32_t left_;
  std::uint32_t rest_;
  std::uint32_t step_;
  std::uint32_t place_ = 0;
};

//! Encodes the positive counts of ascending ids below `vocab_size`. They must sum to `resolution`.
class dense_lattice_encoder {
 public:
  dense_lattice_encoder(range_encoder& coder, std::uint32_t resolution, std::uint32_t vocab_size) noexcept
      : stars_(coder, resolution + vocab_size - 1, resolution) {}
  void put(token_id id, std::uint32_t count) noexcept {
    for (; count > 0; --count) stars_.put(static_cast<std::uint32_t>(id) + placed_++);
  }

 private:
  subset_encoder stars_;
  std::uint32_t placed_ = 0;
};

//! Decodes ids with positive counts, ascending, and returns the number of ids. `ids` and `counts` must have the same
//! size; if there are more ids than that, the function stops and returns that size plus one.
[[nodiscard]] inline std::uint32_t decode_dense_lattice(range_decoder& coder, std::uint32_t resolution,
                                                        std::uint32_t vocab_size, std::span<token_id> ids,
                                                        std::span<std::uint32_t> counts) noexcept {
  subset_decoder stars(coder, resolution + vocab_size - 1, resolution);
  std::uint32_t size = 0;
  for (std::uint32_t star = 0; star < resolution; ++star) {
    if (size > 0 && stars.packed()) {  // the remaining count belongs to this id
      counts[size - 1] += resolution - star;
      break;
    }
    const auto id = static_cast<token_id>(stars.next() - star);
    if (size > 0 && ids[size - 1] == id) {
      ++counts[size - 1];
    } else {
      if (size == ids.size()) return size + 1;
      ids[size] = id;
      counts[size] = 1;
      ++size;
    }
  }
  return size;
}

SPECVERIFY_NAMESPACE_END

#endif
