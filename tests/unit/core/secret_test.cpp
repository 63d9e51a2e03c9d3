// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/secret.hpp>

#include <support/secret_of.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

using namespace specverify;
using specverify_test::secret_of;

namespace {

constexpr session_secret counting = secret_from_hex("000102030405060708090a0b0c0d0e0f");

//! Words that a test writes down.
struct scripted_generator {
  using result_type = std::uint32_t;
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return 0xFFFFFFFFu; }
  std::vector<std::uint32_t> words;
  std::size_t next = 0;
  result_type operator()() { return words.at(next++); }
};

}  // namespace

TEST_CASE("secret: 16 bytes or 32 hex digits; anything else is missing") {
  std::array<std::byte, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  static_assert(!counting.is_missing());
  CHECK(counting == session_secret(bytes));
  CHECK(counting == secret_from_hex("000102030405060708090A0B0C0D0E0F"));
  CHECK_FALSE(counting == secret_of(1));
  bytes[15] = std::byte{0x0E};
  CHECK_FALSE(counting == session_secret(bytes));
  bytes[15] = std::byte{0x0F}, bytes[0] = std::byte{1};
  CHECK_FALSE(counting == session_secret(bytes));
  CHECK(session_secret{}.is_missing());
  CHECK(session_secret(std::array<std::byte, 16>{}).is_missing());
  CHECK(secret_from_hex("00000000000000000000000000000000").is_missing());
  for (const char* text :
       {"", "0", "000102030405060708090a0b0c0d0e", "000102030405060708090a0b0c0d0e0f00",
        "000102030405060708090a0b0c0d0e0g", "0x0102030405060708090a0b0c0d0e0f", "000102030405060708090a0b0c0d0e f"}) {
    CAPTURE(text);
    CHECK(secret_from_hex(text).is_missing());
  }
}

TEST_CASE("secret: a value that nothing turns into by itself") {
  static_assert(std::is_trivially_copyable_v<session_secret> && sizeof(session_secret) == 16);
  static_assert(!std::is_convertible_v<int, session_secret> && !std::is_constructible_v<session_secret, int>);
  static_assert(!std::is_constructible_v<session_secret, std::uint64_t>);
  static_assert(!std::is_convertible_v<std::array<std::byte, 16>, session_secret>);
  static_assert(std::is_constructible_v<session_secret, std::array<std::byte, 16>>);
}

// SipHash-2-4-128 of the numbers as bytes, little-endian, its first eight bytes; recomputed with OpenSSL 3:
// printf MESSAGE | openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:16 SIPHASH
TEST_CASE("secret: golden keys") {
  constexpr std::uint64_t session_id = 0xFEDCBA9876543210u, salt = 0x0123456789ABCDEFu;
  constexpr session_keys keys = derive_session_keys(counting, session_id, salt);
  static_assert(keys.draft == philox_key{{0x80A277ABu, 0xD57A70DBu}});
  static_assert(keys.verdict == philox_key{{0x999BFD60u, 0x900E1C20u}});
  CHECK(keys.draft == derive_draft_key(counting, session_id));
  CHECK(keys.verdict == derive_verdict_key(counting, session_id, salt));
}

TEST_CASE("secret: secret, session id and salt each change the key of a verdict") {
  const philox_key key = derive_verdict_key(counting, 1, 2);
  CHECK(key == derive_verdict_key(counting, 1, 2));
  CHECK_FALSE(key == derive_verdict_key(counting, 1, 3));
  CHECK_FALSE(key == derive_verdict_key(counting, 2, 2));
  CHECK_FALSE(key == derive_verdict_key(counting, 2, 1));
  CHECK_FALSE(key == derive_verdict_key(secret_of(1), 1, 2));
  CHECK_FALSE(key == derive_draft_key(counting, 1));
  CHECK_FALSE(derive_draft_key(counting, 1) == derive_draft_key(counting, 2));
  CHECK_FALSE(derive_draft_key(counting, 1) == derive_draft_key(secret_of(1), 1));
}

TEST_CASE("secret: salts and secrets are drawn, and never missing") {
  CHECK(salt_from(scripted_generator{{0x01234567u, 0x89ABCDEFu}}) == 0x0123456789ABCDEFu);
  CHECK(salt_from(scripted_generator{{0, 0, 0, 7}}) == 7);
  const session_secret drawn =
      secret_from(scripted_generator{{0, 0, 0, 0, 0x03020100u, 0x07060504u, 0x0B0A0908u, 0x0F0E0D0Cu}});
  CHECK(drawn == counting);
  std::random_device device;
  CHECK(salt_from(device) != salt_from(device));
  CHECK_FALSE(secret_from(device) == secret_from(device));
}
