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

//! Philox4x32-10 in the low halves of 64-bit lanes; the high halves hold garbage that no step reads.
struct wide_philox {
  // Independent groups hide the latency of the products, but AVX2 has registers for only two.
  static constexpr std::uint32_t groups = wide_size == 8 ? 4 : 2;
  static constexpr std::uint32_t ids = 4 * groups * wide_size;  // per step

  wide_register word[4][groups];

  SPECVERIFY_INLINE wide_philox(const coupling_noise& noise, std::uint32_t position, wide_register lanes) noexcept {
    for (std::uint32_t g = 0; g < groups; ++g) {
      word[0][g] = wide_set(position);
      word[1][g] = wide_set(0);
      word[2][g] = wide_add(lanes, wide_set(g * wide_size));
      word[3][g] = wide_set(static_cast<std::uint32_t>(purpose::coupling_noise));
    }
    philox_key key = noise.philox_words();
    const wide_register m0 = wide_set(philox_multiplier_0), m1 = wide_set(philox_multiplier_1);
    for (int round = 0; round < 10; ++round) {
      const wide_register k0 = wide_set(key.word[0]), k1 = wide_set(key.word[1]);
      for (std::uint32_t g = 0; g < groups; ++g) {
        const wide_register product0 = wide_product(word[0][g], m0), product1 = wide_product(word[2][g], m1);
        word[0][g] = wide_xor(wide_right<32>(product1), word[1][g], k0);
        word[2][g] = wide_xor(wide_right<32>(product0), word[3][g], k1);
        word[1][g] = product1;
        word[3][g] = product0;
      }
      key.word[0] += philox_increment_0;
      key.word[1] += philox_increment_1;
    }
  }
};

template <class Level>
[[nodiscard]] inline std::uint32_t list_small_noise(exec::simd_on<Level>, const coupling_noise& noise,
                                                    std::uint32_t position, std::uint32_t first, std::uint32_t count,
                                                    std::uint32_t bar, noise_hit* out) noexcept {
  static_assert(noise_run % wide_philox::ids == 0);
  if (noise.hashes()) return list_small_hashes(noise, position, first, count, bar, out);
  std::uint64_t steps[wide_size];
  for (std::uint32_t i = 0; i < wide_size; ++i) steps[i] = first / 4 + i;
  wide_register lanes = wide_load(steps);
  const wide_register bound = wide_set(bar);
  std::uint32_t found = 0, i = 0;
  for (; i + wide_philox::ids <= count; i += wide_philox::ids) {
    const wide_philox noisy(noise, position, lanes);
    lanes = wide_add(lanes, wide_set(wide_philox::ids / 4));
    wide_register least = noisy.word[0][0];
    for (std::uint32_t k = 0; k < 4; ++k) {
      for (std::uint32_t g = 0; g < wide_philox::groups; ++g) least = wide_smaller_halves(least, noisy.word[k][g]);
    }
    if (!wide_any_low_within(least, bound)) [[likely]]
      continue;
    for (std::uint32_t g = 0; g < wide_philox::groups; ++g) {
      for (std::uint32_t k = 0; k < 4; ++k) {
        std::uint64_t values[wide_size];
        wide_store(values, noisy.word[k][g]);
        for (std::uint32_t lane = 0; lane < wide_size; ++lane) {
          const auto high = static_cast<std::uint32_t>(values[lane]);
          out[found] = {first + i + 4 * (g * wide_size + lane) + k, high};
          found += high <= bar ? 1u : 0u;
        }
      }
    }
  }
  return found + list_small_noise(exec::seq, noise, position, first + i, count - i, bar, out + found);
}

#endif

}  // namespace kernel
SPECVERIFY_NAMESPACE_END
#endif  // SPECVERIFY_WITH_SIMD

#endif
