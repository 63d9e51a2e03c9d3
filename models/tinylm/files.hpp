// SPDX-License-Identifier: Apache-2.0
//! Reads a whole file and computes its SHA-256 (FIPS 180-4).
#ifndef SPECVERIFY_MODELS_TINYLM_FILES_HPP
#define SPECVERIFY_MODELS_TINYLM_FILES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace tinylm {

using byte_string = std::vector<std::uint8_t>;
using sha256_hash = std::array<std::uint8_t, 32>;

//! Returns the bytes of a file, which must have at most `limit` bytes.
[[nodiscard]] outcome<byte_string> read_file(const std::string& path, std::size_t limit = std::size_t{64} << 20);

[[nodiscard]] sha256_hash sha256(std::span<const std::uint8_t> bytes);

[[nodiscard]] std::string hexadecimal(std::span<const std::uint8_t> bytes);

}  // namespace tinylm

#endif  // SPECVERIFY_MODELS_TINYLM_FILES_HPP
