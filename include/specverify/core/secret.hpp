// SPDX-License-Identifier: Apache-2.0
//! Defines the secrets and salts of sessions, and derives keys from them.
//!
//! Use this header to make `edge_options::secret`, `cloud_options::secret` and `cloud_options::salt`, and to derive the
//! same keys without a session object. `wipe` and `wiped` overwrite secrets after use.
//! Symbols:    draft key = first 64 bits of SipHash-2-4-128(device secret; purpose, session id). verdict key = first 64
//!             bits of SipHash-2-4-128(cloud secret; purpose, session id, salt). Each number is hashed as 8 bytes,
//!             little-endian.
//! Guarantees: trivially copyable, noexcept, no allocation, C++17 clean, the same keys on every machine. O(1).
//! See:        docs/algorithms/secret.md, docs/decisions/0014-secrets-salt-and-keys.md, tests/unit/core/secret_test.cpp
#ifndef SPECVERIFY_CORE_SECRET_HPP
#define SPECVERIFY_CORE_SECRET_HPP

#include <specverify/core/random.hpp>
#include <specverify/core/siphash.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_TYPES_BEGIN

//! The 128-bit secret of one side. A default-constructed or all-zero secret counts as missing, and every session
//! rejects it. A secret cannot be made from a number and cannot be printed.
class session_secret {
 public:
  SPECVERIFY_INLINE constexpr session_secret() noexcept = default;
  SPECVERIFY_INLINE explicit constexpr session_secret(const std::array<std::byte, 16>& bytes) noexcept
      : key_{{numeric::load_le(bytes.data(), 8), numeric::load_le(bytes.data() + 8, 8)}} {}

  [[nodiscard]] SPECVERIFY_INLINE constexpr bool is_missing() const noexcept { return key_ == siphash_words{}; }
  //! Returns the key for the functions below. It must be kept as confidential as the secret.
  [[nodiscard]] SPECVERIFY_INLINE constexpr const siphash_words& key() const noexcept { return key_; }

  friend SPECVERIFY_INLINE constexpr bool operator==(const session_secret& a, const session_secret& b) noexcept {
    return a.key_ == b.key_;
  }

 private:
  siphash_words key_{};
};

//! Both keys of a session, for a process that runs both sides. A device must hold only `draft` and the cloud only
//! `verdict`; otherwise the device could predict verdicts.
struct session_keys {
  philox_key draft{};    //!< purposes 0, 4, 5, 10
  philox_key verdict{};  //!< purposes 1, 2, 3
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Overwrites memory with zeros. A compiler may drop ordinary writes to memory that is not read again, but not these.
//! Copies in registers, on the stack or in swap space remain. O(bytes).
inline void wipe(void* memory, std::size_t bytes) noexcept {
  for (auto* at = static_cast<volatile unsigned char*>(memory); bytes > 0; --bytes) *at++ = 0;
}

//! A value that is wiped at the end of its lifetime. Use it for secrets and for structs that contain one. Each copy is
//! wiped separately; a move copies.
template <class T>
class wiped : public T {
 public:
  static_assert(std::is_trivially_destructible_v<T>, "the members of T must own no memory: it would not be wiped");
  wiped() = default;
  wiped(const T& value) : T(value) {}  // NOLINT: converts implicitly from a T
  wiped(const wiped&) = default;
  wiped& operator=(const wiped&) = default;
  ~wiped() { wipe(static_cast<T*>(this), sizeof(T)); }
};

namespace detail {

//! Returns 0..15, or 16 if `digit` is not a hex digit.
[[nodiscard]] constexpr unsigned hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a') + 10;
  if (digit >= 'A' && digit <= 'F') return static_cast<unsigned>(digit - 'A') + 10;
  return 16;
}

template <class Generator>
inline constexpr bool gives_32_bits = std::decay_t<Generator>::min() == 0 && std::decay_t<Generator>::max() ==
                                                                                 0xFFFFFFFFu;

template <std::size_t N>
[[nodiscard]] constexpr philox_key derived_key(const session_secret& secret,
                                               const std::array<std::uint64_t, N>& numbers) noexcept {
  std::array<std::byte, 8 * N> message{};
  for (std::size_t i = 0; i < N; ++i) numeric::store_le(message.data() + 8 * i, numbers[i], 8);
  const std::uint64_t bits = siphash(secret.key(), message.data(), message.size()).word[0];
  return {{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)}};
}

}  // namespace detail

//! Returns the secret whose bytes are the 32 hex digits of `text`, first byte first. For any other text it returns a
//! missing secret, and a session then reports secret_missing.
[[nodiscard]] constexpr session_secret secret_from_hex(std::string_view text) noexcept {
  std::array<std::byte, 16> bytes{};
  if (text.size() != 2 * bytes.size()) return {};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned high = detail::hex_value(text[2 * i]), low = detail::hex_value(text[2 * i + 1]);
    if (high > 15 || low > 15) return {};
    bytes[i] = static_cast<std::byte>(16 * high + low);
  }
  return session_secret(bytes);
}

//! Returns a new secret from a 32-bit generator, such as std::random_device{}. Use it for a side that never restarts; a
//! side that can restart must store the secret before it uses it.
template <class Generator>
[[nodiscard]] session_secret secret_from(Generator&& generator) {
  static_assert(detail::gives_32_bits<Generator>, "a generator of 32 bits, such as std::random_device");
  session_secret secret;
  while (secret.is_missing()) {
    std::array<std::byte, 16> bytes{};
    for (std::size_t i = 0; i < bytes.size(); i += 4) numeric::store_le(bytes.data() + i, generator(), 4);
    secret = session_secret(bytes);
  }
  return secret;
}

//! Returns a new salt, never 0, from a 32-bit generator, such as std::random_device{}. Each `cloud_session` must have a
//! new salt.
template <class Generator>
[[nodiscard]] std::uint64_t salt_from(Generator&& generator) {
  static_assert(detail::gives_32_bits<Generator>, "a generator of 32 bits, such as std::random_device");
  std::uint64_t salt = 0;
  while (salt == 0) {
    const std::uint64_t high = generator();
    salt = (high << 32) | static_cast<std::uint64_t>(generator());
  }
  return salt;
}

//! Returns the key of a device's draws. It is the same after a restart.
[[nodiscard]] constexpr philox_key derive_draft_key(const session_secret& secret, std::uint64_t session_id) noexcept {
  return detail::derived_key<2>(secret, {static_cast<std::uint64_t>(purpose::draft_draw), session_id});
}

//! Returns the key of a cloud's verdicts. It depends on the salt, so the tokens of one session reveal nothing about
//! another session with the same id.
[[nodiscard]] constexpr philox_key derive_verdict_key(const session_secret& secret, std::uint64_t session_id,
                                                      std::uint64_t salt) noexcept {
  return detail::derived_key<3>(secret, {static_cast<std::uint64_t>(purpose::acceptance), session_id, salt});
}

//! Returns the key of a session's shared noise. The cloud sends it to the device.
[[nodiscard]] constexpr std::uint64_t derive_noise_key(const session_secret& secret, std::uint64_t session_id,
                                                       std::uint64_t salt) noexcept {
  const philox_key key =
      detail::derived_key<3>(secret, {static_cast<std::uint64_t>(purpose::coupling_noise), session_id, salt});
  return std::uint64_t{key.word[1]} << 32 | key.word[0];
}

//! Returns the nonce of a device's hello, never 0. `count` numbers the nonces of one process; `salt` or the time `now`
//! distinguishes the process from others.
[[nodiscard]] constexpr std::uint32_t derive_nonce(const session_secret& secret, std::uint64_t session_id,
                                                   std::uint64_t salt, std::uint64_t now,
                                                   std::uint64_t count) noexcept {
  const std::uint32_t nonce =
      detail::derived_key<5>(secret, {static_cast<std::uint64_t>(purpose::draft_draw), session_id, salt, now, count})
          .word[0];
  return nonce != 0 ? nonce : 1;
}

//! Returns both keys, from one secret. Only for a process that runs both sides, never for a service.
[[nodiscard]] constexpr session_keys derive_session_keys(const session_secret& secret, std::uint64_t session_id,
                                                         std::uint64_t salt) noexcept {
  return {derive_draft_key(secret, session_id), derive_verdict_key(secret, session_id, salt)};
}

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
