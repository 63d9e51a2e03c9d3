// SPDX-License-Identifier: Apache-2.0
//! Lists the ids whose noise is at most a given limit, with vector instructions that compute Philox for several groups
//! of four ids at a time. The ids are those of the scalar reference, possibly in another order.
#ifndef SPECVERIFY_KERNEL_SIMD_NOISE_HPP
#define SPECVERIFY_KERNEL_SIMD_NOISE_HPP

#include <specverify/kernel/scalar/noise.hpp>
#include <specverify/kernel/simd/wide.hpp>

#if SPECVERIFY_WITH_SIMD
SPECVERIFY_NAMESPACE_BEGIN
namespace kernel {

#if SPECVERIFY_WIDE_PRODUCTS

// At -O2, g++ keeps an array of registers in memory if a loop over it is not unrolled. That doubles the time.
#if defined(__GNUC__) && !defined(__clang__)
#define SPECVERIFY_UNROLLED _Pragma("GCC unroll 8")
#else
#define SPECVERIFY_UNROLLED
#endif

//! Philox4x32-10 of the noise at one position, for several groups of four ids per step.
class wide_philox {
 public:
  // Independent groups hide the latency of the products, but AVX2 has registers for only two.
  static constexpr std::uint32_t groups = wide_size == 8 ? 4 : 2;
  static constexpr std::uint32_t ids = 4 * groups * wide_size;  // per step

  //! The first step computes the words of `first` and the following ids; `first` must be a multiple of 4.
  wide_philox(const coupling_noise& noise, std::uint32_t position, std::uint32_t first) noexcept {
    std::uint64_t lanes[wide_size];
    for (std::uint32_t i = 0; i < wide_size; ++i) lanes[i] = std::uint64_t{philox_multiplier_1} * (first / 4 + i);
    products_ = wide_load(lanes);
    philox_key key = noise.philox_words();
    for (std::uint64_t(&of_round)[2] : keys_) {
      of_round[0] = key.word[0];
      of_round[1] = key.word[1];
      key.word[0] += philox_increment_0;
      key.word[1] += philox_increment_1;
    }
    // Only word 2 of the counter differs between groups, so rounds 1 to 3 have products and words that all groups
    // share. These go into the keys.
    const std::uint64_t product0 = std::uint64_t{philox_multiplier_0} * position;
    const std::uint64_t use = static_cast<std::uint32_t>(purpose::coupling_noise);
    const std::uint64_t product1 = philox_multiplier_1 * (product0 >> 32 ^ use ^ keys_[0][1]);
    keys_[1][0] ^= product1 >> 32;
    keys_[1][1] ^= product0 & 0xFFFFFFFFu;
    keys_[2][0] ^= product1 & 0xFFFFFFFFu;
    keys_[9][0] <<= 32;
    keys_[9][1] <<= 32;
  }

  //! Computes the words of the next `ids` ids. Half h of `words[2 * g + i]` (h = 0: low half of the first lane, h = 1:
  //! its high half, h = 2: low half of the second lane, ...) belongs to the id `place(2 * g + i, h)` of the step.
  SPECVERIFY_INLINE void step(wide_register (&words)[2 * groups]) noexcept {
    const wide_register m0 = wide_set(philox_multiplier_0), m1 = wide_set(philox_multiplier_1);
    wide_register word0[groups], word1[groups], word2[groups], word3[groups];
    SPECVERIFY_UNROLLED
    for (std::uint32_t g = 0; g < groups; ++g) {  // rounds 1 to 3
      const wide_register product1 = wide_add(products_, wide_set(std::uint64_t{philox_multiplier_1} * g * wide_size));
      word3[g] = wide_product(wide_xor(wide_high_halves(product1), wide_set(keys_[0][0])), m0);
      const wide_register product0 = wide_product(wide_xor(product1, wide_set(keys_[1][0])), m0);
      word1[g] = wide_product(wide_xor(wide_high_halves(word3[g]), wide_set(keys_[1][1])), m1);
      word0[g] = wide_xor(wide_high_halves(word1[g]), wide_set(keys_[2][0]));
      word2[g] = wide_xor(wide_high_halves(product0), word3[g], wide_set(keys_[2][1]));
      word3[g] = product0;
    }
    for (int round = 3; round < 9; ++round) {
      const wide_register k0 = wide_set(keys_[round][0]), k1 = wide_set(keys_[round][1]);
      SPECVERIFY_UNROLLED
      for (std::uint32_t g = 0; g < groups; ++g) {
        const wide_register product0 = wide_product(word0[g], m0), product1 = wide_product(word2[g], m1);
        word0[g] = wide_xor(wide_high_halves(product1), word1[g], k0);
        word2[g] = wide_xor(wide_high_halves(product0), word3[g], k1);
        word1[g] = product1;
        word3[g] = product0;
      }
    }
    SPECVERIFY_UNROLLED
    for (std::uint32_t g = 0; g < groups; ++g) {  // both halves of the last products are words
      words[2 * g] = wide_xor(wide_product(word2[g], m1), wide_left<32>(word1[g]), wide_set(keys_[9][0]));
      words[2 * g + 1] = wide_xor(wide_product(word0[g], m0), wide_left<32>(word3[g]), wide_set(keys_[9][1]));
    }
    products_ = wide_add(products_, wide_set(std::uint64_t{philox_multiplier_1} * (ids / 4)));
  }
  [[nodiscard]] static constexpr std::uint32_t place(std::uint32_t index, std::uint32_t half) noexcept {
    return 4 * (index / 2 * wide_size + half / 2) + 2 * (index % 2) + 1 - half % 2;
  }

 private:
  wide_register products_;     // the second multiplier times word 2 of the counter
  std::uint64_t keys_[10][2];  // per round
};

template <class Level>
[[nodiscard]] inline std::uint32_t list_small_noise(exec::simd_on<Level>, const coupling_noise& noise,
                                                    std::uint32_t position, std::uint32_t first, std::uint32_t count,
                                                    std::uint32_t bar, noise_hit* out) noexcept {
  static_assert(noise_run % wide_philox::ids == 0);
  if (noise.hashes()) return list_small_hashes(noise, position, first, count, bar, out);
  wide_philox noisy(noise, position, first);
  const wide_register bound = wide_set(std::uint64_t{bar} << 32 | bar);
  std::uint32_t found = 0, i = 0;
  for (; i + wide_philox::ids <= count; i += wide_philox::ids) {
    wide_register words[2 * wide_philox::groups];
    noisy.step(words);
    wide_register least = words[0];
    SPECVERIFY_UNROLLED
    for (std::uint32_t k = 1; k < 2 * wide_philox::groups; ++k) least = wide_smaller_halves(least, words[k]);
    if (wide_halves_within(least, bound) == 0) [[likely]]
      continue;
    SPECVERIFY_UNROLLED
    for (std::uint32_t k = 0; k < 2 * wide_philox::groups; ++k) {
      const std::uint32_t within = wide_halves_within(words[k], bound);
      if (within == 0) continue;
      std::uint64_t lanes[wide_size];
      wide_store(lanes, words[k]);
      for (std::uint32_t half = 0; half < 2 * wide_size; ++half) {
        if ((within >> half & 1u) == 0) continue;
        out[found++] = {first + i + wide_philox::place(k, half),
                        static_cast<std::uint32_t>(lanes[half / 2] >> (half % 2 * 32))};
      }
    }
  }
  return found + list_small_noise(exec::seq, noise, position, first + i, count - i, bar, out + found);
}

#undef SPECVERIFY_UNROLLED
#endif

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
