// SPDX-License-Identifier: Apache-2.0
#include <specverify/distribution/draft_block.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/threshold.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/top_p.hpp>

#include <doctest/doctest.h>
#include <reference/lattice.hpp>
#include <support/alloc_guard.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace specverify;

struct outcome {
  status why{};
  draft_law made{};
  std::vector<std::byte> reading_memory{}, memory{};
};

template <class Policy, class Sparsifier, class Quantizer>
outcome make(Policy policy, const std::vector<double>& logits, const row_transform& transform,
             const Sparsifier& sparsifier, const Quantizer& quantizer, draft_law_options options) {
  outcome out;
  const auto size = static_cast<std::uint32_t>(logits.size());
  const auto state = sparsifier.initial_state();
  const read_request wanted = sparsifier.request(state, size);
  out.reading_memory.resize(digest_workspace_size(size, transform, wanted));
  out.memory.resize(draft_law_workspace_size(size, sparsifier, state, quantizer));
  workspace reading_space{std::span(out.reading_memory)}, space{std::span(out.memory)};
  const auto row = read_row(policy, logits_row(std::span<const double>(logits)), transform, wanted, reading_space);
  out.why = row.error();
  if (!row) return out;
  const auto made = make_draft_law(*row, sparsifier, quantizer, state, options, space);
  out.why = made.error();
  if (made) out.made = *made;
  if (!out.why.ok()) CHECK(space.used() == 0);
  return out;
}

std::vector<double> random_logits(std::size_t size, std::uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> logits(size);
  for (double& logit : logits) logit = static_cast<double>(random() >> 11) * 0x1p-53 * 10;
  return logits;
}

}  // namespace

TEST_CASE("draft_law by hand: temperature, support, counts") {
  // At T = 0.5 the law is proportional to 16, 4, 1, 1: top 3 keeps 16, 4, 1 and l = 21 gives them exactly.
  const std::vector<double> logits{std::log(2.0), 0.0, 0.0, std::log(4.0)};
  row_transform half;
  half.temperature = 0.5;
  const outcome out = make(exec::seq, logits, half, top_k{3}, sparse_lattice{}, {.resolution = 21});
  REQUIRE(out.why.ok());
  CHECK(check(out.made.drafted).ok());
  CHECK(out.made.drafted.count(3) == 16);
  CHECK(out.made.drafted.count(0) == 4);
  CHECK(out.made.drafted.count(1) == 1);
  CHECK(out.made.drafted.count(2) == 0);
}

TEST_CASE("draft_law leaves the zeros out or keeps them") {
  const std::vector<double> logits{5, 0, 4, 0, 0};
  const outcome without = make(exec::seq, logits, {}, top_k{4}, sparse_lattice{}, {.resolution = 10});
  const outcome with = make(exec::seq, logits, {}, top_k{4}, sparse_lattice{}, {law_format::sparse_paper, 10});
  REQUIRE(without.why.ok());
  REQUIRE(with.why.ok());
  CHECK(without.made.drafted.size == 2);
  CHECK(with.made.drafted.size == 4);
  for (token_id id = 0; id < 5; ++id) CHECK(with.made.drafted.count(id) == without.made.drafted.count(id));
  CHECK(without.made.kept.size() == 4);
}

TEST_CASE("T9 draft_law equals the printed rules in floating point") {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const std::vector<double> logits = random_logits(50 + 40 * seed, seed);
    std::vector<std::size_t> order(logits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    // K-SQS: the 16 largest, renormalised, l = 100.
    std::vector<std::size_t> kept(order.begin(), order.begin() + 16);
    std::sort(kept.begin(), kept.end());
    long double sum = 0;
    std::vector<long double> q;
    for (const std::size_t id : kept) q.push_back(std::exp(static_cast<long double>(logits[id]) - 10)), sum += q.back();
    for (long double& mass : q) mass /= sum;
    const std::vector<std::int64_t> expected = reference::lattice(q, 100);
    const outcome sparse = make(exec::seq, logits, {}, top_k{16}, sparse_lattice{}, {.resolution = 100});
    const outcome vector = make(exec::simd, logits, {}, top_k{16}, sparse_lattice{}, {.resolution = 100});
    REQUIRE(sparse.why.ok());
    REQUIRE(vector.why.ok());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      REQUIRE(sparse.made.drafted.count(static_cast<token_id>(kept[i])) == expected[i]);
      REQUIRE(vector.made.drafted.count(static_cast<token_id>(kept[i])) == expected[i]);
    }
    // QS: the whole row, l = 60.
    sum = 0;
    q.clear();
    for (const double logit : logits) q.push_back(std::exp(static_cast<long double>(logit) - 10)), sum += q.back();
    for (long double& mass : q) mass /= sum;
    const std::vector<std::int64_t> dense = reference::lattice(q, 60);
    const top_k largest{lattice_support_size(static_cast<std::uint32_t>(logits.size()), 60), true};
    const outcome whole = make(exec::simd, logits, {}, largest, lattice{}, {.resolution = 60});
    REQUIRE(whole.why.ok());
    CHECK(check(whole.made.drafted).ok());
    for (std::size_t id = 0; id < logits.size(); ++id)
      REQUIRE(whole.made.drafted.count(static_cast<token_id>(id)) == dense[id]);
  }
}

TEST_CASE("T30 draft_law at K = 1, K = V, l = 1, temperature 0") {
  const std::vector<double> logits = random_logits(300, 7);
  const auto best = static_cast<token_id>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  for (const outcome& out : {make(exec::seq, logits, {}, top_k{1}, sparse_lattice{}, {.resolution = 100}),
                             make(exec::seq, logits, {}, top_k{300}, sparse_lattice{}, {.resolution = 1}),
                             make(exec::seq, logits, {}, threshold{2.0, 300}, sparse_lattice{}, {.resolution = 100})}) {
    REQUIRE(out.why.ok());
    CHECK(out.made.drafted.size == 1);
    CHECK(out.made.drafted.count(best) == out.made.drafted.resolution);
  }
  row_transform greedy;
  greedy.temperature = 0;
  const outcome point = make(exec::seq, logits, greedy, top_p{0.9}, sparse_lattice{}, {.resolution = 100});
  REQUIRE(point.why.ok());
  CHECK(point.made.drafted.count(best) == 100);
  const outcome all =
      make(exec::seq, logits, {}, threshold{0.0, 300}, sparse_lattice{}, {law_format::sparse_paper, 1000});
  REQUIRE(all.why.ok());
  CHECK(all.made.drafted.size == 300);
}

TEST_CASE("draft_law hands errors on and gives its space back") {
  const std::vector<double> logits{1, 2, 3};
  CHECK(make(exec::seq, logits, {}, top_k{0}, sparse_lattice{}, {.resolution = 100}).why ==
        status{errc::invalid_argument, part::sparsify, 0});
  CHECK(make(exec::seq, logits, {}, top_k{2}, sparse_lattice{}, {.resolution = 0}).why.code ==
        errc::invalid_resolution);
  CHECK(make(exec::seq, {}, {}, top_k{2}, sparse_lattice{}, {.resolution = 100}).why.code == errc::empty_vocabulary);
  CHECK(make(exec::seq, std::vector<double>(100, 1.0), {}, top_k{2, true}, lattice{}, {.resolution = 100}).why.code ==
        errc::digest_insufficient);
  // Every smaller workspace is refused, none is overrun.
  const top_k sparsifier{2};
  std::vector<std::byte> memory(draft_law_workspace_size(3, sparsifier, {})),
      reading_memory(digest_workspace_size(3, {}, sparsifier.request({}, 3)));
  for (std::size_t size = 0; size < reading_memory.size(); size += 64) {
    workspace space{std::span(reading_memory).first(size)};
    const auto read =
        read_row(exec::seq, logits_row(std::span<const double>(logits)), {}, sparsifier.request({}, 3), space);
    if (read) break;
    CHECK(read.error().code == errc::workspace_too_small);
    CHECK(space.used() == 0);
  }
  workspace reading_space{std::span(reading_memory)};
  const auto row =
      read_row(exec::seq, logits_row(std::span<const double>(logits)), {}, sparsifier.request({}, 3), reading_space);
  REQUIRE(row.ok());
  for (std::size_t size = 0; size < memory.size(); size += 64) {
    workspace space{std::span(memory).first(size)};
    const auto made = make_draft_law(*row, sparsifier, {}, {}, space);
    if (made) break;
    CHECK(made.error().code == errc::workspace_too_small);
    CHECK(space.used() == 0);
    CHECK_FALSE(made.ok());
  }
}

TEST_CASE_TEMPLATE("a drafted token allocates nothing", Policy, exec::seq_policy, exec::simd_policy) {
  const std::vector<double> logits = random_logits(5000, 3);
  const auto row = logits_row(std::span<const double>(logits));
  const top_k sparsifier{32};
  const auto size = [&](const draft_law_options& options) {
    return digest_workspace_size(5000, {}, draft_law_request(5000, sparsifier, {}, options)) +
           draft_law_workspace_size(5000, sparsifier, {}, options);
  };
  const draft_law_options sparse{.resolution = 100}, dense{law_format::dense_lattice, 240};
  std::vector<std::byte> memory(size(sparse) + size(dense));
  auto block = draft_block::make({8, 8 * 480});
  REQUIRE(block.ok());
  const specverify_test::alloc_guard guard;
  bool fine = true;
  for (std::uint32_t position = 0; position < 8; ++position) {
    workspace space{std::span(memory)};
    const draft_law_options& options = position % 2 == 0 ? sparse : dense;
    const auto reading = read_row(Policy{}, row, {}, draft_law_request(5000, sparsifier, {}, options), space);
    fine = fine && reading;
    if (!fine) break;
    const auto made = make_draft_law(*reading, sparsifier, {}, options, space);
    fine =
        made && block.value().push(draw(made->drafted, uniforms{philox{}, position, 0}.at(purpose::draft_draw))).ok();
  }
  CHECK(guard.count() == 0);
  CHECK(fine);
}
