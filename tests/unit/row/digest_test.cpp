// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/argmax.hpp>
#include <specverify/row/digest.hpp>
#include <specverify/row/reading.hpp>

#include <doctest/doctest.h>

#include <array>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

long double exact_normaliser(const std::vector<double>& values, const row_digest& from) {
  long double sum = 0;
  for (const double value : values)
    sum += std::exp((static_cast<long double>(value) - from.reference) / from.temperature);
  return sum;
}

struct entry {
  token_id id;
  double value;
};

//! Ids in the order of their values, ties to the smaller id.
std::vector<entry> sorted(const std::vector<double>& values) {
  std::vector<entry> all;
  for (std::size_t i = 0; i < values.size(); ++i) all.push_back({static_cast<token_id>(i), values[i]});
  std::stable_sort(all.begin(), all.end(), [](const entry& a, const entry& b) { return a.value > b.value; });
  return all;
}

template <class Held>
std::vector<token_id> ids_of(const Held& from, workspace_slice slice) {
  const auto ids = from.space.template at<token_id>(slice);
  return {ids.begin(), ids.end()};
}

std::vector<token_id> first_of(const std::vector<entry>& all, std::size_t count) {
  std::vector<token_id> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(all[i].id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

TEST_CASE("row.digest: by hand, a row of three") {
  const std::vector<float> row{0.0f, 1.0f, 0.5f};
  read_request request;
  request.top_entries = 2;
  request.integer_total = true;
  request.exact_normaliser = true;
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, logits(row), {}, request);
    REQUIRE(from.outcome.ok());
    CHECK(from.value.argmax == 1);
    CHECK(from.value.maximum == 1.0);
    CHECK(from.value.reference == 1.0);
    CHECK(from.value.normaliser == doctest::Approx(1.0 + std::exp(-1.0) + std::exp(-0.5)).epsilon(1e-15));
    CHECK(ids_of(from, from.value.top_ids) == std::vector<token_id>{1, 2});
    CHECK(from.space.template at<std::uint32_t>(from.value.top_weights)[0] == 2147483648u);
    CHECK_FALSE(from.value.top_complete);
    CHECK(from.space.template at<float>(from.value.lane_sums)[1] == 1.0f);
    CHECK(from.space.template at<float>(from.value.lane_sums).size() == 16);
  });
}

TEST_CASE("row.digest: the bracket holds the normaliser, any temperature, any spread, any type") {
  const auto check = [](const auto& row, double temperature) {
    row_transform transform;
    transform.temperature = temperature;
    for_each_policy([&](auto policy) {
      const auto from = make_digest(policy, logits(row), transform);
      REQUIRE(from.outcome.ok());
      const auto total = static_cast<double>(exact_normaliser(transformed(row, transform), from.value));
      CHECK(from.value.lower <= total);
      CHECK(total <= from.value.upper);
      CHECK(from.value.upper <= 1.0617 * from.value.lower);
      read_request request;
      request.exact_normaliser = true;
      CHECK(make_digest(policy, logits(row), transform, request).value.normaliser ==
            doctest::Approx(total).epsilon(4e-15));
    });
  };
  for (const double temperature : {1e-5, 0.01, 0.3, 1.0, 7.0, 1e6}) {
    for (const double spread : {0.1, 3.0, 300.0}) {
      const auto values = normal_logits(5000, 3, spread);
      check(values, temperature);
      check(row_of<float>(values), temperature);
      check(row_of<bfloat16_bits>(values), temperature);
      check(row_of<float16_bits>(values), temperature);
    }
  }
}

TEST_CASE("row.digest: both ends of the bracket are reached, and the margin of rounding is used") {
  double closest_lower = 2, closest_upper = 2, widest = 0;
  for (int step = 0; step <= 2000; ++step) {
    std::vector<float> row(3000, static_cast<float>(-std::log(2.0) * step / 1000.0));
    row[0] = 0.0f;
    const auto from = make_digest(exec::simd, logits(row), {});
    const auto total = static_cast<double>(exact_normaliser(transformed(row, {}), from.value));
    REQUIRE(from.value.lower <= total);
    REQUIRE(total <= from.value.upper);
    closest_lower = std::min(closest_lower, total / from.value.lower);
    closest_upper = std::min(closest_upper, from.value.upper / total);
    widest = std::max(widest, from.value.upper / from.value.lower);
  }
  CHECK(closest_lower < 1.0 + 3e-4);
  CHECK(closest_upper < 1.0 + 0x1.0p-14);
  CHECK(widest > 1.0614);
  CHECK(widest <= 1.0617);
}

TEST_CASE("row.digest: the bracket of probabilities is 1 + 2^-14 wide and holds their sum") {
  const std::vector<float> row = row_of<float>([] {
    const auto law = law_of(normal_logits(5000, 8, 2.0), 1.0);
    return std::vector<double>(law.begin(), law.end());
  }());
  long double total = 0;
  for (const float p : row) total += p;
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, probabilities(row), {});
    REQUIRE(from.outcome.ok());
    CHECK(from.value.lower <= static_cast<double>(total));
    CHECK(static_cast<double>(total) <= from.value.upper);
    CHECK(from.value.upper / from.value.lower == doctest::Approx(1 + 0x1.0p-14).epsilon(1e-8));
  });
}

TEST_CASE("row.digest: an outlier outside the sampled ids, and rows whose sampled ids are all forbidden") {
  std::vector<float> row(5000, -5.0f);
  row[3333] = 900.0f;
  for_each_policy([&](auto policy) {
    auto from = make_digest(policy, logits(row), {});
    CHECK(from.value.argmax == 3333);
    CHECK(from.value.reference == 900.0);
    CHECK(from.value.lower <= 1.0);
    CHECK(from.value.upper >= 1.0);
  });
  std::fill(row.begin(), row.end(), -std::numeric_limits<float>::infinity());
  row[100] = -1000.0f;
  for_each_policy([&](auto policy) {
    const auto from = make_digest(policy, logits(row), {});
    REQUIRE(from.outcome.ok());
    CHECK(from.value.argmax == 100);
    CHECK(from.value.lower <= 1.0);
    CHECK(from.value.upper >= 1.0);
  });
}

TEST_CASE("NUM-8 row.digest: top_entries are the first of the order, ties to the smaller id") {
  for (const std::uint32_t size : {1u, 17u, 1024u, 3000u, 20000u}) {
    for (const int kind : {0, 1, 2, 3}) {
      std::vector<double> values = normal_logits(size, size + 1, 2.0);
      if (kind == 1) std::sort(values.begin(), values.end());
      if (kind == 2) std::fill(values.begin(), values.end(), 1.25);
      if (kind == 3) {
        for (double& value : values) value = std::floor(value);  // heavy ties
      }
      const auto row = row_of<float>(values);
      const auto order = sorted(values);
      for (const std::uint32_t wanted : {1u, 2u, 64u, 1000u}) {
        read_request request;
        request.top_entries = wanted;
        for_each_policy([&](auto policy) {
          const auto from = make_digest(policy, logits(row), {}, request);
          REQUIRE(from.outcome.ok());
          CAPTURE(size);
          CAPTURE(kind);
          CAPTURE(wanted);
          CHECK(ids_of(from, from.value.top_ids) == first_of(order, std::min(wanted, size)));
          CHECK(from.value.top_complete == (wanted >= size));
        });
      }
    }
  }
}

TEST_CASE("row.digest: minimum_probability gathers every id from that share of W on") {
  for (const double beta : {0.5, 0.01, 0.001, 1e-5}) {
    const auto row = row_of<float>(normal_logits(20000, 5, 2.5));
    read_request request, total;
    request.minimum_probability = beta;
    total.integer_total = true;
    const auto law = law_of(transformed(row, {}), 1.0);
    std::vector<token_id> expected;
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (law[i] >= static_cast<long double>(beta)) expected.push_back(static_cast<token_id>(i));
    }
    for_each_policy([&](auto policy) {
      const auto from = make_digest(policy, logits(row), {}, request);
      REQUIRE(from.outcome.ok());
      CHECK(ids_of(from, from.value.top_ids) == expected);
      CHECK(from.value.total_weight == 0);  // not asked for
      CHECK(from->total_weight() == make_digest(exec::seq, logits(row), {}, total)->total_weight());
    });
  }
}

TEST_CASE("SMP-4 NUM-8 row.digest: truncation keeps the smallest prefix, each order") {
  const auto row = row_of<float>(normal_logits(2000, 9, 2.0));
  const auto law = law_of(transformed(row, {}), 1.0);
  const auto order = sorted(transformed(row, {}));
  const auto prefix = [&](double share, long double total) {
    long double sum = 0;
    std::size_t count = 0;
    while (count < order.size() && sum < share * total) sum += law[static_cast<std::size_t>(order[count++].id)];
    return count;
  };
  long double mass50 = 0;
  for (std::size_t i = 0; i < 50; ++i) mass50 += law[static_cast<std::size_t>(order[i].id)];
  const auto kept = [&](row_truncation cut) {
    row_transform transform;
    transform.truncation = cut;
    const auto a = make_digest(exec::seq, logits(row), transform);
    const auto b = make_digest(exec::simd, logits(row), transform);
    REQUIRE(a.outcome.ok());
    REQUIRE(b.outcome.ok());
    CHECK(ids_of(a, a.value.kept_ids) == ids_of(b, b.value.kept_ids));
    CHECK(a.value.total_weight == b.value.total_weight);
    CHECK(a.value.truncated);
    return ids_of(a, a.value.kept_ids);
  };
  CHECK(kept({50, 1.0, 0.0, truncation_order::joint}) == first_of(order, 50));
  CHECK(kept({0, 0.6, 0.0, truncation_order::joint}) == first_of(order, prefix(0.6, 1.0L)));
  CHECK(kept({50, 0.6, 0.0, truncation_order::joint}) == first_of(order, std::min<std::size_t>(50, prefix(0.6, 1.0L))));
  CHECK(kept({50, 0.6, 0.0, truncation_order::top_k_then_top_p}) == first_of(order, prefix(0.6, mass50)));
  CHECK(kept({5, 0.6, 0.0, truncation_order::top_p_then_top_k}) ==
        first_of(order, std::min<std::size_t>(5, prefix(0.6, 1.0L))));
  std::size_t above = 0;
  while (law[static_cast<std::size_t>(order[above].id)] >= 0.05L * law[static_cast<std::size_t>(order[0].id)]) ++above;
  CHECK(kept({0, 1.0, 0.05, truncation_order::joint}) == first_of(order, above));
  CHECK(kept({1, 1.0, 0.0, truncation_order::joint}) == std::vector<token_id>{order[0].id});
}

TEST_CASE("T28 NUM-1 NUM-2 row.digest: every bad row has its own error, where it stands, and nothing is written") {
  const auto failing = [](auto row, const row_transform& transform = {}) {
    status seen{};
    for_each_policy([&](auto policy) {
      read_request request;
      request.top_entries = 3;
      std::vector<std::byte> memory(digest_workspace_size(row.valid_size(), transform, request));
      workspace space{std::span<std::byte>(memory)};
      const auto out = read_row(policy, row, transform, request, space);
      seen = out.error();
      CHECK_FALSE(out.ok());
      CHECK(space.used() == 0);
      row_transform greedy = transform;
      greedy.temperature = 0;
      CHECK(read_row(policy, row, greedy, request, space).error() == seen);
    });
    return seen;
  };
  for (const std::uint32_t size : {3u, 40u, 1500u, 5000u}) {
    for (const std::uint32_t at : {0u, size / 2, size - 1}) {
      std::vector<float> row = row_of<float>(normal_logits(size, 2));
      const auto with = [&](double value) {
        std::vector<float> bad = row;
        bad[at] = static_cast<float>(value);
        return bad;
      };
      CHECK(failing(logits(with(nan_value()))) == status{errc::row_has_nan, part::row, at});
      CHECK(failing(logits(with(-nan_value()))) == status{errc::row_has_nan, part::row, at});
      CHECK(failing(logits(with(infinity))) == status{errc::row_has_positive_infinity, part::row, at});
      const auto bad = with(nan_value());
      CHECK(failing(logits(row_of<double>({bad.begin(), bad.end()}))) == status{errc::row_has_nan, part::row, at});
      CHECK(failing(logits(row_of<float16_bits>({bad.begin(), bad.end()}))) ==
            status{errc::row_has_nan, part::row, at});
      CHECK(failing(logits(row_of<bfloat16_bits>({bad.begin(), bad.end()}))) ==
            status{errc::row_has_nan, part::row, at});
      std::vector<float> law(size, 1.0f / static_cast<float>(size));
      law[at] = nanf("");
      CHECK(failing(probabilities(law)).code == errc::row_has_nan);
      law[at] = -1e-6f;
      CHECK(failing(probabilities(law)) == status{errc::row_is_negative, part::row, at});
    }
    CHECK(failing(logits(std::vector<float>(size, -std::numeric_limits<float>::infinity()))).code ==
          errc::row_is_empty);
    CHECK(failing(probabilities(std::vector<float>(size, 0.0f))).code == errc::row_is_empty);
    CHECK(failing(probabilities(std::vector<float>(size, 1.01f / static_cast<float>(size)))).code ==
          errc::row_not_normalised);
    CHECK(failing(probabilities(std::vector<float>(size, 0.99f / static_cast<float>(size)))).code ==
          errc::row_not_normalised);
    const std::vector<std::uint64_t> none(size / 64 + 1, 0);
    row_transform masked;
    masked.mask_words = none;
    CHECK(failing(logits(std::vector<float>(size, 1.0f)), masked).code == errc::row_is_empty);
  }
  CHECK(failing(row_view<float>{}).code == errc::empty_vocabulary);
  CHECK(failing(row_view<float>(row_kind::logits, nullptr, 4)).code == errc::null_span);
  const std::vector<float> row(5, 1.0f);
  const auto* const behind = reinterpret_cast<const float*>(reinterpret_cast<const unsigned char*>(row.data()) + 1);
  CHECK(failing(row_view<float>(row_kind::logits, behind, 4)).code == errc::misaligned);
}

TEST_CASE("row.digest: a NaN behind the mask is not looked at; one in the padding neither") {
  std::vector<float> row(130, 1.0f);
  row[64] = nanf("");
  const std::vector<std::uint64_t> mask{~0ull, ~1ull, ~0ull};
  row_transform transform;
  transform.mask_words = mask;
  for_each_policy([&](auto policy) { CHECK(make_digest(policy, logits(row), transform).outcome.ok()); });
}

TEST_CASE("row.digest: nothing stored behind the mask of a row of probabilities matters") {
  for (const std::uint32_t size : {3u, 130u, 5000u}) {
    std::vector<double> law(size, 0.75 / (size - 1));
    law[1] = 0.25;
    std::vector<std::uint64_t> mask(size / 64 + 1, ~std::uint64_t{0});
    mask[0] ^= 2u;
    row_transform sampled, greedy;
    sampled.mask_words = greedy.mask_words = mask;
    greedy.temperature = 0;
    for (const double behind : {0.25, 0.0, -1.0, 7.0, nan_value(), infinity}) {
      law[1] = behind;
      for_each_policy([&](auto policy) {
        for (const row_transform& transform : {sampled, greedy}) {
          CAPTURE(size);
          CAPTURE(behind);
          const auto in_double = make_digest(policy, probabilities(law), transform);
          const auto in_float = make_digest(policy, probabilities(row_of<float>(law)), transform);
          REQUIRE(in_double.outcome == status{});
          REQUIRE(in_float.outcome == status{});
          CHECK(in_double->argmax() == 0);
        }
      });
    }
    law[0] = 0.5;  // the allowed ids have more than 1 between them
    law[2] = 0.6;
    CHECK(make_digest(exec::seq, probabilities(law), sampled).outcome.code == errc::row_not_normalised);
  }
}

TEST_CASE_TEMPLATE("row.digest: subnormal logits keep their order where the processor takes them for 0", Scalar, float,
                   double, bfloat16_bits) {
  const subnormals kept(false);
  const double unit = std::is_same_v<Scalar, double> ? 0x1.0p-1060 : 0x1.0p-132;
  for (const std::uint32_t size : {3u, 40u, 5000u}) {
    std::vector<double> values(size, -unit);
    const std::uint32_t best = size - 2;
    values[0] = unit;
    values[best] = 3 * unit;
    const auto row = row_of<Scalar>(values);
    row_transform greedy;
    greedy.temperature = 0;
    for_each_policy([&](auto policy) {
      const auto without = [](const auto& read) {
        const subnormals flushed(true);
        return read();
      };
      const auto largest = without([&] { return argmax(policy, logits(row), {}); });
      CHECK(largest->token == static_cast<token_id>(best));
      for (const row_transform& transform : {row_transform{}, greedy}) {
        for (const bool sums : {true, false}) {
          const auto digest = without([&] { return make_digest(policy, logits(row), transform, {.sums = sums}); });
          CHECK(digest->argmax() == static_cast<token_id>(best));
        }
      }
    });
  }
}

TEST_CASE("row.digest: each wrong argument has its own error") {
  const std::vector<float> row(100, 1.0f);
  const auto code = [&](const row_transform& transform, read_request request = {}) {
    return make_digest(exec::seq, logits(row), transform, request).outcome.code;
  };
  for (const double temperature : {-1.0, -1e-9, nan_value(), infinity}) {
    row_transform transform;
    transform.temperature = temperature;
    CHECK(code(transform) == errc::invalid_temperature);
  }
  const std::vector<token_id> ids{3, 5}, descending{5, 3}, outside{3, 100};
  const std::vector<float> bias{1.0f, 2.0f}, one{1.0f}, bad{1.0f, std::numeric_limits<float>::infinity()},
      forbidding{1.0f, -std::numeric_limits<float>::infinity()};
  const auto biased = [](const std::vector<token_id>& i, const std::vector<float>& b) {
    row_transform transform;
    transform.bias_ids = i;
    transform.bias_values = b;
    return transform;
  };
  CHECK(code(biased(ids, bias)) == errc::ok);
  CHECK(code(biased(ids, forbidding)) == errc::ok);
  CHECK(code(biased(ids, one)) == errc::size_mismatch);
  CHECK(code(biased(descending, bias)) == errc::invalid_bias);
  CHECK(code(biased(ids, bad)) == errc::invalid_bias);
  CHECK(code(biased(outside, bias)) == errc::token_out_of_range);
  const std::vector<std::uint64_t> word{~0ull};
  row_transform masked;
  masked.mask_words = word;
  CHECK(code(masked) == errc::mask_size);
  for (const row_truncation cut :
       {row_truncation{0, 0.0, 0.0}, row_truncation{0, 1.5, 0.0}, row_truncation{0, nan_value(), 0.0},
        row_truncation{0, 1.0, -0.5}, row_truncation{0, 1.0, 2.0}}) {
    row_transform transform;
    transform.truncation = cut;
    CHECK(code(transform) == errc::invalid_truncation);
  }
  read_request share;
  share.minimum_probability = 1.5;
  CHECK(code({}, share) == errc::invalid_argument);
  row_transform half;
  half.temperature = 0.5;
  const std::vector<float> law(4, 0.25f);
  CHECK(make_digest(exec::seq, probabilities(law), half).outcome.code == errc::invalid_temperature);
  std::vector<std::byte> small(64);
  workspace space{std::span<std::byte>(small)};
  CHECK(read_row(exec::seq, logits(row), {}, {}, space).error().code == errc::workspace_too_small);
  CHECK(space.used() == 0);
}

TEST_CASE("row.digest: a batch keeps its rows apart") {
  const std::vector<float> good = row_of<float>(normal_logits(300, 1));
  std::vector<float> bad = good;
  bad[7] = nanf("");
  const std::vector<row_view<float>> rows{logits(good), logits(bad), logits(good)};
  const std::vector<row_transform> one(1), each(3), two(2);
  std::vector<std::byte> memory(3 * digest_workspace_size(300, {}, {}));
  workspace space{std::span<std::byte>(memory)};
  using reading = result<row_reading<exec::simd_policy, float>>;
  for (const auto& transforms : {one, each}) {
    space.rewind(0);
    std::vector<reading> readings(4, status{errc::busy});
    const auto read = read_rows(exec::simd, row_batch<float>{rows, transforms}, {}, readings, space);
    REQUIRE(read.ok());
    CHECK(read->size() == 3);
    CHECK(readings[0].ok());
    CHECK(readings[1].error() == status{errc::row_has_nan, part::row, 7});
    CHECK(readings[2].ok());
    CHECK(readings[3].error().code == errc::busy);
    CHECK(readings[0]->argmax() == readings[2]->argmax());
    CHECK_FALSE(readings[1].ok());
    CHECK_FALSE((readings[0]->expired() || readings[2]->expired()));
    CHECK(space.used() <= 2 * digest_workspace_size(300, {}, {}));
  }
  std::vector<reading> short_span(2, status{errc::busy});
  CHECK(read_rows(exec::simd, row_batch<float>{rows, one}, {}, short_span, space).error().code ==
        errc::output_too_small);
  std::vector<reading> readings(3, status{errc::busy});
  CHECK(read_rows(exec::simd, row_batch<float>{rows, two}, {}, readings, space).error().code == errc::size_mismatch);
}

TEST_CASE("row.digest: noexcept, and the inputs stay as they were (COR-5)") {
  std::vector<float> row = row_of<float>(normal_logits(3000, 8));
  const std::vector<float> copy = row;
  read_request request;
  request.top_entries = 100;
  request.integer_total = true;
  for_each_policy([&](auto policy) { CHECK(make_digest(policy, logits(row), {}, request).outcome.ok()); });
  CHECK(row == copy);
  workspace space;
  static_assert(noexcept(read_row(exec::simd, row_view<float>{}, row_transform{}, request, space)));
}
