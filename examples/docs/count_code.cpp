// SPDX-License-Identifier: Apache-2.0
// How 100 units are spread over 5 tokens: log2 C(99, 4) = 21.8 bits when each has one at least.
#include <specverify/codec/count_code.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<std::uint32_t, 5> counts{60, 25, 10, 4, 1};
  std::array<std::byte, 32> out{};
  range_encoder write(out);
  composition_encoder put(write, 100, 5, false);
  for (const std::uint32_t count : counts) put.put(count);
  const std::size_t length = write.finish();
  if (length > 3) return 1;
  range_decoder read(std::span<const std::byte>(out).first(length));
  composition_decoder get(read, 100, 5, false);
  for (const std::uint32_t count : counts) {
    if (get.next() != count) return 2;
  }
  return read.finish() ? 0 : 3;
}
