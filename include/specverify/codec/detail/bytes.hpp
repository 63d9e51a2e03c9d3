// SPDX-License-Identifier: Apache-2.0
//! Provides helpers for encoders: lengths of messages, words of eight bytes (highest byte first), and the codec's error
//! status.
#ifndef SPECVERIFY_CODEC_DETAIL_BYTES_HPP
#define SPECVERIFY_CODEC_DETAIL_BYTES_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint64_t max_message_bytes = 0xffffffffu;

//! Out of line and cold, because the usual path should contain no error code.
[[nodiscard, gnu::cold, gnu::noinline]] constexpr status codec_error(errc code, std::uint64_t where = 0) noexcept {
  return {code, part::codec, static_cast<std::uint32_t>(where < max_message_bytes ? where : max_message_bytes)};
}

[[nodiscard]] constexpr std::uint64_t bits_to_bytes(std::uint64_t bits) noexcept {
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

//! Returns eight bytes as a number; the first byte is the highest.
[[nodiscard]] SPECVERIFY_INLINE std::uint64_t load_eight(const std::byte* at) noexcept {
  return __builtin_bswap64(numeric::load_le(at, 8));
}
SPECVERIFY_INLINE void store_eight(std::byte* at, std::uint64_t word) noexcept {
  numeric::store_le(at, __builtin_bswap64(word), 8);
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
