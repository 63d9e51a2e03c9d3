// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/parallel.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

//! A pool as an engine has one: `threads` of them take the next row until none is left.
struct thread_pool {
  std::uint32_t threads = 1;
  template <class Body>
  void operator()(std::uint32_t count, const Body& body) const {
    std::atomic<std::uint32_t> next{0};
    const auto work = [&] {
      for (std::uint32_t i = next++; i < count; i = next++) body(i);
    };
    std::vector<std::thread> others;
    for (std::uint32_t t = 1; t < threads; ++t) others.emplace_back(work);
    work();
    for (std::thread& one : others) one.join();
  }
};

//! Backwards, on one thread.
constexpr auto last_first = [](std::uint32_t count, const auto& body) {
  for (std::uint32_t i = count; i > 0; --i) body(i - 1);
};

using reading = result<row_reading<exec::simd_policy, float>>;

struct batch_case {
  std::vector<std::vector<float>> rows;
  std::vector<row_view<float>> views;
  std::vector<row_transform> transforms;
  read_request request{};
  std::vector<std::byte> memory;
  workspace space;
  std::vector<reading> readings;

  batch_case() {
    for (std::uint32_t i = 0; i < 23; ++i) rows.push_back(row_of<float>(normal_logits(1 + 700 * i, i)));
    rows[5][17] = nanf("");
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      views.push_back(logits(rows[i]));
      transforms.push_back({.temperature = i % 4 == 3 ? 0.0 : 0.5 + 0.25 * i});
      if (i % 5 == 4) transforms.back().truncation = {20, 0.9, 0.0, {}};
    }
    request.top_entries = 16;
    request.integer_total = true;
    memory.resize(23 * read_rows_workspace_size(1, 1 + 700 * 22, {.truncation = {.top_p = 0.5}}, request));
    space = workspace(std::span(memory));
    readings.assign(rows.size(), status{errc::busy});
  }
  template <class Policy>
  [[nodiscard]] auto read(Policy policy) {
    return read_rows(policy, row_batch<float>{views, transforms}, request, readings, space);
  }
};

void check_same(const batch_case& one, const batch_case& other) {
  for (std::uint32_t i = 0; i < one.readings.size(); ++i) {
    const reading &a = one.readings[i], &b = other.readings[i];
    CAPTURE(i);
    REQUIRE(a.error() == b.error());
    if (!a) continue;
    CHECK(a->argmax() == b->argmax());
    CHECK(a->total_weight() == b->total_weight());
    CHECK(std::ranges::equal(a->top_ids(), b->top_ids()));
    CHECK(std::ranges::equal(a->top_weights(), b->top_weights()));
    for (std::uint32_t position = 0; position < 8; ++position) {
      const auto stream = uniforms{philox{{1, i}}, position, 0}.at(purpose::bonus_draw);
      CHECK(a->sample(stream)->token == b->sample(stream)->token);
    }
  }
}

}  // namespace

TEST_CASE("row.parallel: every pool gives the readings of one thread, whatever the order") {
  batch_case expected;
  REQUIRE(expected.read(exec::simd).ok());
  CHECK(expected.readings[5].error() == status{errc::row_has_nan, part::row, 17});
  for (const std::uint32_t threads : {1u, 2u, 4u}) {
    batch_case found;
    const thread_pool pool{threads};
    const auto read = found.read(exec::parallel(pool));
    REQUIRE(read.ok());
    CHECK(read->size() == found.rows.size());
    check_same(expected, found);
  }
  batch_case found;
  REQUIRE(found.read(exec::parallel(last_first)).ok());
  check_same(expected, found);
}

TEST_CASE("row.parallel: rows that were read without sums say and draw the same") {
  batch_case expected, found;
  REQUIRE(expected.read(exec::simd).ok());
  found.request.sums = false;
  REQUIRE(found.read(exec::parallel(last_first)).ok());
  CHECK_FALSE(found.readings[6]->has_coarse_sums());
  check_same(expected, found);
}

TEST_CASE("row.parallel: readings expire with their workspace, and not before") {
  batch_case one;
  REQUIRE(one.read(exec::parallel(last_first)).ok());
  for (const reading& row : one.readings) CHECK((!row || !row->expired()));
  one.space.rewind(0);
  for (const reading& row : one.readings) CHECK((!row || row->expired()));
}

TEST_CASE("row.parallel: each row has what digest_workspace_size says, and no more is taken than announced") {
  const std::vector<float> row = row_of<float>(normal_logits(5000, 2));
  const std::vector<row_view<float>> rows(7, logits(row));
  const std::vector<row_transform> one(1);
  read_request request;
  request.top_entries = 64;
  std::vector<std::byte> memory(read_rows_workspace_size(7, 5000, {}, request));
  workspace space{std::span(memory)};
  std::vector<reading> readings(7, status{errc::busy});
  REQUIRE(read_rows(exec::parallel(last_first), row_batch<float>{rows, one}, request, readings, space).ok());
  for (const reading& read : readings) CHECK(read.ok());
}

TEST_CASE("row.parallel: an error of the batch reads nothing and gives the workspace back") {
  const std::vector<float> row = row_of<float>(normal_logits(300, 1));
  const std::vector<row_view<float>> rows(3, logits(row));
  const std::vector<row_transform> one(1), two(2);
  std::vector<std::byte> memory(read_rows_workspace_size(3, 300, {}, {}) - 2 * workspace_alignment);
  workspace space{std::span(memory)};
  std::vector<reading> readings(3, status{errc::busy}), few(2, status{errc::busy});
  std::uint32_t calls = 0;
  const auto pool = [&calls](std::uint32_t, const auto&) { ++calls; };
  const auto how = exec::parallel(pool);
  CHECK(read_rows(how, row_batch<float>{rows, two}, {}, readings, space).error().code == errc::size_mismatch);
  CHECK(read_rows(how, row_batch<float>{rows, one}, {}, few, space).error().code == errc::output_too_small);
  const status full = read_rows(how, row_batch<float>{rows, one}, {}, readings, space).error();
  CHECK(full == status{errc::workspace_too_small, part::row, 2});
  CHECK(calls == 0);
  CHECK(space.used() == 0);
  for (const reading& read : readings) CHECK(read.error().code == errc::busy);
}
