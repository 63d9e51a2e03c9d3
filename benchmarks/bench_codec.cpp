// SPDX-License-Identifier: Apache-2.0
//! Times one drafted distribution as a whole message with header, checks and checksum: encoding, decoding, and both
//! compared with reading one row of 128 256 floats in the same run. The benchmark fails if encoding and decoding 64
//! positive counts together take more than 2 such reads (`gate`).
#include <specverify/codec/message.hpp>
#include <specverify/core/random.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <vector>

namespace {

using namespace specverify;

constexpr std::uint32_t vocab_size = 128256, resolution = 100;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Returns the minimum seconds to sum a row once, over many repeats. The sum has enough lanes that memory limits the
// speed, and not the additions.
double read_floor() {
  constexpr std::size_t width = 128;
  const std::vector<float> row(vocab_size, 1.0f);
  double best = 1;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    float lanes[width] = {};
    for (std::size_t v = 0; v + width <= row.size(); v += width) {
      for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] += row[v + lane];
    }
    benchmark::DoNotOptimize(lanes);
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// A distribution of `size` random ids whose counts are a random composition, and a token drawn from it.
struct drafted {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
  explicit drafted(std::uint32_t size, std::uint32_t number) {
    const philox source{{{number, 5}}};
    for (std::uint32_t lane = 0; ids.size() < size; ++lane) {
      const auto id = static_cast<token_id>(source({0, 0, lane, purpose::training, 0}).word[0] % vocab_size);
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    std::sort(ids.begin(), ids.end());
    std::vector<std::uint32_t> places(resolution - 1);
    std::iota(places.begin(), places.end(), 1u);
    for (std::uint32_t i = 0; i + 1 < size; ++i)
      std::swap(places[i], places[i + source({1, 0, i, purpose::training, 0}).word[0] % (resolution - 1 - i)]);
    places.resize(size - 1);
    std::sort(places.begin(), places.end());
    places.push_back(resolution);
    for (std::uint32_t i = 0; i < size; ++i) counts.push_back(places[i] - (i == 0 ? 0 : places[i - 1]));
  }
  [[nodiscard]] draft draw_one() const {
    return draw(law{ids.data(), counts.data(), static_cast<std::uint32_t>(ids.size()), 0, resolution, vocab_size},
                uniforms{philox{}, 0, 0}.at(purpose::draft_draw));
  }
};

enum class work { encode, decode, both };

void one_law(benchmark::State& state, work what, bool gate) {
  const auto size = static_cast<std::uint32_t>(state.range(0));
  const wire_format format{law_format::sparse_drop_zero, vocab_size, resolution, 0, 8, 1};
  std::vector<drafted> laws;
  std::vector<draft> drafts;
  for (std::uint32_t i = 0; i < 64; ++i) laws.emplace_back(size, i);
  for (const drafted& from : laws) drafts.push_back(from.draw_one());
  std::vector<std::byte> memory(decode_draft_workspace_size(format));
  received_draft_block block = std::move(received_draft_block::make({8, 8 * 128}).value());
  std::vector<std::array<std::byte, 512>> messages(laws.size());
  std::vector<std::size_t> lengths(laws.size());
  const auto encode = [&](std::size_t i) {
    const auto bytes = encode_draft({}, format, std::span<const draft>(&drafts[i], 1), messages[i]);
    if (!bytes) return state.SkipWithError("encode");
    lengths[i] = bytes->size();
  };
  for (std::size_t i = 0; i < laws.size(); ++i) encode(i);
  const double floor = read_floor();
  double best = 1, bytes = 0;
  std::uint64_t check = 0;
  std::size_t first = 0;
  for (auto _ : state) {
    // Each measurement uses eight of 64 distributions in turn, because the branch predictor must not learn them.
    first = (first + 8) % laws.size();
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = first; i < first + 8; ++i) {
      if (what != work::decode) encode(i);
      if (what == work::encode) continue;
      workspace scratch(memory);
      const auto message = std::span<const std::byte>(messages[i]).first(lengths[i]);
      if (!decode_draft({}, format, message, block, scratch)) state.SkipWithError("decode");
      check += static_cast<std::uint64_t>(block[0].token());
    }
    best = std::min(best, seconds_since(start) / 8);
  }
  benchmark::DoNotOptimize(check);
  for (const std::size_t length : lengths) bytes += static_cast<double>(length) / static_cast<double>(lengths.size());
  state.counters["us"] = best * 1e6;
  state.counters["floor_us"] = floor * 1e6;
  state.counters["x_read_floor"] = best / floor;  // minimum divided by minimum
  state.counters["bytes"] = bytes;
  state.counters["ideal_bytes"] = drop_zero_law_bits(vocab_size, size, resolution) / 8;
  if (gate && best > 2 * floor) state.SkipWithError("encode + decode takes more than 2 reads of a row");
}

BENCHMARK_CAPTURE(one_law, encode, work::encode, false)->Arg(8)->Arg(32)->Arg(64);
BENCHMARK_CAPTURE(one_law, decode, work::decode, false)->Arg(8)->Arg(32)->Arg(64);
BENCHMARK_CAPTURE(one_law, both, work::both, false)->Arg(8)->Arg(32);
BENCHMARK_CAPTURE(one_law, gate, work::both, true)->Arg(64);

}  // namespace
