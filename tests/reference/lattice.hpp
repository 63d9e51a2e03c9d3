// SPDX-License-Identifier: Apache-2.0
//! The lattice rule as the papers print it, in floating point, by a full sort, and the best lattice point by trying all
//! of them. Written from the rule of arXiv 2507.00605 in integers; shares nothing with the library.
#ifndef SPECVERIFY_TESTS_REFERENCE_LATTICE_HPP
#define SPECVERIFY_TESTS_REFERENCE_LATTICE_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace reference {

//! Counts of probabilities q (sum 1) at resolution l. Order (zeta, index): subtract from the end, add from the start.
template <class Real>
std::vector<std::int64_t> lattice(const std::vector<Real>& q, std::int64_t l) {
  std::vector<std::int64_t> b(q.size());
  std::vector<Real> zeta(q.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    b[i] = static_cast<std::int64_t>(std::floor(static_cast<Real>(l) * q[i] + Real(0.5)));
    zeta[i] = static_cast<Real>(b[i]) - static_cast<Real>(l) * q[i];
    sum += b[i];
  }
  std::vector<std::size_t> order(q.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return zeta[x] < zeta[y]; });
  std::size_t moved = 0;
  for (; sum > l; --sum) --b[order[order.size() - 1 - moved++]];
  for (; sum < l; ++sum) ++b[order[moved++]];
  return b;
}

//! Sum over i of |b_i W - l w_i|, that is 2 W l TV.
inline std::uint64_t scaled_l1(const std::vector<std::uint32_t>& b, const std::vector<std::uint32_t>& w,
                               std::uint32_t l) {
  const std::int64_t total = std::accumulate(w.begin(), w.end(), std::int64_t{0});
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::int64_t d =
        static_cast<std::int64_t>(b[i]) * total - static_cast<std::int64_t>(l) * static_cast<std::int64_t>(w[i]);
    sum += static_cast<std::uint64_t>(d < 0 ? -d : d);
  }
  return sum;
}

//! Sum over i of (b_i W - l w_i)^2. For weights small enough that 64 bits hold it.
inline std::uint64_t scaled_l2(const std::vector<std::uint32_t>& b, const std::vector<std::uint32_t>& w,
                               std::uint32_t l) {
  const std::int64_t total = std::accumulate(w.begin(), w.end(), std::int64_t{0});
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::int64_t d =
        static_cast<std::int64_t>(b[i]) * total - static_cast<std::int64_t>(l) * static_cast<std::int64_t>(w[i]);
    sum += static_cast<std::uint64_t>(d * d);
  }
  return sum;
}

//! Calls `visit(b)` for every vector of `size` counts that sum to l.
template <class Visit>
void for_each_lattice_point(std::size_t size, std::uint32_t l, const Visit& visit) {
  std::vector<std::uint32_t> b(size, 0);
  const auto fill = [&](const auto& self, std::size_t at, std::uint32_t left) -> void {
    if (at + 1 == size) {
      b[at] = left;
      visit(b);
      return;
    }
    for (std::uint32_t c = 0; c <= left; ++c) {
      b[at] = c;
      self(self, at + 1, left - c);
    }
  };
  fill(fill, 0, l);
}

}  // namespace reference

#endif
