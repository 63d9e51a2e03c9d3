// SPDX-License-Identifier: Apache-2.0
// The engine's epilogue leaves the maximum and the sum of every 128 logits; a draw then reads one block or two.
#include <specverify/row/blocks.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

int main() {
  using namespace specverify;
  constexpr std::uint32_t vocab_size = 1000, block_size = 128;
  std::vector<float> logits(vocab_size), maxima, sums;
  for (std::uint32_t v = 0; v < vocab_size; ++v) logits[v] = static_cast<float>(v % 97) * 0.1f;
  for (std::uint32_t first = 0; first < vocab_size; first += block_size) {  // what your kernel does
    const auto begin = logits.begin() + first, end = logits.begin() + std::min(first + block_size, vocab_size);
    maxima.push_back(*std::max_element(begin, end));
    float sum = 0;
    for (auto z = begin; z != end; ++z) sum += std::exp(*z - maxima.back());
    sums.push_back(sum);
  }
  const row_blocks blocks{block_size, maxima, sums, 1e-5};  // the error that you vouch for
  const row_view<float> row = logits_row(logits.data(), vocab_size);
  if (!check_blocks(exec::simd, row, {}, blocks).ok()) return 1;  // once, when the engine is connected

  std::vector<std::byte> memory(row_blocks_workspace_size(vocab_size, block_size, {}, {}));
  workspace scratch{std::span(memory)};
  const auto read = read_row_from_blocks(exec::simd, row, {}, {}, blocks, scratch);
  if (!read) return 2;
  const auto token = read->sample(uniforms{philox{{1, 2}}, 0, 0}.at(purpose::draft_draw));
  return token && token->trials <= 8 && read->argmax() == 96 ? 0 : 3;
}
