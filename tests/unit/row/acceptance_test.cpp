// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/acceptance.hpp>
#include <specverify/row/reading.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

template <class Held>
acceptance tested(const Held& from, token_id token, std::uint32_t count, std::uint32_t resolution, double uniform) {
  const auto out = from->accept({token, count, resolution}, uniform);
  REQUIRE(out.ok());
  return *out;
}

}  // namespace

TEST_CASE("row.accept_token: by hand, p = (1/2, 1/4, 1/4)") {
  const std::vector<double> row{0.5, 0.25, 0.25, 0.0};
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, probabilities(row), {});
    const auto accepted = [&](token_id token, std::uint32_t count, double uniform) {
      return tested(from, token, count, 100, uniform).accepted;
    };
    CHECK(accepted(0, 50, 0x1.fffffffffffffp-1));  // p = q
    CHECK(accepted(0, 20, 0.999));                 // p > q
    CHECK(accepted(1, 50, 0.4999));                // p / q = 1/2
    CHECK_FALSE(accepted(1, 50, 0.5001));
    CHECK_FALSE(accepted(1, 50, 0.5));  // strict
    CHECK_FALSE(accepted(3, 50, 0.0));  // p = 0
    CHECK_FALSE(accepted(3, 0, 0.0));
    CHECK(accepted(2, 0, 0.999));  // q = 0 < p
  });
}

TEST_CASE("COR-6 row.accept_token: the ends of the uniform and tiny probabilities") {
  std::vector<double> row{1.0, 4.9e-324, 1e-300, 1e-30, 0.0, 1e-7};
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, probabilities(row), {});
    REQUIRE(from.outcome.ok());
    for (const double uniform : {0.0, 0x1.0p-53, 0.5, 0x1.fffffffffffffp-1}) {
      CHECK_FALSE(tested(from, 4, 100, 100, uniform).accepted);
      CHECK(tested(from, 0, 1, 1000000, uniform).accepted);
    }
    CHECK(tested(from, 2, 100, 100, 0.0).accepted);
    CHECK_FALSE(tested(from, 2, 100, 100, 0x1.0p-53).accepted);
    CHECK(tested(from, 5, 100, 100, 0.99e-7).accepted);
    CHECK_FALSE(tested(from, 5, 100, 100, 1.01e-7).accepted);
  });
}

TEST_CASE("row.accept_token: accepts exactly where uniform < p / q, found by bisection; float, double, fp16 rows") {
  const auto check = [&](const auto& row, double temperature, double tolerance) {
    row_transform transform;
    transform.temperature = temperature;
    const auto law = law_of(transformed(row, transform), temperature);
    for_each_policy([&](auto policy) {
      for (const bool exact : {false, true}) {
        read_request request;
        request.exact_normaliser = exact;
        const auto from = make_digest(policy, logits(row), transform, request);
        for (std::size_t id = 0; id < row.size(); id += row.size() / 5) {
          for (const std::uint32_t count : {1u, 13u, 900u, 1000u}) {
            const std::uint64_t cut = next_change(0, [&](std::uint64_t u) {
              return tested(from, static_cast<token_id>(id), count, 1000, std::ldexp(static_cast<double>(u), -53))
                  .accepted;
            });
            const double expected = static_cast<double>(std::min(1.0L, law[id] * 1000.0L / count));
            CHECK(std::fabs(std::ldexp(static_cast<double>(cut), -53) - expected) <= tolerance * expected + 0x1.0p-52);
          }
        }
      }
    });
  };
  const std::vector<double> values = normal_logits(300, 3, 2.0);
  for (const double temperature : {0.4, 1.0, 2.0}) {
    check(values, temperature, 1e-13);
    check(row_of<float>(values), temperature, 1e-13);
    check(row_of<float16_bits>(values), temperature, 1e-13);
  }
}

TEST_CASE("row.accept_token: the bracket decides almost always, and as the exact normaliser does") {
  const std::vector<float> row = row_of<float>(normal_logits(5000, 17, 2.5));
  read_request request;
  request.exact_normaliser = true;
  const auto exact = make_digest(exec::seq, logits(row), {}, request);
  generator random{5};
  int undecided = 0, exactly = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto token = static_cast<token_id>(random.below(5000));
    const std::uint32_t count = 1 + random.below(30);
    const double uniform = random.uniform() * random.uniform();
    const auto fresh = make_digest(exec::simd, logits(row), {});  // an empty cache each time
    const acceptance a = tested(fresh, token, count, 1000, uniform);
    const acceptance b = tested(exact, token, count, 1000, uniform);
    CHECK(a.accepted == b.accepted);
    undecided += a.exact ? 1 : 0;
    exactly += fresh.space.at<reading_mark>(fresh.value.mark)[0].normaliser > 0.0 ? 1 : 0;
    CHECK(a.exact == fresh->used_exact_normaliser());
    CHECK_FALSE(b.exact);
    if (!a.exact) continue;
    const auto narrowed = make_digest(exec::simd, logits(row), {});  // the quick sum of W serves Z, too
    narrowed->narrow_total();
    const bool before = narrowed->used_exact_normaliser();
    CHECK_FALSE(before);
    CHECK(tested(narrowed, token, count, 1000, uniform).accepted == a.accepted);
    CHECK(narrowed->used_exact_normaliser());
  }
  CHECK(undecided < 150);  // 5 %
  CHECK(undecided > 0);
  const bool bounds_of_a_quick_sum_decide = exactly <= 1;
  CHECK(bounds_of_a_quick_sum_decide);
}

TEST_CASE("row.accept_token: near ties are told, and the normaliser is kept for the next call") {
  const std::vector<double> row{0.5, 0.25, 0.25};
  const auto from = make_digest(exec::seq, probabilities(row), {});
  const acceptance tie = tested(from, 1, 50, 100, 0.5);
  CHECK(tie.near_tie);
  CHECK(tie.exact);
  CHECK_FALSE(tie.accepted);
  CHECK(tested(from, 1, 50, 100, 0.5 * (1 + 0x1.0p-21)).near_tie);
  CHECK_FALSE(tested(from, 1, 50, 100, 0.5 * (1 + 0x1.0p-19)).near_tie);
  CHECK(from.space.at<reading_mark>(from.value.mark)[0].normaliser == 1.0);
}

TEST_CASE("row.accept_token: near ties of rows whose bounds are wide are told, exactly there") {
  const std::vector<float> row = row_of<float>(normal_logits(4000, 23, 2.0));
  const auto p = law_of(transformed(row, {}), 1.0);
  for_each_policy([&](auto policy) {
    for (const std::uint32_t id : {17u, 1800u, 3999u}) {
      for (const double off : {0x1.1p-20, 0x0.fp-20, 0x1.0p-30, 0x1.0p-15, 0x1.0p-14, 0x1.0p-10}) {
        for (const double sign : {-1.0, 1.0}) {
          const double uniform = static_cast<double>(p[id]) * 900 * (1 + sign * off);  // count 1 of 900
          const auto fresh = make_digest(policy, logits(row), {});
          const acceptance said = tested(fresh, static_cast<token_id>(id), 1, 900, uniform);
          CHECK(said.accepted == (sign < 0));
          CHECK(said.near_tie == (off < 0x1.0p-20));
          CHECK(said.exact);
        }
      }
    }
  });
}

TEST_CASE("row.accept_token: masked ids and padded ids are rejected, one-hot rows decide by id") {
  const std::vector<float> row{2.0f, 1.0f, 9.0f, 0.0f};
  const std::uint64_t mask[1] = {0b1011};
  row_transform transform;
  transform.mask_words = mask;
  const auto from = make_digest(exec::simd, logits(row), transform);
  CHECK_FALSE(tested(from, 2, 1, 100, 0.0).accepted);
  transform.temperature = 0;
  const auto greedy = make_digest(exec::simd, logits(row), transform);
  CHECK(tested(greedy, 0, 100, 100, 0x1.fffffffffffffp-1).accepted);
  CHECK_FALSE(tested(greedy, 1, 1, 100, 0.0).accepted);
  const row_view<float> padded(row_kind::logits, row.data(), 4, 2);
  const auto two = make_digest(exec::simd, padded, {});
  CHECK(two->accept({2, 1, 100}, 0.5).error().code == errc::token_out_of_range);
  CHECK_FALSE(two->accept({2, 1, 100}, 0.5).ok());
}

TEST_CASE("VOC-6 row.accept_token: each wrong argument has its own error and leaves the output alone") {
  const std::vector<float> row{2.0f, 1.0f};
  const auto from = make_digest(exec::seq, logits(row), {});
  const auto code = [&](token_id token, std::uint32_t count, std::uint32_t resolution, double uniform) {
    return from->accept({token, count, resolution}, uniform).error().code;
  };
  CHECK(code(-1, 1, 10, 0.5) == errc::token_out_of_range);
  CHECK(code(2, 1, 10, 0.5) == errc::token_out_of_range);
  CHECK(code(1 << 30, 1, 10, 0.5) == errc::token_out_of_range);
  CHECK(code(0, 0, 0, 0.5) == errc::invalid_resolution);
  CHECK(code(0, 11, 10, 0.5) == errc::invalid_resolution);
  CHECK(code(0, 1, 10, 1.0) == errc::invalid_argument);
  CHECK(code(0, 1, 10, -0.1) == errc::invalid_argument);
  CHECK(code(0, 1, 10, nan_value()) == errc::invalid_argument);
  CHECK(code(0, 1, 10, infinity) == errc::invalid_argument);
  CHECK(code(0, 1, 10, 0.5) == errc::ok);
  static_assert(noexcept(from->accept({0, 1, 1}, 0.5)));
}

TEST_CASE("COR-6 row.accept_token: p = q is accepted at the largest uniform, also where U q rounds to q") {
  const double largest = 0x1.fffffffffffffp-1;
  int rounded_up = 0;
  generator random{12};
  for (std::uint32_t count = 1; count < 64; ++count) {
    for (int step = 0; step < 40; ++step) {
      const double factor = 1 + (random.uniform() - 0.5) * 0.004;
      const std::vector<double> row{count / 64.0 * factor, (64 - count) / 64.0 * factor};
      const double total = row[0] + row[1];
      if (64.0 * row[0] < count * total) continue;
      rounded_up += largest * count * total < 64.0 * row[0] ? 0 : 1;
      const auto from = make_digest(exec::seq, probabilities(row), {});
      CHECK(tested(from, 0, count, 64, largest).accepted);
    }
  }
#ifndef __FAST_MATH__  // which may multiply in another order; the decisions above hold all the same
  CHECK(rounded_up > 0);
#endif
}
