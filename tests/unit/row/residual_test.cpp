// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/row/residual.hpp>

#include <doctest/doctest.h>

#include <cstdlib>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

//! A law as a plain list; the library asks for nothing more.
struct listed_law {
  std::vector<std::uint32_t> counts;
  std::uint32_t resolution = 0;
  explicit listed_law(std::vector<std::uint32_t> all)
      : counts(std::move(all)), resolution(std::accumulate(counts.begin(), counts.end(), 0u)) {}
  std::uint32_t count(token_id id) const noexcept {
    return id >= 0 && static_cast<std::size_t>(id) < counts.size() ? counts[static_cast<std::size_t>(id)] : 0;
  }
};

template <class Held, class Source>
residual_token drawn_from(const Held& from, const listed_law& taken, double scale, const Source& source,
                          std::uint32_t cap = 32) {
  const auto out = from->residual(taken, uniform_stream{source, random_counter{}}, {.trial_cap = cap, .scale = scale});
  REQUIRE(out.ok());
  return *out;
}

std::vector<long double> residual_law(const std::vector<long double>& p, const listed_law& taken, double scale) {
  std::vector<long double> law;
  long double mass = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    law.push_back(std::max(
        0.0L, scale * p[i] - static_cast<long double>(taken.count(static_cast<token_id>(i))) / taken.resolution));
    mass += law.back();
  }
  for (long double& entry : law) entry /= mass;
  return law;
}

template <class Scalar>
void check_law(row_view<Scalar> row, const row_transform& transform, const std::vector<long double>& p,
               const listed_law& taken, double scale, double tolerance) {
  const auto expected = residual_law(p, taken, scale);
  for_each_policy([&](auto policy) {
    for (const std::uint32_t cap : {0u, 1u, 2u, 32u}) {
      const auto law = measure_law(
          row.valid_size(), cap,
          [&](const scripted& source, std::uint32_t trials) {
            const auto from = make_digest(policy, row, transform);
            const residual_token got = drawn_from(from, taken, scale, source, trials);
            CHECK_FALSE(got.fallback);
            return drawn{got.token, got.trials, got.fallback, got.exact};
          },
          [&](const scripted& source, std::uint32_t trials) {
            const auto from = make_digest(policy, row, transform);
            const auto got = from->sample(uniform_stream{source, random_counter{}}, {.trial_cap = trials});
            REQUIRE(got.ok());
            return drawn{got->token, got->trials, false, got->exact};
          });
      CAPTURE(cap);
      CHECK(total_variation(law, expected) <= tolerance);
    }
  });
}

}  // namespace

TEST_CASE("row.residual: by hand, p = (1/2, 1/4, 1/4), q = (1, 1, 0) / 2 leaves the third id alone") {
  const std::vector<double> row{0.5, 0.25, 0.25};
  const listed_law taken({1, 1, 0});
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, probabilities(row), {});
    for (const std::uint64_t u : {std::uint64_t{0}, unit / 2, unit * 3 / 4, unit - 1}) {
      for (const std::uint32_t cap : {0u, 1u, 32u}) {
        const residual_token token = drawn_from(from, taken, 1.0, scripted{{u, u, u}, {0, 0, 0}}, cap);
        CHECK(token.token == 2);
        CHECK_FALSE(token.fallback);
      }
    }
  });
}

TEST_CASE("T1 row.residual: the law of the shipped draw, every trial cap, scaled and unscaled") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<double> values = normal_logits(6, seed, 1.5);
    const listed_law sparse({0, 30, 0, 70, 0, 0});
    const listed_law dense({10, 20, 5, 25, 30, 10});
    row_transform transform;
    transform.temperature = 0.8;
    for (const listed_law& taken : {sparse, dense}) {
      CAPTURE(seed);
      check_law(logits(values), transform, law_of(values, 0.8), taken, 1.0, 1e-12);
      const auto narrow = row_of<float>(values);
      check_law(logits(narrow), transform, law_of(transformed(narrow, transform), 0.8), taken, 1.0, 1e-6);
    }
    check_law(logits(values), transform, law_of(values, 0.8), sparse, 0.7, 1e-12);
    check_law(logits(values), transform, law_of(values, 0.8), dense, 0.95, 1e-11);
  }
}

TEST_CASE("T9 row.residual: a truncated row, where the rule is the plain one") {
  const std::vector<double> values{1.0, 2.0, 0.5, -1.0, 2.0, 0.0};
  row_transform transform;
  transform.truncation.top_k = 4;
  const listed_law taken({0, 70, 10, 10, 5, 5});
  check_law(logits(values), transform, law_of({1.0, 2.0, 0.5, -infinity, 2.0, -infinity}, 1.0), taken, 1.0, 1e-12);
}

TEST_CASE("T27 NUM-6 E4 E32 row.residual: p = q bitwise, one ulp apart, and rows off by 1e-3 never give garbage") {
  const listed_law taken({4, 2, 1, 1, 0});
  const double q[5] = {0.5, 0.25, 0.125, 0.125, 0.0};
  for (const double factor : {1.0, 1.0 + 0x1.0p-52, 1.0 - 0x1.0p-52, 1.001, 0.999}) {
    std::vector<double> row;
    for (const double entry : q) row.push_back(entry * factor);
    for_each_policy([&](auto policy) {
      for (const std::uint32_t cap : {0u, 2u, 32u}) {
        for (const std::uint64_t u : {std::uint64_t{0}, unit / 2, unit - 1}) {
          const auto from = make_digest(policy, probabilities(row), {});
          REQUIRE(from.outcome.ok());
          const residual_token token =
              drawn_from(from, taken, 1.0,
                         scripted{std::vector<std::uint64_t>(40, u), std::vector<std::uint64_t>(40, unit / 3)}, cap);
          CHECK(token.fallback);
          CHECK((token.token >= 0 && token.token < 4));
        }
      }
    });
  }
  std::vector<double> row(q, q + 5);
  row[0] += 1e-9;
  row[3] -= 1e-9;
  const auto from = make_digest(exec::seq, probabilities(row), {});
  const residual_token token = drawn_from(from, taken, 1.0, scripted{{unit / 2}, {0}}, 0);
  CHECK_FALSE(token.fallback);
  CHECK(token.token == 0);
}

TEST_CASE("T27 row.residual: one-hot against one-hot, equal and different; zeros of p on the support of q") {
  const std::vector<float> row{0.0f, 8.0f, 1.0f};
  row_transform greedy;
  greedy.temperature = 0;
  const auto from = make_digest(exec::simd, logits(row), greedy);
  const residual_token same = drawn_from(from, listed_law({0, 1, 0}), 1.0, scripted{});
  CHECK(same.token == 1);
  CHECK(same.fallback);
  const residual_token other = drawn_from(from, listed_law({0, 0, 1}), 1.0, scripted{});
  CHECK(other.token == 1);
  CHECK_FALSE(other.fallback);
  const std::vector<double> zeros{0.0, 0.0, 0.75, 0.25};
  check_law(probabilities(zeros), {}, {0.0L, 0.0L, 0.75L, 0.25L}, listed_law({5, 5, 5, 1}), 1.0, 1e-12);
}

TEST_CASE("T27 row.residual: fp16 probabilities that sum to 1 +- 1e-3") {
  std::vector<float16_bits> row;
  double sum = 0;
  for (int i = 0; i < 300; ++i) {
    row.push_back(scalar_of<float16_bits>(1.0 / 300 * (1 + 0.2 * std::sin(i))));
    sum += meaning(row.back());
  }
  CHECK(std::fabs(sum - 1) < 4e-3);
  const auto from = make_digest(exec::simd, probabilities(row), {});
  REQUIRE(from.outcome.ok());
  std::vector<std::uint32_t> counts(300, 0);
  for (std::size_t i = 0; i < 300; i += 2) counts[i] = 1;
  const listed_law taken(counts);
  for (std::uint64_t i = 0; i < 500; ++i) {
    const residual_token token = drawn_from(from, taken, 1.0, philox{{static_cast<std::uint32_t>(i), 1}});
    CHECK(token.token % 2 == 1);  // q = 1/150 > p on even ids
    CHECK_FALSE(token.fallback);
  }
}

TEST_CASE("NUM-4 row.residual: the exact rule reaches a residual of 1e-9 and never leaves it") {
  const std::uint32_t size = 3000;
  std::vector<double> values = normal_logits(size, 4, 1.0);
  values[2500] = 20.0;  // nearly all the mass
  const auto p = law_of(values, 1.0);
  std::vector<std::uint32_t> counts(size, 0);
  counts[2500] = 1000000;
  const listed_law taken(counts);
  const auto from = make_digest(exec::seq, logits(values), {});
  for (std::uint32_t i = 0; i < 200; ++i) {
    const residual_token token = drawn_from(from, taken, 1.0, philox{{i, 3}}, 4);
    CHECK(token.token != 2500);
    CHECK_FALSE(token.fallback);
  }
  CHECK(p[2500] < 1.0L);
}

TEST_CASE("row.residual: the exact rule is that of serial sums for every kind of law, also at the ends of an id") {
  const std::uint32_t size = std::getenv("SPECVERIFY_EMULATED") != nullptr ? 601 : 3001;
  const char* const whole = std::getenv("SPECVERIFY_LONG");
  const std::uint32_t step = whole != nullptr && whole[0] == '1' ? 7 : 43;
  const auto values = normal_logits(size, 8, 2.0);
  const auto p = law_of(values, 1.0);
  const auto row = row_of<float>(values);
  std::vector<token_id> few, all;
  std::vector<std::uint32_t> few_counts, all_counts, listed(size, 0), with_tail(size, 2);
  for (std::uint32_t id = 0; id < size; ++id) {
    all.push_back(static_cast<token_id>(id));
    all_counts.push_back(1 + static_cast<std::uint32_t>(50000 * static_cast<double>(p[id])));
    if (id % 97 == 5) {
      few.push_back(static_cast<token_id>(id));
      few_counts.push_back(3 + id % 5);
      listed[id] = with_tail[id] = few_counts.back();
    }
  }
  const auto sum = [](const std::vector<std::uint32_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), 0u);
  };
  const auto found = static_cast<std::uint32_t>(few.size());
  const law sparse{few.data(), few_counts.data(), found, 0, sum(few_counts), size};
  const law tail{few.data(), few_counts.data(), found, 2, sum(with_tail), size};
  const law dense{all.data(), all_counts.data(), size, 0, sum(all_counts), size};
  const auto check = [&](const auto& taken, const listed_law& same, double scale) {
    const auto expected = residual_law(p, same, scale);
    for_each_policy([&](auto policy) {
      const auto from = make_digest(policy, logits(row), {});
      const auto token = [&](std::uint64_t u) {
        const auto got = from->residual(taken, uniform_stream{scripted{{u}, {}}, random_counter{}},
                                        {.trial_cap = 0, .scale = scale});
        REQUIRE(got.ok());
        CHECK((got->exact && !got->fallback));
        return got->token;
      };
      long double before = 0;
      for (std::uint32_t id = 0; id < size; ++id) {
        const long double after = before + expected[id];
        if (expected[id] > 1e-7L && id % step == 0) {
          const auto own = static_cast<token_id>(id);
          const auto first = static_cast<std::uint64_t>(std::ldexp(static_cast<double>(before + 1e-10L), 53));
          const auto last = static_cast<std::uint64_t>(std::ldexp(static_cast<double>(after - 1e-10L), 53));
          const bool ends_are_its_own = token(first) == own && token((first + last) / 2) == own && token(last) == own;
          CHECK(ends_are_its_own);
        }
        before = after;
      }
    });
  };
  for (const double scale : {1.0, 0.75}) {
    check(sparse, listed_law(listed), scale);
    check(listed_law(listed), listed_law(listed), scale);
    check(tail, listed_law(with_tail), scale);
    check(dense, listed_law(all_counts), scale);
  }
}

TEST_CASE("row.residual: each wrong argument has its own error and leaves the output alone") {
  const std::vector<float> row{2.0f, 1.0f};
  const auto from = make_digest(exec::seq, logits(row), {});
  const auto code = [&](double scale, const listed_law& taken) {
    return from->residual(taken, uniform_stream{scripted{}, random_counter{}}, {.scale = scale}).error().code;
  };
  CHECK(code(0.0, listed_law({1, 1})) == errc::invalid_argument);
  CHECK(code(1.5, listed_law({1, 1})) == errc::invalid_argument);
  CHECK(code(nan_value(), listed_law({1, 1})) == errc::invalid_argument);
  CHECK(code(1.0, listed_law({0, 0})) == errc::invalid_resolution);
  CHECK(code(1.0, listed_law({1, 1})) == errc::ok);
  const listed_law taken({1, 1});
  static_assert(noexcept(from->residual(taken, uniforms<>{}.at(purpose::residual_draw))));
}
