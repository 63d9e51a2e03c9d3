// SPDX-License-Identifier: Apache-2.0
//! Creates rows at given addresses: peaked rows (a Gaussian and 41 large logits), flat rows (only the Gaussian), rows
//! that are hard to search, recorded rows, and sets that exceed every cache.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_ROWS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_ROWS_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../../tests/support/hard_rows.hpp"
#include "npy.hpp"

namespace bench_goals {

//! Returns the bytes of this CPU's last cache, or 32 MiB if the system does not report it.
inline std::uint64_t last_cache_bytes() {
  std::uint64_t largest = 0;
  for (const char* index : {"2", "3", "4"}) {
    std::ifstream in(std::string("/sys/devices/system/cpu/cpu0/cache/index") + index + "/size");
    std::uint64_t size = 0;
    char unit = ' ';
    if (in >> size >> unit) largest = std::max(largest, size << (unit == 'M' ? 20 : unit == 'K' ? 10 : 0));
  }
  return largest != 0 ? largest : 32ull << 20;
}

class row_set {
 public:
  //! One row, read again and again, or several in turn. The hot row is the second of the rotating rows. The first is
  //! the row of 64 whose dense lattice point at l = 240 depends on the last digits of W;
  //! tests/unit/row/summary_test.cpp counts how often that happens.
  static row_set ordinary(std::uint32_t vocab_size, std::uint32_t count, std::uint32_t offset) {
    row_set made(count == 1 ? "hot" : "rotating", vocab_size, count, offset);
    for (std::uint32_t r = 0; r < count; ++r) made.peak(r, count == 1 ? 1 : r);
    return made;
  }
  //! At least 64 rows and more than twice the last cache in total. Every 16th row has equal values.
  static row_set dram(std::uint32_t vocab_size) {
    const std::uint64_t wanted = std::min<std::uint64_t>(2 * last_cache_bytes() + (8u << 20), 1ull << 30);
    row_set made("DRAM", vocab_size,
                 static_cast<std::uint32_t>(std::max<std::uint64_t>(64, wanted / (4ull * vocab_size) + 1)), 0);
    for (std::uint32_t r = 0; r < made.count_; ++r) {
      if (r < 16)
        made.peak(r, r);
      else
        std::memcpy(made.row(r), made.row(r % 16), std::size_t{4} * vocab_size);
    }
    return made;
  }
  static row_set flat(std::uint32_t vocab_size) {
    row_set made("flat", vocab_size, 1, 0);
    made.fill(0, [](std::uint32_t, float normal) { return 3.0f * normal; });
    return made;
  }
  //! The recorded rows in turn.
  static row_set recorded(const recorded_rows& from) {
    const auto count = static_cast<std::uint32_t>(from.values.size() / from.vocab_size);
    row_set made("recorded " + from.name, from.vocab_size, count, 0);
    for (std::uint32_t r = 0; r < count; ++r)
      std::memcpy(made.row(r), from.values.data() + std::size_t{r} * from.vocab_size, std::size_t{4} * from.vocab_size);
    return made;
  }
  static row_set hard(std::uint32_t vocab_size, std::uint32_t kind) {
    row_set made("hard " + std::to_string(kind), vocab_size, 1, 0);
    made.fill(0, [&](std::uint32_t id, float normal) { return hard_rows::value_of(kind, id, vocab_size, normal); });
    return made;
  }

  std::span<const float> next() {
    at_ = (at_ + 1) % count_;
    return {row(at_), vocab_size_};
  }
  const std::string& name() const { return name_; }
  std::uint32_t vocab_size() const { return vocab_size_; }
  std::uint32_t offset() const { return offset_; }
  std::uint32_t count() const { return count_; }
  const float* first() const { return memory_.get() + offset_ / sizeof(float); }

 private:
  row_set(std::string name, std::uint32_t vocab_size, std::uint32_t count, std::uint32_t offset)
      : name_(std::move(name)), vocab_size_(vocab_size), count_(count), offset_(offset) {
    stride_ = (vocab_size + 16u + 1023u) / 1024u * 1024u + 16u;  // rows begin in different sets of the cache
    memory_.reset(static_cast<float*>(std::aligned_alloc(64, (std::size_t{stride_} * count + 64) * sizeof(float))));
  }
  float* row(std::uint32_t index) { return memory_.get() + std::size_t{stride_} * index + offset_ / sizeof(float); }
  void peak(std::uint32_t index, std::uint32_t seed) {
    fill(
        index, [](std::uint32_t, float normal) { return 3.0f * normal; }, seed);
    for (std::uint32_t i = 0; i < 41; ++i) {  // p = .5 for one, .4 for 40 more
      const float base = 4.5f + std::log(static_cast<float>(vocab_size_));
      row(index)[(i * 2654435761u + index) % vocab_size_] = i == 0 ? base + 2.3f : base - 1.6f;
    }
  }
  void fill(std::uint32_t index, const std::function<float(std::uint32_t, float)>& value, std::uint32_t seed = 0) {
    std::mt19937 bits(seed * 7919u + vocab_size_);
    std::normal_distribution<float> normal;
    for (std::uint32_t id = 0; id < vocab_size_; ++id) row(index)[id] = value(id, normal(bits));
  }

  struct release {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::string name_;
  std::uint32_t vocab_size_, count_, offset_, stride_ = 0, at_ = 0;
  std::unique_ptr<float, release> memory_;
};

}  // namespace bench_goals

#endif
