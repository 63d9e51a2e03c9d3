// SPDX-License-Identifier: Apache-2.0
//! Defines the first three frames of a connection without a client certificate. Each side proves that it has the
//! device's key, but the key itself is never sent.
//!
//!     device -> server   opening     "svk1", device id (8 bytes), device's nonce (24 bytes)
//!     server -> device   challenge   "svk1", server's nonce (24 bytes), server's proof (32 bytes)
//!     device -> server   answer      device's proof (32 bytes)
//!
//! A proof is HMAC-SHA-256 under the device's key of: the role as text ("specverify serve: server", or "... device"),
//! the device id (least significant byte first), the device's nonce, the server's nonce. Both nonces are new for each
//! connection, so no proof can be used twice, and a proof of one role is of no use in the other.
#ifndef EDGE_CLOUD_SERVE_KEY_CHALLENGE_HPP
#define EDGE_CLOUD_SERVE_KEY_CHALLENGE_HPP

#include "../frame.hpp"

#include <specverify/core/numeric.hpp>
#include <specverify/core/secret.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

namespace edge_cloud {

using device_key = specverify::wiped<std::array<std::byte, 32>>;
using key_nonce = std::array<std::byte, 24>;
inline constexpr std::size_t proof_bytes = 32;
using key_proof = specverify::wiped<std::array<std::byte, proof_bytes>>;

//! Maximum size of a frame before the device is known. It equals the size of an older program's first frame, {device
//! id, key}, so the server can read this frame and tell the program to upgrade.
inline constexpr std::size_t first_frame_bytes = 40;

//! The device's first frame.
struct key_opening {
  std::uint64_t device = 0;
  key_nonce nonce{};
};

enum class key_role { server, device };

//! Returns random bytes from the operating system. Throws std::runtime_error if the system cannot provide them.
template <class Bytes>
[[nodiscard]] Bytes random_bytes() {
  Bytes made{};
  if (RAND_bytes(reinterpret_cast<unsigned char*>(made.data()), static_cast<int>(made.size())) != 1)
    throw std::runtime_error("the operating system returned no random bytes");
  return made;
}

namespace challenge_parts {

inline constexpr std::array<std::byte, 4> version{std::byte{'s'}, std::byte{'v'}, std::byte{'k'}, std::byte{'1'}};

inline void append(frame& made, std::span<const std::byte> bytes) {
  made.insert(made.end(), bytes.begin(), bytes.end());
}

inline void append_id(frame& made, std::uint64_t device) {
  std::array<std::byte, 8> bytes{};
  specverify::numeric::store_le(bytes.data(), device, bytes.size());
  append(made, bytes);
}

//! Returns the bytes after the version, or nothing if version or length differs.
template <std::size_t Bytes>
[[nodiscard]] std::optional<std::span<const std::byte, Bytes>> body(std::span<const std::byte> message) {
  if (message.size() != version.size() + Bytes) return std::nullopt;
  if (!std::equal(version.begin(), version.end(), message.begin())) return std::nullopt;
  return message.subspan(version.size()).template first<Bytes>();
}

[[nodiscard]] inline key_nonce nonce_at(std::span<const std::byte> bytes) {
  key_nonce made{};
  std::copy_n(bytes.begin(), made.size(), made.begin());
  return made;
}

}  // namespace challenge_parts

[[nodiscard]] inline key_proof proof_of(key_role role, const device_key& key, const key_opening& opening,
                                        const key_nonce& server) {
  using namespace std::string_view_literals;
  frame message;
  const auto label = role == key_role::server ? "specverify serve: server"sv : "specverify serve: device"sv;
  challenge_parts::append(message, std::as_bytes(std::span(label)));
  challenge_parts::append_id(message, opening.device);
  challenge_parts::append(message, opening.nonce);
  challenge_parts::append(message, server);
  key_proof made{};
  unsigned size = 0;
  const unsigned char* const done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                         reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                         reinterpret_cast<unsigned char*>(made.data()), &size);
  if (done == nullptr || size != made.size()) throw std::runtime_error("OpenSSL has no HMAC-SHA-256");
  return made;
}

//! Compares two byte strings in a time that does not depend on the position of a difference.
[[nodiscard]] inline bool is_proof(std::span<const std::byte> message, const key_proof& awaited) {
  return message.size() == awaited.size() && CRYPTO_memcmp(message.data(), awaited.data(), awaited.size()) == 0;
}

[[nodiscard]] inline frame opening_frame(const key_opening& opening) {
  frame made(challenge_parts::version.begin(), challenge_parts::version.end());
  challenge_parts::append_id(made, opening.device);
  challenge_parts::append(made, opening.nonce);
  return made;
}

//! Returns the opening in a frame, or nothing if the frame is not an opening, for example because an older program sent
//! it.
[[nodiscard]] inline std::optional<key_opening> read_opening(std::span<const std::byte> message) {
  const auto body = challenge_parts::body<8 + key_nonce{}.size()>(message);
  if (!body) return std::nullopt;
  return key_opening{specverify::numeric::load_le(body->data(), 8), challenge_parts::nonce_at(body->subspan(8))};
}

//! The server's frame, and the answer that it expects.
struct key_challenge {
  frame message;
  key_proof awaited;
};

[[nodiscard]] inline key_challenge challenge_for(const key_opening& opening, const device_key& key,
                                                 const key_nonce& nonce) {
  key_challenge made{{challenge_parts::version.begin(), challenge_parts::version.end()},
                     proof_of(key_role::device, key, opening, nonce)};
  challenge_parts::append(made.message, nonce);
  challenge_parts::append(made.message, proof_of(key_role::server, key, opening, nonce));
  return made;
}

//! Returns the device's answer to a challenge. If the sender has not proven that it has the key, there is no answer.
[[nodiscard]] inline std::optional<key_proof> answer_to(std::span<const std::byte> challenge,
                                                        const key_opening& opening, const device_key& key) {
  const auto body = challenge_parts::body<key_nonce{}.size() + proof_bytes>(challenge);
  if (!body) return std::nullopt;
  const key_nonce nonce = challenge_parts::nonce_at(*body);
  if (!is_proof(body->subspan(nonce.size()), proof_of(key_role::server, key, opening, nonce))) return std::nullopt;
  return proof_of(key_role::device, key, opening, nonce);
}

}  // namespace edge_cloud

#endif
