// SPDX-License-Identifier: Apache-2.0
// What one law of 16 ids costs in three formats, and which formats carry no law at all.
#include <specverify/codec/bit_cost.hpp>
#include <specverify/distribution/law_format.hpp>

#include <cstdio>

using namespace specverify;

int main() {
  const std::uint32_t vocab_size = 32000, resolution = 100;
  const double sparse = drop_zero_law_bits(vocab_size, 16, resolution);
  const auto dense = static_cast<double>(dense_law_bits(vocab_size, resolution));
  const auto halves = static_cast<double>(full_law_bits(vocab_size, 16));
  std::printf("sparse_drop_zero %.0f, dense_lattice %.0f, fp16_row %.0f bits\n", sparse, dense, halves);
  if (carries_laws(law_format::token_only) || !carries_laws(law_format::top_k_tail)) return 1;
  return sparse < dense && dense < halves ? 0 : 2;
}
