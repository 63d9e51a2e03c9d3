// SPDX-License-Identifier: Apache-2.0
//! Implements the tasks in plain C++ and with Eigen, as a programmer would first write them.
#ifndef SPECVERIFY_BENCHMARKS_PEERS_STANDARD_HPP
#define SPECVERIFY_BENCHMARKS_PEERS_STANDARD_HPP

#include "../goals/path.hpp"
#include "peer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#if __has_include(<Eigen/Core>)
#define SPECVERIFY_PEERS_EIGEN 1
#include <Eigen/Core>
#endif

namespace bench_peers {

inline void plain_softmax(std::span<const float> row, std::span<float> out) {
  const float most = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    out[i] = std::exp(row[i] - most);
    sum += out[i];
  }
  for (float& value : out) value /= sum;
}

//! `arrange` must move the ids of the 64 largest entries to the front.
template <class Arrange>
double sum_of_largest(std::vector<std::uint32_t>& ids, std::span<const float> row, Arrange arrange) {
  std::iota(ids.begin(), ids.end(), 0u);
  arrange(ids.begin(), ids.begin() + top_k, ids.end(),
          [row](std::uint32_t a, std::uint32_t b) { return row[a] > row[b]; });
  return std::accumulate(ids.begin(), ids.begin() + top_k, 0.0);
}

inline peers standard(std::uint32_t vocab_size) {
  using row_view = std::span<const float>;
  peers all;
  all.push_back({"log-sum-exp", "std", [](row_view row) {
                   const float most = *std::max_element(row.begin(), row.end());
                   float sum = 0;
                   for (const float value : row) sum += std::exp(value - most);
                   return static_cast<double>(most + std::log(sum));
                 }});
  all.push_back({"softmax", "std", [out = bench_goals::row_to_write(vocab_size)](row_view row) {
                   plain_softmax(row, {out.get(), row.size()});
                   return static_cast<double>(out.get()[row.size() - 1]);
                 }});
  all.push_back({"argmax", "std", [](row_view row) {
                   return static_cast<double>(std::max_element(row.begin(), row.end()) - row.begin());
                 }});
  std::vector<std::uint32_t> ids(vocab_size);
  all.push_back({"top-64", "std::partial_sort", [ids](row_view row) mutable {
                   return sum_of_largest(ids, row, [](auto... all_of) { std::partial_sort(all_of...); });
                 }});
  all.push_back({"top-64", "std::nth_element", [ids](row_view row) mutable {
                   return sum_of_largest(ids, row, [](auto... all_of) { std::nth_element(all_of...); });
                 }});
  all.push_back(
      {"softmax, draw", "std", [out = std::vector<float>(vocab_size), bits = std::mt19937(1)](row_view row) mutable {
         plain_softmax(row, out);
         return static_cast<double>(std::discrete_distribution<int>(out.begin(), out.end())(bits));
       }});
  return all;
}

#ifdef SPECVERIFY_PEERS_EIGEN
inline peers eigen(std::uint32_t vocab_size) {
  using array = Eigen::Map<const Eigen::ArrayXf>;
  const auto map = [](std::span<const float> row) { return array(row.data(), static_cast<Eigen::Index>(row.size())); };
  peers all;
  all.push_back({"log-sum-exp", "Eigen", [map](std::span<const float> row) {
                   const float most = map(row).maxCoeff();
                   return static_cast<double>(most + std::log((map(row) - most).exp().sum()));
                 }});
  all.push_back(
      {"softmax", "Eigen",
       [map, out = Eigen::ArrayXf(static_cast<Eigen::Index>(vocab_size))](std::span<const float> row) mutable {
         out = (map(row) - map(row).maxCoeff()).exp();
         out *= 1.0f / out.sum();
         return static_cast<double>(out(out.size() - 1));
       }});
  all.push_back({"argmax", "Eigen", [map](std::span<const float> row) {
                   Eigen::Index at = 0;
                   map(row).maxCoeff(&at);
                   return static_cast<double>(at);
                 }});
  return all;
}
#else
inline peers eigen(std::uint32_t) { return {}; }
#endif

}  // namespace bench_peers

#endif
