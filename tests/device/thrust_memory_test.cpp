// SPDX-License-Identifier: Apache-2.0
// Memory that Thrust takes: from the caller's allocator alone, and none after the first call of a shape. And the
// example of docs/algorithms/device.md.
#include <specverify/device/accept.hpp>
#include <specverify/device/argmax.hpp>
#include <specverify/device/fp16_counts.hpp>
#include <specverify/device/integer_weights.hpp>
#include <specverify/device/lattice.hpp>
#include <specverify/device/log_sum_exp.hpp>
#include <specverify/device/residual.hpp>
#include <specverify/device/softmax.hpp>
#include <specverify/device/temperature_perturbation.hpp>
#include <specverify/device/threshold.hpp>
#include <specverify/device/verify.hpp>

#include "../../examples/device/one_step.cpp"
#include "support/alloc_guard.hpp"
#include "thrust_support.hpp"

#include <array>

using namespace device_tests;

namespace {

//! Keeps what it got and gives the smallest piece that fits.
class kept_memory {
 public:
  using value_type = char;
  char* allocate(std::ptrdiff_t size) {
    piece* best = nullptr;
    for (piece& one : pieces_)
      if (!one.is_used && one.size >= size && (best == nullptr || one.size < best->size)) best = &one;
    if (best == nullptr || best->size == 0) best = &add(size);
    best->is_used = true;
    return best->data;
  }
  void deallocate(char* data, std::size_t) {
    for (piece& one : pieces_)
      if (one.data == data) one.is_used = false;
  }
  kept_memory() = default;
  kept_memory(const kept_memory&) = delete;
  kept_memory& operator=(const kept_memory&) = delete;
  ~kept_memory() {
    for (piece& one : pieces_) delete[] one.data;
  }
  std::uint32_t taken = 0;
  bool is_empty = false;  // then there is no more memory

 private:
  struct piece {
    char* data = nullptr;
    std::ptrdiff_t size = 0;
    bool is_used = false;
  };
  piece& add(std::ptrdiff_t size) {
    if (is_empty || taken == pieces_.size()) throw std::bad_alloc();
    piece& one = pieces_[taken++];
    one.size = size;
    one.data = new char[static_cast<std::size_t>(size)];
    return one;
  }
  std::array<piece, 256> pieces_{};
};

//! Results of everything that device/ does.
struct results {
  explicit results(std::uint32_t count, std::uint32_t size)
      : best(count),
        tokens(count),
        accepted(count),
        values(count),
        found(count),
        supports(count),
        laws(count),
        totals(count),
        whys(count),
        verdicts(count),
        ids(std::size_t{count} * size),
        weights(ids.size()),
        floats(ids.size()) {}
  std::vector<device_argmax> best;
  std::vector<device_token> tokens;
  std::vector<device_acceptance> accepted;
  std::vector<device_value> values;
  std::vector<device_disagreement> found;
  std::vector<device_support> supports;
  std::vector<device_law> laws;
  std::vector<device_total> totals;
  std::vector<status> whys;
  std::vector<device_verdict> verdicts;
  std::vector<token_id> ids;
  std::vector<std::uint32_t> weights;
  std::vector<float> floats;
};

//! The first status that is not ok.
class checked {
 public:
  void operator()(status why) {
    if (first.ok()) first = why;
  }
  status first{};
};

template <class Policy>
status do_all(const exec::thrust_on<Policy>& how, batch<float>& rows, const places& at, results& out) {
  const auto made = rows.made();
  const std::size_t pitch = rows.size();
  const device_supports supports{out.supports.data(), out.ids.data(), out.weights.data(), pitch};
  const device_laws laws{out.laws.data(), out.ids.data(), out.weights.data(), pitch};
  const drafted_token drafted[4] = {{1, 1, 2}, {2, 1, 2}, {3, 1, 2}, {4, 1, 2}};
  const token_id tokens[4] = {1, 2, 3, 4}, law_ids[2] = {1, 5};
  const std::uint32_t counts[2] = {1, 2}, draft_begin[3] = {0, 1, 2};
  const law one{law_ids, counts, 2, 0, 3, rows.size()}, subtracted[4] = {one, one, one, one};
  const device_draft drafts[2] = {{1, 0, 0, one}, {5, 0, 0, one}};
  device_rounds<float> rounds;
  rounds.rows = rows.rows();
  rounds.transform = rows.transform();
  rounds.count = 2;
  rounds.drafts = drafts;
  rounds.draft_begin = draft_begin;
  checked run;
  run(argmax(how, made.rows, made.transform, out.best.data()));
  run(read_rows(how, made, {true, true}));
  run(sample(how, made, at.all().at(purpose::draft_draw), out.tokens.data()));
  run(accept(how, made, drafted, at.all().at(purpose::acceptance), out.accepted.data()));
  run(residual(how, made, subtracted, at.all().at(purpose::residual_draw), out.tokens.data()));
  run(select(how, made, 16, supports));
  run(select_above(how, made, 0.01, supports));
  run(fp16_counts(how, made, laws));
  run(quantize(how, made, 50, laws));
  run(log_sum_exp(how, made.rows, made.transform, out.values.data()));
  run(softmax(how, made.rows, made.transform, {out.whys.data(), out.floats.data(), pitch}));
  run(integer_weights(how, made.rows, made.transform, {out.totals.data(), out.weights.data(), pitch}));
  run(temperature_perturbation(how, made, tokens, {.samples = 3}, at.all(), out.found.data()));
  run(verify_batch(how, device_token_rule{}, rounds, at.all(), {out.verdicts.data(), nullptr}));
  run(verify_batch(how, device_greedy_rule{}, rounds, {out.verdicts.data(), nullptr}));
  return run.first;
}

}  // namespace

TEST_CASE("memory comes from the caller's allocator, and none after the first call") {
  bool cuts = false;
  SUBCASE("whole rows") {}
  SUBCASE("truncated rows") { cuts = true; }
  batch<float> rows(4, 4001);
  if (cuts) rows.truncate_all(3);
  const places at(rows.count());
  results out(rows.count(), rows.size());
  kept_memory memory;
  const exec::thrust_on how{thrust::device(memory)};
  rows.fill(0, 1);
  REQUIRE(do_all(how, rows, at, out).ok());
  const std::uint32_t taken = memory.taken;
  CHECK(taken > 0);
  for (std::uint32_t kind = 4; kind < hard_rows::kinds; kind += 4) {
    rows.fill(kind, kind);
    const specverify_test::alloc_guard guard;
    REQUIRE(do_all(how, rows, at, out).ok());
    CHECK(memory.taken == taken);
    CHECK(guard.count() == 0);
  }
}

TEST_CASE("an allocator without memory: an error, and no exception") {
  batch<float> rows(4, 4001);
  const places at(rows.count());
  results out(rows.count(), rows.size());
  rows.fill(0, 1);
  kept_memory memory;
  memory.is_empty = true;
  const exec::thrust_on how{thrust::device(memory)};
  CHECK(read_rows(how, rows.made()).ok());  // takes none
  CHECK(read_rows(how, rows.made(), {true, true}) == status{errc::engine_failed, part::host, 0});
  CHECK(select(how, rows.made(), 3, {out.supports.data(), out.ids.data(), out.weights.data(), 3}).code ==
        errc::engine_failed);
}

TEST_CASE("one step of a batch: tokens and largest entries are the host's") {
  constexpr std::uint32_t count = 6, size = 4001;
  batch<bfloat16_bits> rows(count, size, 7);
  rows.fill(10, 3);
  for (std::uint32_t r = 0; r < count; ++r) rows.temperature(r) = 0.8;
  const places at(count);
  std::vector<device_token> tokens(count);
  std::vector<device_support> supports(count);
  std::vector<token_id> ids(count * 16);
  std::vector<std::uint32_t> weights(count * 16);
  const step_memory memory{rows.memory(), at.all(), tokens.data(), {supports.data(), ids.data(), weights.data(), 16}};
  REQUIRE(run_step(thrust::device, rows.rows(), 0.8, memory).ok());
  for (std::uint32_t r = 0; r < count; ++r) {
    const host_reading<bfloat16_bits> host(rows, r, {.top_entries = 16});
    const auto drawn = host->sample(at.of(r).at(purpose::bonus_draw));
    REQUIRE(drawn.ok());
    CHECK(tokens[r].token == drawn->token);
    REQUIRE(supports[r].size == host->top_ids().size());
    CHECK(std::equal(host->top_ids().begin(), host->top_ids().end(), ids.data() + r * 16));
  }
}
