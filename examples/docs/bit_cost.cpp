// SPDX-License-Identifier: Apache-2.0
// What one drafted token costs on the uplink under four codes, and the resolution that a budget buys.
#include <specverify/codec/bit_cost.hpp>

int main() {
  using namespace specverify;
  const std::uint32_t vocab_size = 128256, resolution = 100;
  const auto dense = static_cast<double>(dense_law_bits(vocab_size, resolution));
  const double top_k = top_k_law_bits(vocab_size, 64, resolution);
  const double dropped = drop_zero_law_bits(vocab_size, 8, resolution);  // 8 of the 64 counts are positive
  if (!(dropped < top_k && top_k < dense && dense < static_cast<double>(full_law_bits(vocab_size, 16)))) return 1;
  if (token_bits(vocab_size) != 17 || downlink_bits(8, vocab_size) != 4 + 17) return 2;
  return dense_law_bits(vocab_size, resolution_for_bits(1000, vocab_size)) <= 1000 ? 0 : 3;
}
