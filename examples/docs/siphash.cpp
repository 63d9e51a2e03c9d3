// SPDX-License-Identifier: Apache-2.0
// A tag that only the holder of the key can compute: here of a session's number.
#include <specverify/core/siphash.hpp>

#include <array>

int main() {
  using namespace specverify;
  constexpr siphash_words key{{0x0706050403020100u, 0x0F0E0D0C0B0A0908u}};  // bytes 00 01 .. 0f
  static_assert(siphash(key, nullptr, 0).word[0] == 0xE6A825BA047F81A3u);   // the first published vector
  std::array<std::byte, 8> message{};
  numeric::store_le(message.data(), 17, 8);
  const siphash_words tag = siphash(key, message.data(), message.size());
  if (!(tag == siphash(key, message.data(), message.size()))) return 1;
  message[7] = std::byte{1};
  return tag == siphash(key, message.data(), message.size()) ? 2 : 0;
}
