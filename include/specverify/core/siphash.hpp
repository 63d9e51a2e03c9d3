// SPDX-License-Identifier: Apache-2.0
//! Computes SipHash-2-4 with 128 bits of output, a keyed pseudorandom function for short messages.
//!
//! Use it for values that nobody can compute or predict without the 128-bit key.
//! Paper:      Aumasson, Bernstein: SipHash: a fast short-input PRF (INDOCRYPT 2012); the 128-bit output follows the
//!             authors' reference code.
//! Guarantees: constexpr, noexcept, no allocation, C++17 clean, bit-exact. O(size).
//! See:        docs/algorithms/siphash.md, tests/unit/core/siphash_test.cpp
#ifndef SPECVERIFY_CORE_SIPHASH_HPP
#define SPECVERIFY_CORE_SIPHASH_HPP

#include <specverify/core/numeric.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! 128 bits as two little-endian numbers: bytes 0..7 and bytes 8..15. Type of the key and of the result of `siphash`.
struct siphash_words {
  std::uint64_t word[2] = {0, 0};

  friend SPECVERIFY_INLINE constexpr bool operator==(const siphash_words& a, const siphash_words& b) noexcept {
    return ((a.word[0] ^ b.word[0]) | (a.word[1] ^ b.word[1])) == 0;
  }
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

[[nodiscard]] SPECVERIFY_HD constexpr std::uint64_t rotated_left(std::uint64_t x, int by) noexcept {
  return (x << by) | (x >> (64 - by));
}

struct siphash_state {
  std::uint64_t v0, v1, v2, v3;

  SPECVERIFY_HD constexpr explicit siphash_state(const siphash_words& key) noexcept
      : v0(key.word[0] ^ 0x736F6D6570736575u),
        v1(key.word[1] ^ 0x646F72616E646F6Du ^ 0xEEu),
        v2(key.word[0] ^ 0x6C7967656E657261u),
        v3(key.word[1] ^ 0x7465646279746573u) {}

  SPECVERIFY_HD constexpr void mix(int rounds) noexcept {
    for (int i = 0; i < rounds; ++i) {
      v0 += v1, v2 += v3;
      v1 = rotated_left(v1, 13) ^ v0, v3 = rotated_left(v3, 16) ^ v2;
      v0 = rotated_left(v0, 32);
      v2 += v1, v0 += v3;
      v1 = rotated_left(v1, 17) ^ v2, v3 = rotated_left(v3, 21) ^ v0;
      v2 = rotated_left(v2, 32);
    }
  }
  SPECVERIFY_HD constexpr void take(std::uint64_t word) noexcept {
    v3 ^= word;
    mix(2);
    v0 ^= word;
  }
  [[nodiscard]] SPECVERIFY_HD constexpr siphash_words finish() noexcept {
    siphash_words out;
    v2 ^= 0xEE;
    mix(4);
    out.word[0] = v0 ^ v1 ^ v2 ^ v3;
    v1 ^= 0xDD;
    mix(4);
    out.word[1] = v0 ^ v1 ^ v2 ^ v3;
    return out;
  }
};

}  // namespace detail

//! Returns SipHash-2-4-128 of the `size` bytes at `data` under `key`.
[[nodiscard]] SPECVERIFY_HD constexpr siphash_words siphash(const siphash_words& key, const std::byte* data,
                                                            std::size_t size) noexcept {
  detail::siphash_state state(key);
  const std::size_t whole = size / 8;
  for (std::size_t i = 0; i < whole; ++i) state.take(numeric::load_le(data + 8 * i, 8));
  const auto rest = static_cast<unsigned>(size % 8);
  const std::uint64_t last = rest == 0 ? 0 : numeric::load_le(data + 8 * whole, rest);
  state.take(last | (static_cast<std::uint64_t>(size) << 56));
  return state.finish();
}

SPECVERIFY_NAMESPACE_END

#endif
