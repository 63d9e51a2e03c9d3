// SPDX-License-Identifier: Apache-2.0
//! Computes the checksum CRC-32C of hello messages, refuse messages and datagrams.
#ifndef SPECVERIFY_CODEC_DETAIL_CRC32C_HPP
#define SPECVERIFY_CODEC_DETAIL_CRC32C_HPP

#include <specverify/core/numeric.hpp>
#include <specverify/cpp20.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Tables for CRC-32C (Castagnoli, reflected polynomial 0x82f63b78) that process eight bytes at a time.
struct crc_tables {
  std::uint32_t of[8][256] = {};
  constexpr crc_tables() noexcept {
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1u) != 0 ? 0x82f63b78u : 0u);
      of[0][i] = value;
    }
    for (int row = 1; row < 8; ++row) {
      for (std::uint32_t i = 0; i < 256; ++i) of[row][i] = (of[row - 1][i] >> 8) ^ of[0][of[row - 1][i] & 255u];
    }
  }
};
inline constexpr crc_tables crc{};

[[nodiscard]] inline std::uint32_t crc_by_tables(std::uint32_t state, std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint64_t word = numeric::load_le(at, 8) ^ state;
    state = crc.of[7][word & 255u] ^ crc.of[6][(word >> 8) & 255u] ^ crc.of[5][(word >> 16) & 255u] ^
            crc.of[4][(word >> 24) & 255u] ^ crc.of[3][(word >> 32) & 255u] ^ crc.of[2][(word >> 40) & 255u] ^
            crc.of[1][(word >> 48) & 255u] ^ crc.of[0][word >> 56];
  }
  for (; left > 0; --left, ++at) state = (state >> 8) ^ crc.of[0][(state ^ std::to_integer<std::uint32_t>(*at)) & 255u];
  return state;
}

//! Continues a checksum. The state must start as ~0, and the final state must be inverted. Uses the CPU's instruction
//! if the build may use SSE4.2.
[[nodiscard]] inline std::uint32_t crc_update(std::uint32_t state, std::span<const std::byte> bytes) noexcept {
#if defined(__SSE4_2__) && defined(__CRC32__) && defined(__x86_64__)  // tables of 8 KB are rarely in a cache
  std::uint64_t wide = state;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) wide = __builtin_ia32_crc32di(wide, numeric::load_le(at, 8));
  state = static_cast<std::uint32_t>(wide);
  for (; left > 0; --left, ++at) state = __builtin_ia32_crc32qi(state, std::to_integer<std::uint8_t>(*at));
  return state;
#else
  return crc_by_tables(state, bytes);
#endif
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
