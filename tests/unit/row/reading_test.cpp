// SPDX-License-Identifier: Apache-2.0
#include <specverify/row/reading.hpp>
#include <specverify/row/tempered.hpp>

#include <doctest/doctest.h>

#include "row_cases.hpp"

using namespace row_cases;

namespace {

// Remembers every counter, repeats included.
struct recording {
  std::vector<random_counter>* reads;
  philox inner{{{5, 6}}};
  random_block operator()(random_counter counter) const noexcept {
    reads->push_back(counter);
    return inner(counter);
  }
};

struct held {
  explicit held(std::size_t size) : memory(size), space(std::span<std::byte>(memory)) {}
  std::vector<std::byte> memory;
  workspace space;
};

struct one_id {
  token_id id = 3;
  std::uint32_t part = 4, resolution = 10;
  std::uint32_t tail_count = 0;
  [[nodiscard]] std::uint32_t count(token_id of) const noexcept { return of == id ? part : 0; }
};

const std::vector<float>& small_row() {
  static const std::vector<float> row = row_of<float>(normal_logits(700, 12));
  return row;
}

}  // namespace

static_assert(sizeof(row_reading<exec::simd_policy, float>) <= 280);
static_assert(std::is_trivially_copyable_v<row_reading<exec::seq_policy, bfloat16_bits>>);
static_assert(!std::is_default_constructible_v<row_reading<exec::seq_policy, float>>);
static_assert(!std::is_default_constructible_v<row_summary>);
static_assert(!std::is_constructible_v<row_summary, row_digest, workspace_base, std::uint64_t>);

TEST_CASE("reading: what a summary says is what the digest of the same request holds") {
  read_request request;
  request.top_entries = 40;
  request.integer_total = true;
  request.standard_deviation = true;
  request.minimum_probability = 0.01;
  for_each_policy([&](auto policy) {
    row_transform warm, cut, greedy;
    warm.temperature = 0.7;
    cut.truncation.top_k = 20;
    greedy.temperature = 0;
    for (const row_transform& transform : {warm, cut, greedy}) {
      held_digest from = make_digest(policy, logits(small_row()), transform, request);
      REQUIRE(from.outcome.ok());
      held scratch(digest_workspace_size(700, transform, request));
      const auto row = read_row(policy, logits(small_row()), transform, request, scratch.space);
      REQUIRE(row.ok());
      const row_summary& said = *row;
      CHECK(said.kind() == row_kind::logits);
      CHECK(said.vocab_size() == 700);
      CHECK(said.argmax() == from.value.argmax);
      CHECK(said.maximum() == from.value.maximum);
      CHECK(said.temperature() == transform.temperature);
      CHECK(said.is_one_hot() == from.value.one_hot);
      CHECK(said.is_truncated() == from.value.truncated);
      CHECK(said.standard_deviation() == from.value.standard_deviation);
      CHECK(said.total_weight() == from.value.total_weight);
      CHECK(said.minimum_probability() == from.value.minimum_probability);
      CHECK(said.top_complete() == from.value.top_complete);
      const auto ids = from.space.template at<token_id>(from.value.top_ids);
      const auto weights = from.space.template at<std::uint32_t>(from.value.top_weights);
      CHECK(std::equal(ids.begin(), ids.end(), said.top_ids().begin(), said.top_ids().end()));
      CHECK(std::equal(weights.begin(), weights.end(), said.top_weights().begin(), said.top_weights().end()));
      CHECK_FALSE(said.used_exact_normaliser());
    }
  });
}

TEST_CASE("reading: counters read by every draw, order included") {
  std::vector<random_counter> reads;
  const uniforms place{recording{&reads}, 31, 7};
  for_each_policy([&](auto policy) {
    held scratch(digest_workspace_size(700, {}, {}));
    const auto row = read_row(policy, logits(small_row()), {}, {}, scratch.space);
    REQUIRE(row.ok());
    reads.clear();
    REQUIRE(row->accept({row->argmax(), 1, 2}, place.at(purpose::acceptance)).ok());
    CHECK(reads == std::vector<random_counter>{{31, 7, 0, purpose::acceptance, 0}});
    for (std::uint32_t i = 0; i < 200; ++i) {
      reads.clear();
      const auto token = row->sample(place.after(i).at(purpose::bonus_draw), {.trial_cap = 2});
      REQUIRE(token.ok());
      CHECK(reads.size() == token->trials + (token->exact ? 1u : 0u));
      for (std::uint32_t t = 0; t < reads.size(); ++t)
        CHECK(reads[t] == random_counter{31 + i, 7, t, purpose::bonus_draw, 0});
      reads.clear();
      const auto next = row->residual(one_id{row->argmax(), 9, 10}, place.after(i).at(purpose::residual_draw, 5));
      REQUIRE(next.ok());
      CHECK(reads.size() == next->trials + (next->exact ? 1u : 0u));
      for (std::uint32_t t = 0; t < reads.size(); ++t)
        CHECK(reads[t] == random_counter{31 + i, 7, 5 + t, purpose::residual_draw, 0});
    }
    row_transform greedy;
    greedy.temperature = 0;
    held other(digest_workspace_size(700, greedy, {}));
    const auto point = read_row(policy, logits(small_row()), greedy, {}, other.space);
    REQUIRE(point.ok());
    reads.clear();
    CHECK(point->sample(place.at(purpose::bonus_draw))->token == point->argmax());
    CHECK(point->residual(one_id{}, place.at(purpose::residual_draw))->token == point->argmax());
    CHECK(reads.empty());
  });
}

TEST_CASE("reading: a workspace that was rewound below it ends it by name") {
  for_each_policy([&](auto policy) {
    held scratch(4 * digest_workspace_size(700, {}, {}));
    const auto first = read_row(policy, logits(small_row()), {}, {}, scratch.space);
    REQUIRE(first.ok());
    const std::size_t mark = scratch.space.mark();
    const auto second = read_row(policy, logits(small_row()), {}, {}, scratch.space);
    const auto third = read_row(policy, logits(small_row()), {}, {}, scratch.space);
    REQUIRE((second.ok() && third.ok()));
    CHECK_FALSE((first->expired() || second->expired() || third->expired()));
    scratch.space.rewind(mark);
    CHECK_FALSE(first->expired());
    CHECK((second->expired() && third->expired()));
    const auto fourth = read_row(policy, logits(small_row()), {}, {}, scratch.space);  // where the second one stood
    REQUIRE(fourth.ok());
    CHECK_FALSE((first->expired() || fourth->expired()));
    CHECK((second->expired() && third->expired()));

    const uniforms<> place{};
    std::vector<token_id> ids(700);
    std::vector<std::uint32_t> counts(700);
    std::vector<float> law(700);
    const double temperatures[] = {1.0};
    const double drawn[] = {0.5};
    double out[1] = {};
    CHECK(second->accept({1, 1, 2}, 0.5).error() == status{errc::reading_expired, part::row, 0});
    CHECK(second->accept({1, 1, 2}, place.at(purpose::acceptance)).error().code == errc::reading_expired);
    CHECK(second->sample(place.at(purpose::bonus_draw)).error().code == errc::reading_expired);
    CHECK(second->residual(one_id{}, place.at(purpose::residual_draw)).error().code == errc::reading_expired);
    CHECK(second->log_probability(1).error().code == errc::reading_expired);
    CHECK(second->fp16_counts(ids, counts).error().code == errc::reading_expired);
    CHECK(second->softmax(std::span<float>(law)).code == errc::reading_expired);
    CHECK(tempered_draws(*second, 1, temperatures, drawn).error().code == errc::reading_expired);
    CHECK(tempered_probabilities(*second, 1, temperatures, out).error().code == errc::reading_expired);
    CHECK(second->top_ids().empty());
    CHECK_FALSE(second->used_exact_normaliser());
    CHECK(first->sample(place.at(purpose::bonus_draw)).ok());

    // The row itself is still there: reading it again is no use of the old arrays.
    const auto again = second->again({}, {}, scratch.space);
    REQUIRE(again.ok());
    CHECK(again->sample(place.at(purpose::bonus_draw)).ok());
  });
}

TEST_CASE("reading: scopes give back what a reading took, and keep leaves it") {
  held scratch(2 * digest_workspace_size(700, {}, {}));
  const auto read = [&](bool kept) {
    workspace_scope scope(scratch.space);
    const auto row = read_row(exec::seq, logits(small_row()), {}, {}, scratch.space);
    if (kept) scope.keep();
    return row;
  };
  const auto lost = read(false);
  CHECK(scratch.space.used() == 0);
  CHECK(lost->expired());
  const auto kept = read(true);
  CHECK(scratch.space.used() > 0);
  CHECK_FALSE(kept->expired());
  CHECK(lost->expired());
}

TEST_CASE("reading: on an error the workspace stands where it stood") {
  held scratch(3 * digest_workspace_size(700, {}, {}));
  REQUIRE(scratch.space.take<int>(10).ok());
  const std::size_t mark = scratch.space.mark();
  auto row = small_row();
  row[300] = static_cast<float>(nan_value());
  CHECK(read_row(exec::simd, logits(row), {}, {}, scratch.space).error() == status{errc::row_has_nan, part::row, 300});
  CHECK(scratch.space.mark() == mark);
  held tiny(digest_workspace_size(700, {}, {}) - workspace_alignment - 1);  // wherever it stands, one slice short
  CHECK(read_row(exec::simd, logits(small_row()), {}, {}, tiny.space).error().code == errc::workspace_too_small);
  CHECK(tiny.space.used() == 0);
}

TEST_CASE("reading: a list of readings that something else wrote over is left alone") {
  held scratch(3 * digest_workspace_size(700, {}, {}));
  const auto row = read_row(exec::simd, logits(small_row()), {}, {}, scratch.space);
  const auto next = read_row(exec::simd, logits(small_row()), {}, {}, scratch.space);
  REQUIRE((row.ok() && next.ok()));
  std::fill(scratch.memory.begin(), scratch.memory.end(), std::byte{0x5A});
  const auto before = scratch.memory;
  scratch.space.rewind(0);
  CHECK(scratch.memory == before);
  CHECK((row->expired() && next->expired()));
}

TEST_CASE("reading: sums that were not wanted are left out, taken once, and then the same") {
  for_each_policy([&](auto policy) {
    const read_request bare{.top_entries = 9, .sums = false};
    const auto with = make_digest(policy, logits(small_row()), {}, {.top_entries = 9});
    const auto without = make_digest(policy, logits(small_row()), {}, bare);
    REQUIRE((with.outcome.ok() && without.outcome.ok()));
    CHECK(with->has_coarse_sums());
    CHECK_FALSE(without->has_coarse_sums());
    CHECK(without.value.lane_sums.count == 0);
    const auto copy = *without.reading;  // one workspace, one set of sums
    const uniforms place{philox{{3, 4}}, 11, 2};
    for (std::uint32_t i = 0; i < 100; ++i) {
      const auto stream = place.after(i).at(purpose::residual_draw);
      const auto first = with->residual(one_id{with->argmax(), 9, 10}, stream);
      const auto other = (i % 2 == 0 ? *without.reading : copy).residual(one_id{with->argmax(), 9, 10}, stream);
      REQUIRE((first.ok() && other.ok()));
      CHECK((first->token == other->token && first->trials == other->trials));
      CHECK(with->sample(stream)->token == copy.sample(stream)->token);
    }
    std::vector<token_id> ids(700), other_ids(700);
    std::vector<std::uint32_t> counts(700), other_counts(700);
    REQUIRE(with->fp16_counts(ids, counts).ok());
    REQUIRE(without->fp16_counts(other_ids, other_counts).ok());
    CHECK((ids == other_ids && counts == other_counts));
    const double temperatures[] = {0.5, 1.5}, drawn[] = {0.3, 0.9};
    const auto hits = tempered_draws(*with.reading, with->argmax(), temperatures, drawn);
    CHECK(tempered_draws(copy, with->argmax(), temperatures, drawn)->hits == hits->hits);
  });
}

TEST_CASE("reading: late sums and what was learnt of W before them do not meet") {
  // The largest ids stand outside the part of each block that is sampled, so the sums have another reference.
  std::vector<float> row(4096);
  for (std::uint32_t i = 0; i < 4096; ++i) row[i] = static_cast<float>((i * 2654435761u >> 8) % 4000) * 1e-3f - 2.0f;
  row[500] = 9.0f;
  row[2777] = 8.5f;
  for_each_policy([&](auto policy) {
    const auto with = make_digest(policy, logits(row), {}, {.top_entries = 9});
    REQUIRE(with.outcome.ok());
    const std::uint64_t total = with->total_weight();
    const double p = std::exp(*with->log_probability(500));
    const auto brackets = [&](const auto& of) {
      return of->total_bounds().least <= total && total <= of->total_bounds().most;
    };
    for (const double uniform : {p * (1 - 5e-4), p * (1 + 5e-4)}) {
      const auto wanted = with->accept({500, 1000, 1000}, uniform);
      const auto accept_first = make_digest(policy, logits(row), {}, {.top_entries = 9, .sums = false});
      const auto total_first = make_digest(policy, logits(row), {}, {.top_entries = 9, .sums = false});
      REQUIRE((wanted.ok() && accept_first.outcome.ok() && total_first.outcome.ok()));
      CHECK(accept_first->accept({500, 1000, 1000}, uniform)->accepted == wanted->accepted);
      total_first->narrow_total();
      CHECK(brackets(total_first));
      CHECK(total_first->accept({500, 1000, 1000}, uniform)->accepted == wanted->accepted);
      for (int look = 0; look < 4; ++look, accept_first->narrow_total(), total_first->narrow_total()) {
        CHECK(brackets(accept_first));
        CHECK(brackets(total_first));
      }
      CHECK(accept_first->total_weight() == total);
    }
  });
}

TEST_CASE("reading: the row is not read again for sums that it has taken") {
  std::vector<float> row = small_row();
  for_each_policy([&](auto policy) {
    held scratch(digest_workspace_size(700, {}, {}));
    const auto read = read_row(policy, logits(row), {}, {.sums = false}, scratch.space);
    const auto stream = uniforms<>{}.at(purpose::bonus_draw);
    const auto before = read->sample(stream, {.trial_cap = 1});
    REQUIRE((before.ok() && !before->exact));
    std::vector<std::byte> sums = scratch.memory;
    for (float& value : row) value += 1.0f;  // the engine goes on
    (void)read->accept({read->argmax(), 1, 2}, 0.5);
    CHECK(scratch.memory == sums);
    row = small_row();
  });
}

TEST_CASE("reading: a read takes the sums all the same where it says what hangs on them") {
  const std::vector<float> law(700, 1.0f / 700.0f);
  for_each_policy([&](auto policy) {
    const auto has = [&](read_request request) {
      request.sums = false;
      return make_digest(policy, logits(small_row()), {}, request)->has_coarse_sums();
    };
    CHECK(has({.minimum_probability = 0.01}));
    CHECK(has({.exact_normaliser = true}));
    CHECK_FALSE(has({.top_entries = 700, .integer_total = true, .close_total = true, .standard_deviation = true}));
    CHECK(make_digest(policy, probabilities(law), {}, {.sums = false})->has_coarse_sums());
    std::vector<float> heavy = law;
    heavy[3] = 0.5f;
    CHECK(make_digest(policy, probabilities(heavy), {}, {.sums = false}).outcome.code == errc::row_not_normalised);
    row_transform cut, greedy;
    cut.truncation.top_k = 20;
    greedy.temperature = 0;
    const auto truncated = make_digest(policy, logits(small_row()), cut, {.sums = false});
    CHECK((truncated->is_truncated() && truncated->total_weight() > 0));
    CHECK(make_digest(policy, logits(small_row()), greedy, {.sums = false})->is_one_hot());
  });
}

TEST_CASE("reading: the exact normaliser is counted when it was asked for or needed, and kept") {
  for_each_policy([&](auto policy) {
    held scratch(3 * digest_workspace_size(700, {}, {}));
    const auto row = read_row(policy, logits(small_row()), {}, {}, scratch.space);
    REQUIRE(row.ok());
    CHECK_FALSE(row->used_exact_normaliser());
    REQUIRE(row->log_probability(4).ok());
    CHECK(row->used_exact_normaliser());
    read_request exact;
    exact.exact_normaliser = true;
    const auto asked = row->again({}, exact, scratch.space);
    REQUIRE(asked.ok());
    CHECK(asked->used_exact_normaliser());
    CHECK(*asked->log_probability(4) == *row->log_probability(4));
    row_transform cut;
    cut.truncation.top_k = 10;
    held other(digest_workspace_size(700, cut, exact));
    const auto truncated = row->again(cut, exact, other.space);
    REQUIRE(truncated.ok());
    CHECK(truncated->is_truncated());
    CHECK_FALSE(truncated->used_exact_normaliser());
  });
}

TEST_CASE("reading: the probability of acceptance is the sum of the smaller probabilities") {
  struct two {
    const token_id ids[2] = {2, 5};
    const std::uint32_t counts[2] = {3, 1};
    std::uint32_t size = 2, tail_count = 0, resolution = 4, vocab_size = 700;
    [[nodiscard]] std::uint32_t count(token_id id) const noexcept { return id == 2 ? 3 : id == 5 ? 1 : 0; }
  };
  held scratch(digest_workspace_size(700, {}, {}));
  const auto row = read_row(exec::seq, logits(small_row()), {}, {}, scratch.space);
  const double p2 = std::exp(*row->log_probability(2)), p5 = std::exp(*row->log_probability(5));
  CHECK(*row->acceptance_probability(two{}) == std::min(p2, 0.75) + std::min(p5, 0.25));
}
