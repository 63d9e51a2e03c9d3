// SPDX-License-Identifier: Apache-2.0
//! Lists the ids whose noise is at most a given limit. This scalar reference (bit-exact) implements the pass over the
//! vocabulary in row/race.hpp.
#ifndef SPECVERIFY_KERNEL_SCALAR_NOISE_HPP
#define SPECVERIFY_KERNEL_SCALAR_NOISE_HPP

#include <specverify/core/execution.hpp>
#include <specverify/core/noise.hpp>

SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

//! An id and its noise word (`coupling_noise::high_words`).
struct noise_hit {
  std::uint32_t id;
  std::uint32_t high;
};

inline constexpr std::uint32_t noise_run = 1024;  // ids per call, a multiple of the ids per vector step

//! Implements `list_small_noise` for the noise kinds of vLLM and SGLang. Compilers can vectorize the loop over a block.
[[nodiscard]] inline std::uint32_t list_small_hashes(const coupling_noise& noise, std::uint32_t position,
                                                     std::uint32_t first, std::uint32_t count, std::uint32_t bar,
                                                     noise_hit* out) noexcept {
  constexpr std::uint32_t block = 64;
  const std::uint32_t start = noise.hash_start(position);
  std::uint32_t words[block];
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < count; i += block) {
    const std::uint32_t left = count - i < block ? count - i : block;
    std::uint32_t least = 0xFFFFFFFFu;
    for (std::uint32_t k = 0; k < block; ++k) {
      words[k] = noise.hash_word(start, first + i + k);
      least = words[k] < least ? words[k] : least;
    }
    if (least > bar) continue;
    for (std::uint32_t k = 0; k < left; ++k) {
      if (words[k] <= bar) out[found++] = {first + i + k, words[k]};
    }
  }
  return found;
}

//! Writes the ids in [first, first + count) whose word is at most `bar`, in any order, and returns their number.
//! `first` must be a multiple of 4, and `out` must have space for `count` ids.
[[nodiscard]] inline std::uint32_t list_small_noise(exec::seq_policy, const coupling_noise& noise,
                                                    std::uint32_t position, std::uint32_t first, std::uint32_t count,
                                                    std::uint32_t bar, noise_hit* out) noexcept {
  if (noise.hashes()) return list_small_hashes(noise, position, first, count, bar, out);
  std::uint32_t found = 0;
  for (std::uint32_t i = 0; i < count; i += 4) {
    const random_block words = noise.high_words(position, (first + i) / 4);
    for (std::uint32_t k = 0; k < 4 && i + k < count; ++k) {
      if (words.word[k] <= bar) out[found++] = {first + i + k, words.word[k]};
    }
  }
  return found;
}

}  // namespace kernel
SPECVERIFY_NAMESPACE_END

#endif
