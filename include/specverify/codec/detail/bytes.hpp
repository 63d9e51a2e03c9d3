// SPDX-License-Identifier: Apache-2.0
//! Lengths of messages and the codec's status.
#ifndef SPECVERIFY_CODEC_DETAIL_BYTES_HPP
#define SPECVERIFY_CODEC_DETAIL_BYTES_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/core/status.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

inline constexpr std::uint64_t max_message_bytes = 0xffffffffu;

[[nodiscard]] constexpr status codec_error(errc code, std::uint64_t where = 0) noexcept {
  return {code, part::codec, static_cast<std::uint32_t>(where < max_message_bytes ? where : max_message_bytes)};
}

[[nodiscard]] constexpr std::uint64_t bits_to_bytes(std::uint64_t bits) noexcept { return (bits + 7) / 8; }

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
