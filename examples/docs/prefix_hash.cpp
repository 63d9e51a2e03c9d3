// SPDX-License-Identifier: Apache-2.0
// Both sides keep the hash of their text as it grows.
#include <specverify/codec/prefix_hash.hpp>

#include <array>
#include <span>

int main() {
  using namespace specverify;
  const std::array<token_id, 4> text{5, 17, 3, 99};
  std::uint64_t grown = prefix_hash(std::span(text).first(2));
  grown = extend_prefix_hash(grown, 3);
  grown = extend_prefix_hash(grown, 99);
  if (grown != prefix_hash(text)) return 1;
  return extend_prefix_hash(grown, 1) == extend_prefix_hash(grown, 2) ? 2 : 0;
}
