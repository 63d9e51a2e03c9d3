// SPDX-License-Identifier: Apache-2.0
#include <specverify/kernel/scalar/select.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "../row/row_cases.hpp"

using namespace row_cases;

TEST_CASE("kernel.radix_cut: the smallest prefix by size and by mass, against a sort") {
  generator random{9};
  for (const std::uint32_t size : {1u, 5u, 64u, 65u, 300u, 5000u}) {
    for (const std::uint32_t range : {3u, 1000u, 2147483648u}) {
      std::vector<std::uint32_t> weights(size);
      for (auto& weight : weights) weight = static_cast<std::uint32_t>(random.next() % (std::uint64_t{range} + 1));
      std::vector<std::uint32_t> order = weights;
      std::sort(order.rbegin(), order.rend());
      while (!order.empty() && order.back() == 0) order.pop_back();
      std::uint64_t mass = 0;
      for (std::size_t count = 1; count <= order.size(); count += 1 + order.size() / 7) {
        mass = std::accumulate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), std::uint64_t{0});
        for (const bool by_mass : {false, true}) {
          const kernel::order_cut cut = kernel::radix_cut(weights.data(), size, by_mass ? mass : count, by_mass);
          std::vector<token_id> ids(size), kept_ids(size);
          std::iota(ids.begin(), ids.end(), 0);
          std::vector<std::uint32_t> kept(size);
          const std::uint32_t got =
              kernel::apply_cut(cut, ids.data(), weights.data(), size, kept_ids.data(), kept.data());
          CHECK(got == count);
          CHECK(std::accumulate(kept.begin(), kept.begin() + got, std::uint64_t{0}) == mass);
          CHECK(std::is_sorted(kept_ids.begin(), kept_ids.begin() + got));
        }
      }
      const kernel::order_cut all = kernel::radix_cut(weights.data(), size, size + 1, false);
      CHECK((all.weight == 1 && all.ties == 0xFFFFFFFFu));
      const kernel::order_cut none = kernel::radix_cut(weights.data(), size, 0, false);
      CHECK((none.weight == 0xFFFFFFFFu && none.ties == 0));
    }
  }
}

TEST_CASE("kernel.push_candidate: a full list shrinks, later equals lose, weights from `always` on stay") {
  std::vector<token_id> ids(4);
  std::vector<std::uint32_t> weights(4);
  kernel::candidate_list list{ids.data(), weights.data(), 4, 2};
  std::uint32_t floor = 0;
  const std::uint32_t arriving[8] = {5, 5, 5, 5, 5, 6, 1, 5};
  for (token_id id = 0; id < 8; ++id) kernel::push_candidate(list, id, arriving[id], floor);
  (void)kernel::shrink(list);
  CHECK(list.size == 2);
  CHECK((ids[0] == 0 && ids[1] == 5));
  CHECK(list.dropped);
  kernel::candidate_list keeping{ids.data(), weights.data(), 4, 1};
  keeping.always = 5;
  floor = 0;
  const std::uint32_t few[6] = {5, 1, 2, 3, 4, 5};
  for (token_id id = 0; id < 6; ++id) kernel::push_candidate(keeping, id, few[id], floor);
  (void)kernel::shrink(keeping);
  CHECK(keeping.size == 2);
  CHECK((ids[0] == 0 && ids[1] == 5));
}
