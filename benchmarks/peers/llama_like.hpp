// SPDX-License-Identifier: Apache-2.0
//! Implements a sampler as llama.cpp describes its own. Every token becomes a record {id, logit, p}. Top-k is a partial
//! sort of the records, probabilities are exponentials of the remaining records, top-p cuts the sorted list, and the
//! draw is a running sum without a sort. Buffers are kept between calls (github.com/ggml-org/llama.cpp,
//! src/llama-sampling.cpp and pull request 15665).
#ifndef SPECVERIFY_BENCHMARKS_PEERS_LLAMA_LIKE_HPP
#define SPECVERIFY_BENCHMARKS_PEERS_LLAMA_LIKE_HPP

#include "peer.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace bench_peers {

class record_sampler {
 public:
  explicit record_sampler(std::uint32_t vocab_size) : records_(vocab_size) {}

  void load(std::span<const float> row) {
    records_.resize(row.size());
    for (std::uint32_t id = 0; id < row.size(); ++id) records_[id] = {id, row[id], 0.0f};
  }
  void keep_top_k() {
    std::partial_sort(records_.begin(), records_.begin() + top_k, records_.end(),
                      [](const record& a, const record& b) { return a.logit > b.logit; });
    records_.resize(top_k);
  }
  void weigh() {
    float most = records_[0].logit, sum = 0;
    for (const record& one : records_) most = std::max(most, one.logit);
    for (record& one : records_) {
      one.p = std::exp(one.logit - most);
      sum += one.p;
    }
    for (record& one : records_) one.p /= sum;
  }
  //! The list must be sorted.
  void keep_top_p() {
    float sum = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      sum += records_[i].p;
      if (sum >= top_p) return records_.resize(i + 1);
    }
  }
  double draw() {
    weigh();
    double left = std::uniform_real_distribution<double>(0.0, 1.0)(bits_);
    for (const record& one : records_) {
      left -= static_cast<double>(one.p);
      if (left < 0.0) return one.id;
    }
    return records_.back().id;
  }
  double sum_of_ids() const {
    double sum = 0;
    for (const record& one : records_) sum += one.id;
    return sum;
  }

 private:
  struct record {
    std::uint32_t id;
    float logit, p;
  };
  std::vector<record> records_;
  std::mt19937 bits_{1};
};

inline peers llama_like(std::uint32_t vocab_size) {
  record_sampler sampler(vocab_size);
  peers all;
  all.push_back({"top-64", "llama.cpp-like", [sampler](std::span<const float> row) mutable {
                   sampler.load(row);
                   sampler.keep_top_k();
                   return sampler.sum_of_ids();
                 }});
  all.push_back({"softmax, draw", "llama.cpp-like", [sampler](std::span<const float> row) mutable {
                   sampler.load(row);
                   return sampler.draw();
                 }});
  all.push_back({"top-64, top-p, draw", "llama.cpp-like", [sampler](std::span<const float> row) mutable {
                   sampler.load(row);
                   sampler.keep_top_k();
                   sampler.weigh();
                   sampler.keep_top_p();
                   return sampler.draw();
                 }});
  return all;
}

}  // namespace bench_peers

#endif
