// SPDX-License-Identifier: Apache-2.0
//! Times encoding and decoding of 8 ids by a table of id weights, after a text of 2 000 ids, for three sizes of
//! vocabulary. `lists` is a table with lists of 16 followers after half of the ids, `weights` one without lists,
//! and `noise` one with lists, with shared noise.
#include <specverify/codec/token_prior.hpp>
#include <specverify/core/random.hpp>

#include <benchmark/benchmark.h>

#include <array>
#include <vector>

namespace {

using namespace specverify;

constexpr std::size_t text_size = 2000, coded = 8;

// Makes a table with equal mixing weights; a list after every other id if there are lists.
prior_table table_of(std::uint32_t vocab_size, bool lists) {
  std::vector<std::byte> file;
  const auto put = [&file](std::uint32_t value, unsigned bytes) {
    for (; bytes > 0; --bytes, value >>= 8) file.push_back(static_cast<std::byte>(value & 255u));
  };
  const std::uint32_t count = lists ? vocab_size / 2 : 0, followers = 16;
  for (const std::uint32_t number : {prior_mark, prior_version, vocab_size, count, 0u}) put(number, 4);
  for (unsigned set = 1; set < prior_source_sets; ++set) {
    for (unsigned source = 0; source < prior_sources; ++source) put((set >> source & 1u) != 0 ? 32 : 0, 1);
  }
  for (std::uint32_t id = 0; id < vocab_size; ++id) put(id % 64, 1);
  for (std::uint32_t id = 0; id < count; ++id) {
    put(2 * id, prior_id_bytes(vocab_size));
    put(followers, 1);
    for (std::uint32_t i = 0; i < followers; ++i) {
      put(id / 2 % 7 + i * (vocab_size / 20), prior_id_bytes(vocab_size));
      put(8 * i, 1);
    }
  }
  return *prior_table::read(file, vocab_size);
}

// Ids of which the common ones come often, as in a text.
std::vector<token_id> text_of(std::uint32_t vocab_size) {
  const philox source{{{7, 7}}};
  std::vector<token_id> text;
  for (std::uint32_t i = 0; text.size() < text_size + coded; ++i) {
    const random_block draw = source({i, 0, 0, purpose::channel});
    text.push_back(static_cast<token_id>((draw.word[0] >> draw.word[1] % 20) % vocab_size));
  }
  return text;
}

void code(benchmark::State& state, bool lists, bool decodes, noise_kind kind = noise_kind::none) {
  const auto vocab_size = static_cast<std::uint32_t>(state.range(0));
  const prior_table table = table_of(vocab_size, lists);
  std::vector<token_id> text = text_of(vocab_size);
  std::array<std::byte, 64> bytes{};
  const id_noise noise{{kind, 7}, text_size};
  range_encoder first(bytes);
  if (!encode_ids(first, table, text, text_size, noise).ok()) state.SkipWithError("the ids are not coded");
  const std::size_t size = first.finish();
  for (auto _ : state) {
    if (decodes) {
      range_decoder decoder(std::span<const std::byte>(bytes).first(size));
      benchmark::DoNotOptimize(decode_ids(decoder, table, text, text_size, noise));
      if (!decoder.finish().ok()) state.SkipWithError("the code is not read");
    } else {
      range_encoder encoder(bytes);
      benchmark::DoNotOptimize(encode_ids(encoder, table, text, text_size, noise));
      benchmark::DoNotOptimize(encoder.finish());
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(coded));
}

BENCHMARK_CAPTURE(code, encode_weights, false, false)->Arg(4096)->Arg(49152)->Arg(128256);
BENCHMARK_CAPTURE(code, decode_weights, false, true)->Arg(4096)->Arg(49152)->Arg(128256);
BENCHMARK_CAPTURE(code, encode_lists, true, false)->Arg(4096)->Arg(49152)->Arg(128256);
BENCHMARK_CAPTURE(code, decode_lists, true, true)->Arg(4096)->Arg(49152)->Arg(128256);
BENCHMARK_CAPTURE(code, encode_noise, true, false, noise_kind::philox)->Arg(4096)->Arg(49152)->Arg(128256);
BENCHMARK_CAPTURE(code, decode_noise, true, true, noise_kind::philox)->Arg(4096)->Arg(49152)->Arg(128256);

}  // namespace
