// SPDX-License-Identifier: Apache-2.0
// Three symbols with odds of their own become one byte string and come back.
#include <specverify/codec/range_coder.hpp>

#include <array>

int main() {
  using namespace specverify;
  std::array<std::byte, 16> out{};
  range_encoder write(out);
  write.uniform(41, 100);    // one of a hundred
  write.bit(true, 99, 100);  // a yes that was to be expected: 0.01 bits
  write.uniform(7, 8);
  const std::size_t length = write.finish();
  if (length != 2 || !write.fits()) return 1;  // 9.7 bits
  range_decoder read(std::span<const std::byte>(out).first(length));
  if (read.uniform(100) != 41 || !read.bit(99, 100) || read.uniform(8) != 7) return 2;
  const auto used = read.finish();
  return used && *used == length ? 0 : 3;  // exactly what an encoder writes
}
