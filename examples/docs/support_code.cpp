// SPDX-License-Identifier: Apache-2.0
// Which 4 of 128 256 tokens: 63.2 bits whichever they are, in 8 bytes.
#include <specverify/codec/support_code.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<std::uint32_t, 4> ids{3, 7001, 7002, 128255};
  std::array<std::byte, 32> out{};
  range_encoder write(out);
  subset_encoder put(write, 128256, 4);
  for (const std::uint32_t id : ids) put.put(id);
  const std::size_t length = write.finish();
  if (length > 8) return 1;
  range_decoder read(std::span<const std::byte>(out).first(length));
  subset_decoder get(read, 128256, 4);
  for (const std::uint32_t id : ids) {
    if (get.next() != id) return 2;
  }
  const auto used = read.finish();
  return used && *used == length ? 0 : 3;
}
