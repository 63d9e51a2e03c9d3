// SPDX-License-Identifier: Apache-2.0
#include <specverify/kernel/kernels.hpp>

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

#if SPECVERIFY_WITH_SIMD

TEST_CASE("kernel.exact_cut: the cut of a size is that of the radix steps") {
  generator random{23};
  for (const std::uint32_t size : {2u, 17u, 300u, 2501u}) {
    for (const std::uint32_t range : {2u, 40u, 5000u, 2147483648u}) {
      for (const std::uint32_t base : {1u, 2147483648u - range + 1}) {
        std::vector<std::uint32_t> weights(size);
        for (auto& weight : weights) weight = base + static_cast<std::uint32_t>(random.next() % range);
        for (std::uint32_t target = 1; target < size; target += 1 + size / 9) {
          const auto kept_by = [&](kernel::order_cut cut, bool in_vectors) {
            std::vector<std::uint32_t> kept = weights;
            std::vector<token_id> ids(size);
            std::iota(ids.begin(), ids.end(), 0);
            kernel::candidate_list list{ids.data(), kept.data(), size, target};
            list.size = size;
            in_vectors ? kernel::keep(cut, list) : kernel::apply_cut(cut, list);
            return std::vector<token_id>(ids.begin(), ids.begin() + list.size);
          };
          const auto expected = kept_by(kernel::radix_cut(weights.data(), size, target, false), false);
          CHECK(expected.size() == target);
          CHECK(kept_by(kernel::exact_cut(weights.data(), size, target, base), true) == expected);
        }
      }
    }
  }
}

TEST_CASE("kernel.value_of_weight: the float before it has a smaller weight") {
  for (const bool probabilities : {false, true}) {
    for (const float maximum : {1e-3f, 0.5f, 1.0f}) {
      for (const double temperature : {1e-3, 1.0, 40.0}) {
        const kernel::integer_weight weight{
            static_cast<double>(maximum),
            probabilities ? kernel::probability_scale(static_cast<double>(maximum)) : kernel::weight_scale(temperature),
            probabilities};
        for (std::uint64_t least = 1; least <= kernel::weight_one; least = least * 5 / 3 + 1) {
          const float value = kernel::value_of_weight(weight, static_cast<std::uint32_t>(least));
          const float before = kernel::float_at(kernel::float_place(value) - 1);
          CAPTURE(least);
          CHECK(weight(static_cast<double>(value)) >= least);
          CHECK(weight(static_cast<double>(before)) < least);
        }
        CHECK(kernel::value_of_weight(weight, kernel::weight_one) <= maximum);
      }
    }
  }
}

TEST_CASE("kernel.value_search: at least as many as are wanted reach the value, and with no ties hardly more") {
  generator random{31};
  for (const std::uint32_t size : {16u, 512u, 2016u, 8016u}) {
    for (const bool ties : {false, true}) {
      std::vector<float> values(size);
      for (float& value : values) {
        value = static_cast<float>(random.normal());
        if (ties) value = std::floor(value);
      }
      values[size / 3] = -std::numeric_limits<float>::infinity();
      const float maximum = *std::max_element(values.begin(), values.end());
      std::vector<float> sorted = values;
      std::sort(sorted.rbegin(), sorted.rend());
      for (std::uint32_t wanted = 1; wanted < size; wanted += 1 + size / 13) {
        const float found = kernel::value_search(values.data(), size, wanted, maximum).find();
        const auto reach = static_cast<std::uint32_t>(
            std::count_if(values.begin(), values.end(), [&](float value) { return value >= found; }));
        CAPTURE(size);
        CAPTURE(wanted);
        CHECK(reach >= wanted);
        CHECK((reach <= wanted + wanted / 8 + 4 || found == sorted[wanted - 1]));
      }
      CHECK(kernel::value_search(values.data(), size, size, maximum).find() == -std::numeric_limits<float>::infinity());
    }
  }
}

#endif
