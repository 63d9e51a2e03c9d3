// SPDX-License-Identifier: Apache-2.0
//! Lengths of messages, words of eight bytes, and the codec's status.
#ifndef SPECVERIFY_CODEC_DETAIL_BYTES_HPP
#define SPECVERIFY_CODEC_DETAIL_BYTES_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint64_t max_message_bytes = 0xffffffffu;

//! Out of line and cold: the usual way then has no code of errors in it.
[[nodiscard, gnu::cold, gnu::noinline]] constexpr status codec_error(errc code, std::uint64_t where = 0) noexcept {
  return {code, part::codec, static_cast<std::uint32_t>(where < max_message_bytes ? where : max_message_bytes)};
}

[[nodiscard]] constexpr std::uint64_t bits_to_bytes(std::uint64_t bits) noexcept { return (bits + 7) / 8; }

//! Eight bytes as a number, the first of them the highest.
[[nodiscard]] SPECVERIFY_INLINE std::uint64_t load_eight(const std::byte* at) noexcept {
#if SPECVERIFY_COPIES_WORDS
  std::uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return __builtin_bswap64(word);
#else
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i) word = (word << 8) | static_cast<std::uint64_t>(at[i]);
  return word;
#endif
}
SPECVERIFY_INLINE void store_eight(std::byte* at, std::uint64_t word) noexcept {
#if SPECVERIFY_COPIES_WORDS
  word = __builtin_bswap64(word);
  std::memcpy(at, &word, sizeof(word));
#else
  for (int i = 0; i < 8; ++i) at[i] = static_cast<std::byte>((word >> (56 - 8 * i)) & 0xffu);
#endif
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
