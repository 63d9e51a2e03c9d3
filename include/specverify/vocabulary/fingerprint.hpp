// SPDX-License-Identifier: Apache-2.0
//! Computes a 128-bit fingerprint of a vocabulary. Vocabularies with the same fingerprint have the same tokens with the
//! same ids, unless the hash collides.
//!
//! Paper:      none; 128-bit FNV-1a (Fowler, Noll, Vo; RFC 9923) over the id, class, length and bytes of every token,
//!             in ascending order of ids, and over V.
//! Symbols:    V = number of tokens added.
//! Guarantees: O(bytes), constexpr, no allocation, noexcept. Bit-exact: the same value on every machine.
//! Deviates:   FNV is not a cryptographic hash. It detects mistakes, but not forgeries.
//! See:        docs/algorithms/fingerprint.md, tests/unit/vocabulary/fingerprint_test.cpp
#ifndef SPECVERIFY_VOCABULARY_FINGERPRINT_HPP
#define SPECVERIFY_VOCABULARY_FINGERPRINT_HPP

#include <specverify/core/detail/fnv128.hpp>
#include <specverify/core/random.hpp>
#include <specverify/core/views.hpp>
#include <specverify/cpp20.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

SPECVERIFY_TYPES_BEGIN

struct vocabulary_fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend SPECVERIFY_INLINE constexpr bool operator==(vocabulary_fingerprint a, vocabulary_fingerprint b) noexcept {
    return a.high == b.high && a.low == b.low;
  }
};

//! Class of a token, which is part of the fingerprint.
enum class token_class : std::uint8_t { text = 0, special = 1, byte = 2 };

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Computes a fingerprint: call `add` for each token in ascending order of ids, then `finish`. Padding ids are part of
//! the fingerprint only if you add them.
class fingerprint_builder {
 public:
  //! Adds a token. On an error nothing is added.
  //! Errors: token_out_of_range (negative), ids_not_ascending; `where` = number of tokens added before.
  [[nodiscard]] constexpr status add(token_id id, std::span<const std::byte> bytes,
                                     token_class kind = token_class::text) noexcept {
    return add_bytes(id, bytes.size(), kind,
                     [bytes](std::size_t i) noexcept { return static_cast<std::uint8_t>(bytes[i]); });
  }
  [[nodiscard]] constexpr status add(token_id id, std::string_view text,
                                     token_class kind = token_class::text) noexcept {
    return add_bytes(id, text.size(), kind,
                     [text](std::size_t i) noexcept { return static_cast<std::uint8_t>(text[i]); });
  }

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return count_; }

  //! Returns the fingerprint of the tokens added so far. The fingerprint also depends on the number of tokens, so the
  //! fingerprint of a prefix of the vocabulary differs.
  [[nodiscard]] constexpr vocabulary_fingerprint finish() const noexcept {
    detail::fnv128 whole = hash_;
    whole.fold_number(count_);
    return {whole.high(), whole.low()};
  }

 private:
  template <class Byte>
  constexpr status add_bytes(token_id id, std::size_t length, token_class kind, Byte byte) noexcept {
    if (id < 0) return {errc::token_out_of_range, part::vocabulary, count_};
    if (id <= last_) return {errc::ids_not_ascending, part::vocabulary, count_};
    last_ = id;
    ++count_;
    hash_.fold_number(static_cast<std::uint32_t>(id));
    hash_.fold(static_cast<std::uint8_t>(kind));
    hash_.fold_number(static_cast<std::uint32_t>(length));
    for (std::size_t i = 0; i < length; ++i) hash_.fold(byte(i));
    return {};
  }
  detail::fnv128 hash_{};
  token_id last_ = -1;
  std::uint32_t count_ = 0;
};

SPECVERIFY_NAMESPACE_END

#endif
