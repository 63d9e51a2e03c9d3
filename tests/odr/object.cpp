// SPDX-License-Identifier: Apache-2.0
//! One round of the library, from logits to a verdict, compiled once for each instruction set under another name
//! (OBJECT_NAME).
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/top_p.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/token.hpp>

namespace {

constexpr std::uint32_t vocab_size = 3000;

struct rows_in_memory {
  const float* values;
  specverify::row_transform with{};
  specverify::row_view<float> operator()(std::uint32_t) const noexcept {
    return {specverify::row_kind::logits, values, vocab_size};
  }
  const specverify::row_transform& transform(std::uint32_t) const noexcept { return with; }
};

template <class Policy, class Sparsifier, class Quantizer>
unsigned long long one_round(Policy policy, Sparsifier sparsifier, Quantizer quantizer, std::uint32_t position) {
  alignas(64) static std::byte bytes[1 << 18];
  static float values[vocab_size];
  const specverify::philox source{{{7, 9}}};
  for (std::uint32_t v = 0; v < vocab_size; ++v) {
    const specverify::random_block block = source({v, position, 0, specverify::purpose::channel, 0});
    values[v] = static_cast<float>(static_cast<int>(block.word[0] % 4096)) / 256.0f - 8.0f;
  }
  specverify::workspace space{std::span<std::byte>(bytes)};
  const rows_in_memory rows{values, {}};
  std::uint32_t counts[256];
  const auto row = specverify::read_row(policy, rows(0), rows.with,
                                        sparsifier.request(sparsifier.initial_state(), vocab_size), space);
  if (!row) return 1;
  const auto kept = sparsifier.select(*row, sparsifier.initial_state(), space);
  if (!kept || kept->size() > 256) return 2;
  if (!quantizer.quantize(*kept, 100, counts, space).ok()) return 3;
  const specverify::law drafted{kept->ids.data(), counts, kept->size(), 0, 100, vocab_size};
  if (!specverify::check(drafted).ok()) return 4;
  const specverify::draft token =
      specverify::draw(drafted, specverify::uniforms{source, position, 0}.at(specverify::purpose::draft_draw));
  const std::span<const specverify::draft> drafts(&token, 1);
  const specverify::uniforms random{source, position, 0};
  const auto sampled = specverify::token_rule{}.verify(policy, drafts, rows, random, {}, space);
  const auto greedy = specverify::greedy_rule{}.verify(policy, drafts, rows, random, {}, space);
  if (!sampled || !greedy) return 5;
  return static_cast<unsigned long long>(token.token()) * 31 +
         static_cast<unsigned long long>(sampled->next_token) * 37 + sampled->accepted * 41 + greedy->accepted * 43;
}

}  // namespace

unsigned long long OBJECT_NAME() {
  unsigned long long sum = 0;
  for (std::uint32_t position = 0; position < 20; ++position) {
    sum = sum * 3 + one_round(specverify::exec::seq, specverify::top_k{16}, specverify::sparse_lattice{}, position);
    sum = sum * 3 + one_round(specverify::exec::simd, specverify::top_k{16, true}, specverify::lattice{}, position);
    sum = sum * 3 + one_round(specverify::exec::simd, specverify::threshold{0.002, specverify::max_vocab_size},
                              specverify::sparse_lattice{}, position);
  }
  return sum;
}
