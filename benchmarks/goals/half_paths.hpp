// SPDX-License-Identifier: Apache-2.0
//! Times readings (digests) of bf16 and fp16 rows from memory, next to readings of float rows of the same length.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_HALF_PATHS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_HALF_PATHS_HPP

#include <specverify/row/reading.hpp>

#include "head_paths.hpp"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace bench_goals {

//! Returns the rows of a set in turn.
template <class Stored>
class stored_rows {
 public:
  static constexpr std::uint32_t vocab_size = 128256, stride = vocab_size + 1056, count = 160;

  explicit stored_rows(const aligned_numbers& values)
      : stored_(static_cast<std::size_t>(stride) * count),
        memory_(specverify::digest_workspace_size(vocab_size, {}, {})) {
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(values.all()[i % values.all().size()]);
      if constexpr (sizeof(Stored) == 4) {
        stored_[i] = std::bit_cast<float>(bits);
      } else if constexpr (std::is_same_v<Stored, specverify::bfloat16_bits>) {
        stored_[i] = {static_cast<std::uint16_t>(bits >> 16)};
      } else {  // cut to fp16; numbers below the normal range become 0
        const std::uint32_t size = bits & 0x7FFFFFFFu, rebased = (size >> 13) - (112u << 10);
        stored_[i] = {static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | (size >= 113u << 23 ? rebased : 0u))};
      }
    }
  }
  std::span<const Stored> next() {
    at_ = (at_ + 1) % count;
    return {stored_.data() + std::size_t{stride} * at_, vocab_size};
  }
  void digest() {
    specverify::workspace scratch{std::span(memory_)};
    const auto read = specverify::read_row(specverify::exec::simd, specverify::logits_row(next()), {}, {}, scratch);
    must(read.ok(), "read_row");
    keep(read->argmax());
  }

 private:
  std::vector<Stored> stored_;
  std::vector<std::byte> memory_;
  std::uint32_t at_ = 0;
};

//! Returns the repeat with the fastest float digest, because other machines use the memory, too.
inline std::vector<double> quietest(const std::vector<std::function<void()>>& calls) {
  constexpr int takes = 16;
  std::vector<double> best = times_in_turn(calls);
  for (int i = 1; i < takes; ++i) {
    std::vector<double> other = times_in_turn(calls);
    if (other[0] < best[0]) best = std::move(other);
  }
  return best;
}

inline void measure_halves(bool& first) {
  const aligned_numbers values(1u << 20, 3);
  stored_rows<float> floats(values);
  stored_rows<specverify::bfloat16_bits> brains(values);
  stored_rows<specverify::float16_bits> halves(values);
  std::vector<std::function<void()>> calls{[&] { floats.digest(); }, [&] { brains.digest(); },
                                           [&] { halves.digest(); }};
  const std::vector<double> times = quietest(calls);
  const char* const names[] = {"digest of float", "digest of bf16", "digest of fp16"};
  for (std::size_t i = 1; i < 3; ++i) {
    std::printf("%s\n  {\"path\": \"%s\", \"rows\": \"float digest\", \"V\": %u, \"offset\": 0, \"us\": %.4f, ",
                first ? "" : ",", names[i], floats.vocab_size, times[i]);
    std::printf("\"floor_us\": %.4f}", times[0]);
    first = false;
  }
}

}  // namespace bench_goals

#endif
