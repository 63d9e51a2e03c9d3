// SPDX-License-Identifier: Apache-2.0
// A number from a file, checked and taken apart in the same way on every machine.
#include <specverify/core/numeric.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

int main() {
  namespace numeric = specverify::numeric;
  std::array<std::byte, 4> bytes{};
  numeric::store_le(bytes.data(), 0x7FC00000u, 4);  // the bits of a NaN
  const auto bits = static_cast<std::uint32_t>(numeric::load_le(bytes.data(), 4));
  if (numeric::is_finite(numeric::bits_as<float>(bits))) return 1;
  return numeric::float_bits_to_half(numeric::bits_as<std::uint32_t>(0.5f)) == 0x3800 ? 0 : 2;
}
