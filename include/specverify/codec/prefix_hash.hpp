// SPDX-License-Identifier: Apache-2.0
//! Computes a 64-bit hash of a text that grows token by token, so that two sides can detect that their texts differ.
//!
//! Guarantees: O(1) per token, constexpr, no allocation, the same on every machine. If two texts differ in one token,
//!             the hashes keep differing while equal tokens follow, because each token applies a bijection to the hash.
//! Deviates:   the hash is not cryptographic, so it detects texts that differ by accident, but not forgery.
//! See:        docs/algorithms/prefix_hash.md, tests/unit/codec/prefix_hash_test.cpp
#ifndef SPECVERIFY_CODEC_PREFIX_HASH_HPP
#define SPECVERIFY_CODEC_PREFIX_HASH_HPP

#include <specverify/core/views.hpp>
#include <specverify/cpp20.hpp>

#include <cstdint>
#include <span>

SPECVERIFY_TYPES_BEGIN

inline constexpr std::uint64_t prefix_hash_seed = 0x9E3779B97F4A7C15u;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Returns the hash of a text with one more token.
[[nodiscard]] constexpr std::uint64_t extend_prefix_hash(std::uint64_t hash, token_id token) noexcept {
  hash ^= static_cast<std::uint64_t>(static_cast<std::uint32_t>(token)) + 1;
  hash *= 0xBF58476D1CE4E5B9u;
  hash ^= hash >> 29;
  hash *= 0x94D049BB133111EBu;
  hash ^= hash >> 32;
  return hash;
}

//! Returns the hash of a whole text. If `from` is the hash of a prefix, `text` must be the tokens after that prefix.
[[nodiscard]] constexpr std::uint64_t prefix_hash(std::span<const token_id> text,
                                                  std::uint64_t from = prefix_hash_seed) noexcept {
  for (const token_id token : text) from = extend_prefix_hash(from, token);
  return from;
}

SPECVERIFY_NAMESPACE_END

#endif
