// SPDX-License-Identifier: Apache-2.0
//! Little-endian numbers in bytes, and the codec's status. Used by codec/message.hpp, codec/hidden_code.hpp and
//! codec/draft_side.hpp.
#ifndef SPECVERIFY_CODEC_DETAIL_BYTES_HPP
#define SPECVERIFY_CODEC_DETAIL_BYTES_HPP

#include <specverify/core/status.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint64_t max_message_bytes = 0xffffffffu;

[[nodiscard]] constexpr status codec_error(errc code, std::uint64_t where = 0) noexcept {
  return {code, part::codec, static_cast<std::uint32_t>(where < max_message_bytes ? where : max_message_bytes)};
}

template <class Byte>
[[nodiscard]] constexpr std::uint64_t load(const Byte* at, unsigned bytes) noexcept {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(at[i]) << (8 * i);
  return value;
}
constexpr void store(std::byte* at, std::uint64_t value, unsigned bytes) noexcept {
  for (unsigned i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>((value >> (8 * i)) & 0xffu);
}

[[nodiscard]] constexpr std::uint64_t bits_to_bytes(std::uint64_t bits) noexcept { return (bits + 7) / 8; }

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
