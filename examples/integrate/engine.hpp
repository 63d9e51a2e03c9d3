// SPDX-License-Identifier: Apache-2.0
// Your engine: tokens in, logits out, and a cache that can be truncated. This one computes fake logits.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

class engine {
 public:
  static constexpr int vocab_size = 1000, context = 512;
  explicit engine(double noise) : noise_(noise) {}

  // Returns 0: done. 1: the context is full. 2: the tokens do not follow the cached ones.
  int decode(int position, const std::int32_t* tokens, int count) {
    if (position + count > context) return 1;
    if (position > static_cast<int>(cache_.size())) return 2;
    cache_.resize(static_cast<std::size_t>(position));
    logits_.clear();
    for (int i = 0; i < count; ++i) {
      cache_.push_back(tokens[i]);
      for (int v = 0; v < vocab_size; ++v) logits_.push_back(logit(v));
    }
    return 0;
  }
  // Returns the logits after the i-th token of the last decode.
  const float* logits(int i) const { return logits_.data() + static_cast<std::ptrdiff_t>(i) * vocab_size; }
  void cut(int position) { cache_.resize(static_cast<std::size_t>(position)); }

 private:
  float logit(int v) const {  // a likely token is like the one before; noise separates the small model from the large
    const int distance = (v + 7 * cache_.back()) % vocab_size;
    return static_cast<float>(5.0 * std::cos(0.3 * distance) + noise_ * std::sin(1.7 * v) - 0.02 * distance);
  }
  double noise_;
  std::vector<std::int32_t> cache_;
  std::vector<float> logits_;
};
