// SPDX-License-Identifier: Apache-2.0
//! Rows at stated addresses: ordinary ones (a Gaussian and 41 large logits), and those on which a search is hard.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_ROWS_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_ROWS_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../../tests/support/hard_rows.hpp"

namespace bench_goals {

class row_set {
 public:
  //! The hot row is the second of the rotating ones. The first is the one of 64 whose dense lattice point at l = 240
  //! hangs on the last digits of W; how often that happens, tests/unit/row/summary_test.cpp counts.
  static row_set ordinary(std::uint32_t vocab_size, std::uint32_t count, std::uint32_t offset) {
    row_set made(count == 1 ? "hot" : "rotating", vocab_size, count, offset);
    for (std::uint32_t r = 0; r < count; ++r) {
      made.fill(
          r, [](std::uint32_t, float normal) { return 3.0f * normal; }, count == 1 ? 1 : r);
      for (std::uint32_t i = 0; i < 41; ++i) {  // p = .5 for one, .4 for 40 more
        const float base = 4.5f + std::log(static_cast<float>(vocab_size));
        made.row(r)[(i * 2654435761u + r) % vocab_size] = i == 0 ? base + 2.3f : base - 1.6f;
      }
    }
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

 private:
  row_set(std::string name, std::uint32_t vocab_size, std::uint32_t count, std::uint32_t offset)
      : name_(std::move(name)), vocab_size_(vocab_size), count_(count), offset_(offset) {
    stride_ = (vocab_size + 16u + 1023u) / 1024u * 1024u + 16u;  // rows start at other sets of the cache
    memory_.reset(static_cast<float*>(std::aligned_alloc(64, (std::size_t{stride_} * count + 64) * sizeof(float))));
  }
  float* row(std::uint32_t index) { return memory_.get() + std::size_t{stride_} * index + offset_ / sizeof(float); }
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
