// SPDX-License-Identifier: Apache-2.0
// Secrets of tests by number.
#ifndef SPECVERIFY_TESTS_SUPPORT_SECRET_OF_HPP
#define SPECVERIFY_TESTS_SUPPORT_SECRET_OF_HPP

#include <specverify/core/secret.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace specverify_test {

//! Returns the secret whose first eight bytes are `number`, little-endian; 0 gives a missing secret.
constexpr specverify::session_secret secret_of(std::uint64_t number) {
  std::array<std::byte, 16> made{};
  specverify::numeric::store_le(made.data(), number, 8);
  return specverify::session_secret(made);
}

}  // namespace specverify_test

#endif
