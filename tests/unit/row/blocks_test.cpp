// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/random.hpp>
#include <specverify/row/blocks.hpp>
#include <specverify/testing/chi_square.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

//! What an engine's epilogue would say, from long double; `off` multiplies the sum of block b by up to 1 +- error.
struct claims {
  std::vector<float> maxima, sums;
  row_blocks view;

  template <class Scalar>
  claims(const std::vector<Scalar>& row, const row_transform& transform, std::uint32_t size, double error = 0x1.0p-10,
         double off = 0) {
    const std::vector<double> values = transformed(row, transform);
    for (std::size_t first = 0; first < values.size(); first += size) {
      const std::size_t end = std::min(values.size(), first + size);
      double maximum = -infinity;
      for (std::size_t v = first; v < end; ++v) maximum = std::max(maximum, values[v]);
      long double sum = 0;
      for (std::size_t v = first; v < end; ++v) {
        if (values[v] < std::numeric_limits<double>::lowest() / 2) continue;
        sum += std::exp((static_cast<long double>(values[v]) - maximum) / transform.temperature);
      }
      const double sign = first / size % 3 == 0 ? 1.0 : (first / size % 3 == 1 ? -1.0 : 0.5);
      maxima.push_back(static_cast<float>(maximum));
      sums.push_back(static_cast<float>(static_cast<double>(sum) * (1.0 + sign * off)));
    }
    view = {size, maxima, sums, error};
  }
  claims(const claims&) = delete;
  claims& operator=(const claims&) = delete;
};

template <class Policy, class Scalar>
held_digest<Policy, Scalar> read_claimed(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                         const row_blocks& blocks, const read_request& request = {}) {
  held_digest<Policy, Scalar> made;
  made.memory.resize(row_blocks_workspace_size(row.valid_size(), blocks.block_size, transform, request));
  made.space = workspace(std::span<std::byte>(made.memory));
  made.reading = read_row_from_blocks(policy, row, transform, request, blocks, made.space);
  made.outcome = made.reading.error();
  if (made.reading.ok()) made.value = reading_test_access::digest(made.reading.value());
  return made;
}

template <class Held>
std::vector<token_id> top_entries_of(const Held& from) {
  const auto ids = from->top_ids();
  return {ids.begin(), ids.end()};
}

template <class Held>
status draw_status(const Held& from, std::uint64_t u1, std::uint64_t u2 = 0) {
  return from->sample(uniform_stream{scripted{{u1}, {u2}}, random_counter{}}, {.trial_cap = 1}).error();
}

//! Three blocks of 64 with five allowed ids, each in a lane of its own, so that a proposal is monotone in its uniform.
std::vector<double> sparse_values() {
  std::vector<double> values(170, -infinity);
  values[3] = 1.0;
  values[9 + 16] = -0.5;
  values[64 + 2] = 0.3;
  values[64 + 47] = 2.0;
  values[128 + 40] = 1.5;
  return values;
}

//! Takes any law: nothing is subtracted from ids it does not list.
struct one_id_law {
  token_id id = 0;
  std::uint32_t taken = 0, resolution = 100;
  std::uint32_t count(token_id of) const noexcept { return of == id ? taken : 0; }
};

}  // namespace

TEST_CASE("T1 row.blocks: the law of a draw, by every uniform, with exact sums and with sums that are 20 % off") {
  const std::vector<float> row = row_of<float>(sparse_values());
  for (const double temperature : {0.5, 1.0, 2.0}) {
    row_transform transform;
    transform.temperature = temperature;
    const auto expected = law_of(transformed(row, transform), temperature);
    for (const double off : {0.0, 0.2, -0.2}) {
      const claims claimed(row, transform, 64, 0.25, off);
      CAPTURE(temperature);
      CAPTURE(off);
      for_each_policy([&](auto policy) {
        const auto from = read_claimed(policy, logits(row), transform, claimed.view);
        REQUIRE(from.outcome.ok());
        CHECK_FALSE(from->has_coarse_sums());
        for (const std::uint32_t cap : {0u, 1u, 2u, 32u}) {
          const auto law = measure_law(row.size(), cap, [&](const scripted& source, std::uint32_t trials) {
            const auto got = from->sample(uniform_stream{source, random_counter{}}, {.trial_cap = trials});
            REQUIRE(got.ok());
            return drawn{got->token, got->trials, false, got->exact};
          });
          const double distance = total_variation(law, expected);
          CHECK(distance <= 1e-12);
        }
      });
    }
  }
}

TEST_CASE("T1 row.blocks: the law of a residual draw, by every uniform") {
  const std::vector<float> row = row_of<float>(sparse_values());
  const auto p = law_of(transformed(row, {}), 1.0);
  const one_id_law taken{111, 40, 100};
  std::vector<long double> expected = p;
  expected[111] = std::max(0.0L, p[111] - 0.4L);
  const long double mass = std::accumulate(expected.begin(), expected.end(), 0.0L);
  for (long double& entry : expected) entry /= mass;
  const claims claimed(row, {}, 64, 0.1, 0.05);
  for_each_policy([&](auto policy) {
    for (const std::uint32_t cap : {0u, 1u, 32u}) {
      const auto law = measure_law(
          row.size(), cap,
          [&](const scripted& source, std::uint32_t trials) {
            const auto from = read_claimed(policy, logits(row), {}, claimed.view);
            const auto got = from->residual(taken, uniform_stream{source, random_counter{}}, {.trial_cap = trials});
            REQUIRE(got.ok());
            return drawn{got->token, got->trials, got->fallback, got->exact};
          },
          [&](const scripted& source, std::uint32_t trials) {
            const auto from = read_claimed(policy, logits(row), {}, claimed.view);
            const auto got = from->sample(uniform_stream{source, random_counter{}}, {.trial_cap = trials});
            REQUIRE(got.ok());
            return drawn{got->token, got->trials, false, got->exact};
          });
      CHECK(total_variation(law, expected) <= 1e-12);
    }
  });
}

TEST_CASE("T33 row.blocks: frequencies over 4 096 ids, blocks of every kind, float and 16-bit rows") {
  const auto check = [](const auto& row, std::uint32_t size, double error, double temperature) {
    row_transform transform;
    transform.temperature = temperature;
    const claims claimed(row, transform, size, error, error * 0.9);
    const auto from = read_claimed(exec::simd, logits(row), transform, claimed.view);
    REQUIRE(from.outcome.ok());
    const auto exact = law_of(transformed(row, transform), temperature);
    const std::vector<double> law(exact.begin(), exact.end());
    std::vector<std::uint64_t> seen(law.size(), 0);
    std::uint64_t trials = 0;
    const std::uint32_t draws = 60000;
    for (std::uint32_t i = 0; i < draws; ++i) {
      const auto drawn = from->sample(uniforms{philox{{5, size}}, i, 0}.at(purpose::bonus_draw));
      REQUIRE(drawn.ok());
      ++seen[static_cast<std::size_t>(drawn->token)];
      trials += drawn->trials;
    }
    const auto fit = chi_square(seen, law);
    REQUIRE(fit.ok());
    CAPTURE(size);
    CHECK(fit->p_value > 1e-5);
    CHECK(static_cast<double>(trials) / draws < 1.08 * (1 + error) / (1 - error));
  };
  const std::vector<double> values = normal_logits(4096, 3, 2.0);
  check(row_of<float>(values), 1024, 0x1.0p-10, 1.0);
  check(row_of<float>(values), 128, 0.3, 0.7);
  check(row_of<bfloat16_bits>(values), 64, 0x1.0p-6, 1.3);
  check(row_of<float16_bits>(values), 960, 0.0, 1.0);
}

TEST_CASE("row.blocks: argmax, maximum and top_entries are those of read_row, any block size, ties and forbidden ids") {
  for (const std::uint32_t size : {64u, 128u, 448u, 1024u}) {
    for (const std::uint32_t vocab_size : {1u, 63u, 64u, 1000u, 5001u}) {
      for (std::uint64_t kind = 0; kind < 4; ++kind) {
        std::vector<double> values = normal_logits(vocab_size, kind + 1, kind == 2 ? 40.0 : 3.0);
        if (kind == 1)
          for (double& value : values) value = std::floor(value);
        if (kind == 3)
          for (std::size_t v = 0; v < values.size(); ++v) values[v] = v % 5 == 0 || v > 2000 ? -infinity : values[v];
        if (kind == 3) values[0] = 0.25;
        const std::vector<float> row = row_of<float>(values);
        row_transform transform;
        transform.temperature = kind == 2 ? 4.0 : 0.9;
        const claims claimed(row, transform, size);
        for_each_policy([&](auto policy) {
          for (const std::uint32_t wanted : {0u, 1u, 7u, 64u, 300u}) {
            read_request request;
            request.top_entries = wanted;
            const auto here = read_claimed(policy, logits(row), transform, claimed.view, request);
            const auto there = make_digest(policy, logits(row), transform, request);
            REQUIRE(here.outcome.ok());
            CAPTURE(size);
            CAPTURE(vocab_size);
            CAPTURE(kind);
            CAPTURE(wanted);
            CHECK(here->argmax() == there->argmax());
            CHECK(here.value.maximum == there.value.maximum);
            CHECK(top_entries_of(here) == top_entries_of(there));
            CHECK(std::equal(here->top_weights().begin(), here->top_weights().end(), there->top_weights().begin(),
                             there->top_weights().end()));
            CHECK(here->top_complete() == there->top_complete());
          }
        });
      }
    }
  }
}

TEST_CASE("row.blocks: bias, mask and temperature as the engine applied them; accept and ln p are those of read_row") {
  const std::vector<float> row = row_of<float>(normal_logits(3000, 9));
  const token_id ids[2] = {5, 2222};
  const float bias[2] = {4.0f, -3.0f};
  std::vector<std::uint64_t> mask(47, 0x7FFFFFFFFFFFFFFFu);
  row_transform transform;
  transform.temperature = 1.7;
  transform.bias_ids = ids;
  transform.bias_values = bias;
  transform.mask_words = mask;
  const claims claimed(row, transform, 256, 0x1.0p-12, 0x1.0p-13);
  CHECK(check_blocks(exec::simd, logits(row), transform, claimed.view).ok());
  const auto p = law_of(transformed(row, transform), 1.7);
  std::uint32_t exact = 0, tested = 0;
  for_each_policy([&](auto policy) {
    const auto here = read_claimed(policy, logits(row), transform, claimed.view);
    const auto there = make_digest(policy, logits(row), transform);
    REQUIRE(here.outcome.ok());
    CHECK(here.value.lower <= there.value.upper);
    CHECK(here.value.upper / here.value.lower < 1 + 0x1.1p-11);
    for (token_id id = 0; id < 3000; id += 13) {
      for (const double share : {0.3, 0.99, 1.0 - 1e-5, 1.0 + 1e-5, 1.2}) {
        const double q = 0.01, uniform = share * static_cast<double>(p[static_cast<std::size_t>(id)]) / q;
        if (uniform >= 1) continue;
        const auto again = read_claimed(policy, logits(row), transform, claimed.view);
        const auto a = again->accept({id, 10, 1000}, uniform), b = there->accept({id, 10, 1000}, uniform);
        REQUIRE((a.ok() && b.ok()));
        CHECK(a->accepted == b->accepted);
        exact += a->exact ? 1u : 0u;
        ++tested;
      }
      if (p[static_cast<std::size_t>(id)] == 0) continue;
      CHECK(*here->log_probability(id) == doctest::Approx(*there->log_probability(id)).epsilon(1e-12));
    }
  });
  CHECK(exact > 0);
  CHECK(exact < tested / 2);
}

TEST_CASE("row.blocks: claims of subnormal maxima hold where the processor takes them for 0") {
  const subnormals kept(false);
  std::vector<float> row(300, -0x1.0p-132f);
  row[0] = 0x1.0p-132f;
  row[299] = 0x1.8p-131f;
  const claims claimed(row, {}, 128);
  for_each_policy([&](auto policy) {
    const auto [read, checked] = [&] {
      const subnormals flushed(true);
      return std::pair(read_claimed(policy, logits(row), {}, claimed.view, {.top_entries = 3}),
                       check_blocks(policy, logits(row), {}, claimed.view));
    }();
    REQUIRE(read.outcome == status{});
    CHECK(read->argmax() == 299);
    CHECK(checked == status{});
  });
}

TEST_CASE("row.blocks: nothing else is read: all blocks but those that are needed are made NaN") {
  const std::uint32_t size = 128, blocks = 40;
  const std::vector<float> good = row_of<float>(normal_logits(size * blocks, 21, 2.0));
  std::vector<float> row = good;
  const claims claimed(good, {}, size);
  const auto keep = [&](const std::vector<std::uint32_t>& kept) {
    std::fill(row.begin(), row.end(), static_cast<float>(nan_value()));
    for (const std::uint32_t b : kept) std::copy_n(good.data() + b * size, size, row.data() + b * size);
  };
  const auto best = static_cast<std::uint32_t>(std::max_element(claimed.maxima.begin(), claimed.maxima.end()) -
                                               claimed.maxima.begin());
  keep({best});  // a reading without top entries reads one block
  auto from = read_claimed(exec::simd, logits(row), {}, claimed.view);
  REQUIRE(from.outcome.ok());
  for (std::uint32_t i = 0; i < 200; ++i) {  // a draw that is accepted at once reads its own block
    std::copy(good.begin(), good.end(), row.begin());
    const std::uint64_t u1 = unit / 200 * i;
    const auto drawn = from->sample(uniform_stream{scripted{{u1}, {0}}, random_counter{}});
    REQUIRE(drawn.ok());
    REQUIRE(drawn->trials == 1);
    const auto block = static_cast<std::uint32_t>(drawn->token) / size;
    keep({block});
    const auto again = from->sample(uniform_stream{scripted{{u1}, {0}}, random_counter{}});
    REQUIRE(again.ok());
    CHECK(again->token == drawn->token);
    const auto accepted = from->accept({drawn->token, 1, 1000000}, 0.999);
    CHECK(accepted.ok());
  }
  std::vector<std::uint32_t> order(blocks);  // ten entries: only the ten blocks of the largest maxima
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return claimed.maxima[a] > claimed.maxima[b]; });
  order.resize(10);
  keep(order);
  read_request request;
  request.top_entries = 10;
  CHECK(read_claimed(exec::simd, logits(row), {}, claimed.view, request).outcome.ok());
  CHECK(read_claimed(exec::seq, logits(row), {}, claimed.view, request).outcome.ok());
  order.pop_back();
  keep(order);
  CHECK(read_claimed(exec::simd, logits(row), {}, claimed.view, request).outcome.code == errc::row_has_nan);
}

TEST_CASE("row.blocks: a claim that does not fit what is read is named, with its block") {
  std::vector<float> row = row_of<float>(normal_logits(600, 2, 1.0));
  row[100] = 4.0f;  // the maximum stands in another block than the one that is spoilt
  const auto whole = [&](auto policy, const claims& claimed) {
    return check_blocks(policy, logits(row), {}, claimed.view);
  };
  for_each_policy([&](auto policy) {
    const auto disagree = [](std::uint32_t where) { return status{errc::blocks_disagree, part::row, where}; };
    const auto last = unit - 1;  // proposes from the last block
    {
      const claims claimed(row, {}, 128);
      CHECK(whole(policy, claimed).ok());
      CHECK(draw_status(read_claimed(policy, logits(row), {}, claimed.view), last).ok());
    }
    for (const double factor : {0.9, 1.1}) {  // a sum outside its error and the 6.2 % that a draw can see
      claims claimed(row, {}, 128);
      claimed.sums[4] *= static_cast<float>(factor);
      const auto from = read_claimed(policy, logits(row), {}, claimed.view);
      REQUIRE(from.outcome.ok());
      const status sum_error = draw_status(from, last);
      CHECK(sum_error == disagree(512));
      CHECK(whole(policy, claimed) == disagree(512));
    }
    for (const double factor : {0.998, 1.002}) {  // only a full comparison sees these
      claims claimed(row, {}, 128);
      claimed.sums[4] *= static_cast<float>(factor);
      CHECK(whole(policy, claimed) == disagree(512));
    }
    for (const float shift : {-0.25f, 0.25f}) {  // a maximum too low or too high
      claims claimed(row, {}, 128);
      claimed.maxima[4] += shift;
      const auto from = read_claimed(policy, logits(row), {}, claimed.view);
      CHECK((from.outcome.ok() ? draw_status(from, last) : from.outcome) == disagree(512));
      CHECK(whole(policy, claimed) == disagree(512));
    }
    {  // the largest of all is looked at while reading
      claims claimed(row, {}, 128);
      claimed.maxima[2] = 50.0f;
      CHECK(read_claimed(policy, logits(row), {}, claimed.view).outcome == disagree(256));
    }
    {  // a drafted token above its block's maximum
      claims claimed(row, {}, 128);
      const auto top = static_cast<token_id>(std::max_element(row.begin() + 512, row.end()) - row.begin());
      claimed.maxima[4] -= 0.25f;
      const auto from = read_claimed(policy, logits(row), {}, claimed.view);
      REQUIRE(from.outcome.ok());
      CHECK(from->accept({top, 1, 2}, 0.5).error() == disagree(static_cast<std::uint32_t>(top)));
    }
    {  // sums that are all too small: found out as soon as a test needs Z
      claims claimed(row, {}, 128);
      for (float& sum : claimed.sums) sum *= 0.97f;
      const auto from = read_claimed(policy, logits(row), {}, claimed.view);
      REQUIRE(from.outcome.ok());
      const auto p = law_of(transformed(row, {}), 1.0);
      CHECK(from->accept({7, 1, 2}, 2 * static_cast<double>(p[7]) / 0.97).error() == disagree(0));
    }
    {
      std::vector<float> broken = row;
      broken[520] = static_cast<float>(nan_value());
      const claims claimed(row, {}, 128);
      const auto from = read_claimed(policy, logits(broken), {}, claimed.view);
      REQUIRE(from.outcome.ok());
      CHECK(draw_status(from, last) == status{errc::row_has_nan, part::row, 520});
      CHECK(check_blocks(policy, logits(broken), {}, claimed.view) == status{errc::row_has_nan, part::row, 520});
    }
  });
}

TEST_CASE("row.blocks: requests that need every id are read_row's; greedy rows read one block") {
  const std::vector<float> row = row_of<float>(normal_logits(2500, 4));
  for_each_policy([&](auto policy) {
    row_transform transform;
    transform.truncation.top_k = 20;
    const claims claimed(row, transform, 512);
    const auto here = read_claimed(policy, logits(row), transform, claimed.view);
    const auto there = make_digest(policy, logits(row), transform);
    REQUIRE(here.outcome.ok());
    CHECK(here->is_truncated());
    CHECK(here.value.normaliser == there.value.normaliser);
    read_request request;
    request.integer_total = true;
    request.top_entries = 9;
    CHECK(read_claimed(policy, logits(row), {}, claimed.view, request)->total_weight() ==
          make_digest(policy, logits(row), {}, request)->total_weight());
    CHECK(read_claimed(policy, logits(row), {}, claimed.view)->total_weight() ==
          make_digest(policy, logits(row), {})->total_weight());  // learnt when it is asked for
    row_transform greedy;
    greedy.temperature = 0;
    const auto one = read_claimed(policy, logits(row), greedy, claimed.view, {.top_entries = 3});
    REQUIRE(one.outcome.ok());
    CHECK(one->is_one_hot());
    CHECK(one->argmax() == there->argmax());
    CHECK(top_entries_of(one) == std::vector<token_id>{there->argmax()});
    CHECK(one->sample(uniforms<>{}.at(purpose::bonus_draw))->token == there->argmax());
  });
}

TEST_CASE("row.blocks: each wrong argument has its own error, and the workspace stands where it stood") {
  const std::vector<float> row = row_of<float>(normal_logits(300, 4));
  const auto code = [&](const row_blocks& blocks, row_kind kind = row_kind::logits) {
    std::vector<std::byte> memory(100000);
    workspace scratch{std::span<std::byte>(memory)};
    const row_view<float> view(kind, row.data(), 300);
    const status why = read_row_from_blocks(exec::simd, view, {}, {}, blocks, scratch).error();
    CHECK(scratch.used() == 0);
    return why.code;
  };
  claims good(row, {}, 64);
  row_blocks blocks = good.view;
  CHECK(code(blocks, row_kind::probabilities) == errc::unsupported);
  for (const std::uint32_t size : {0u, 32u, 100u, 2048u}) {
    blocks.block_size = size;
    CHECK(code(blocks) == errc::invalid_argument);
  }
  blocks = good.view;
  for (const double error : {-0.1, 0.6, nan_value()}) {
    blocks.error = error;
    CHECK(code(blocks) == errc::invalid_argument);
  }
  blocks = good.view;
  blocks.maxima = blocks.maxima.first(4);
  CHECK(code(blocks) == errc::size_mismatch);
  blocks = good.view;
  good.sums[1] = 0.5f;  // the largest entry alone is 1
  CHECK(code(blocks) == errc::blocks_disagree);
  good.sums[1] = 65.0f;
  CHECK(code(blocks) == errc::blocks_disagree);
  good.sums[1] = static_cast<float>(nan_value());
  CHECK(code(blocks) == errc::blocks_disagree);
  good.sums[1] = 2.0f;
  good.maxima[2] = static_cast<float>(nan_value());
  CHECK(code(blocks) == errc::row_has_nan);
  good.maxima[2] = std::numeric_limits<float>::infinity();
  CHECK(code(blocks) == errc::row_has_positive_infinity);
  std::fill(good.maxima.begin(), good.maxima.end(), -std::numeric_limits<float>::infinity());
  CHECK(code(blocks) == errc::row_is_empty);
  claims small(row, {}, 64);
  std::vector<std::byte> memory(row_blocks_workspace_size(300, 64, {}, {}) / 2);
  workspace scratch{std::span<std::byte>(memory)};
  CHECK(read_row_from_blocks(exec::simd, logits(row), {}, {}, small.view, scratch).error().code ==
        errc::workspace_too_small);
  CHECK(scratch.used() == 0);
  const row_view<float> view = logits(row);
  static_assert(noexcept(read_row_from_blocks(exec::simd, view, {}, {}, small.view, scratch)));
  CHECK(check_blocks(exec::simd, view, {}, small.view).ok());
}
