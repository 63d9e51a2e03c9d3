// SPDX-License-Identifier: Apache-2.0
//! Implements the tasks with this library, and plain sums as a floor.
#ifndef SPECVERIFY_BENCHMARKS_PEERS_OURS_HPP
#define SPECVERIFY_BENCHMARKS_PEERS_OURS_HPP

#include <specverify/row/argmax.hpp>
#include <specverify/row/log_sum_exp.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/row/softmax.hpp>

#include "../goals/path.hpp"
#include "peer.hpp"

#include <numeric>

namespace bench_peers {

//! Reads a row into a workspace of the object.
class reader {
 public:
  reader(std::uint32_t vocab_size, const specverify::row_transform& transform, const specverify::read_request& request)
      : memory_(specverify::digest_workspace_size(vocab_size, transform, request)),
        transform_(transform),
        request_(request) {}
  double sum_of_top_entries(std::span<const float> row) {
    specverify::workspace scratch{std::span(memory_)};
    const auto read =
        specverify::read_row(specverify::exec::simd, specverify::logits_row(row), transform_, request_, scratch);
    bench_goals::must(read.ok(), "read_row");
    const auto ids = read->top_ids();
    return std::accumulate(ids.begin(), ids.end(), 0.0);
  }
  double draw(std::span<const float> row) {
    specverify::workspace scratch{std::span(memory_)};
    const auto read =
        specverify::read_row(specverify::exec::simd, specverify::logits_row(row), transform_, request_, scratch);
    bench_goals::must(read.ok(), "read_row");
    const auto drawn =
        read->sample(specverify::uniforms{specverify::philox{{1, 2}}, round_++, 0}.at(specverify::purpose::bonus_draw));
    bench_goals::must(drawn.ok(), "sample");
    return drawn->token;
  }

 private:
  std::vector<std::byte> memory_;
  specverify::row_transform transform_;
  specverify::read_request request_;
  std::uint32_t round_ = 0;
};

inline peers ours(std::uint32_t vocab_size) {
  using namespace specverify;
  peers all;
  for (const bench_goals::plain_sum sum : bench_goals::plain_sums)
    all.push_back({"plain sum", "ours", [sum](std::span<const float> row) { return sum(row.data(), row.size()); }});
  all.push_back({"log-sum-exp", "ours", [](std::span<const float> row) {
                   const auto sum = log_sum_exp(exec::simd, logits_row(row), {});
                   bench_goals::must(sum.ok(), "log_sum_exp");
                   return static_cast<double>(*sum);
                 }});
  all.push_back({"softmax", "ours", [out = bench_goals::row_to_write(vocab_size)](std::span<const float> row) {
                   const std::span to(out.get(), row.size());
                   bench_goals::must(softmax(exec::simd, logits_row(row), {}, to).ok(), "softmax");
                   return static_cast<double>(to.back());
                 }});
  all.push_back({"argmax", "ours", [](std::span<const float> row) {
                   const auto found = argmax(exec::simd, logits_row(row), {});
                   bench_goals::must(found.ok(), "argmax");
                   return static_cast<double>(found->token);
                 }});
  read_request largest;
  largest.top_entries = top_k;
  largest.sums = false;  // because torch has none
  all.push_back({"top-64", "ours", [read = reader(vocab_size, {}, largest)](std::span<const float> row) mutable {
                   return read.sum_of_top_entries(row);
                 }});
  all.push_back({"softmax, draw", "ours",
                 [read = reader(vocab_size, {}, {})](std::span<const float> row) mutable { return read.draw(row); }});
  row_transform cut;
  cut.truncation.top_k = top_k;
  cut.truncation.top_p = top_p;
  all.push_back({"top-64, top-p, draw", "ours",
                 [read = reader(vocab_size, cut, {})](std::span<const float> row) mutable { return read.draw(row); }});
  return all;
}

}  // namespace bench_peers

#endif
