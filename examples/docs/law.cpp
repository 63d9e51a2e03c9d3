// SPDX-License-Identifier: Apache-2.0
// A law is ids, counts, and their exact sum.
#include <specverify/distribution/law.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 3> ids{2, 5, 7};
  const std::array<std::uint32_t, 3> counts{60, 30, 10};
  law q;
  q.ids = ids.data();
  q.counts = counts.data();
  q.size = 3;
  q.resolution = 100;
  q.vocab_size = 8;
  if (!check(q).ok()) return 1;
  q.resolution = 99;
  if (check(q).code != errc::counts_do_not_sum) return 2;
  return q.count(5) == 30 && q.count(6) == 0 && q.count(-1) == 0 ? 0 : 3;
}
