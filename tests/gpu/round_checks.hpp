// SPDX-License-Identifier: Apache-2.0
//! Checks of accept tests, residuals and ragged rounds: what kernels decide must be what exec::seq decides.
#ifndef SPECVERIFY_TESTS_GPU_ROUND_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_ROUND_CHECKS_HPP

#include <specverify/cuda/accept.cuh>
#include <specverify/cuda/verify.cuh>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/token.hpp>

#include <gpu/row_checks.hpp>

namespace gpu_tests {

//! A token for each row, most often one that the row likes, with a claim of its probability.
template <class Scalar>
std::vector<drafted_token> choose_drafts(const batch<Scalar>& rows) {
  std::vector<drafted_token> drafted;
  generator random{rows.how.seed * 31u + 11u};
  for (std::uint32_t r = 0; r < rows.how.count; ++r) {
    const std::vector<double> values = rows.values(r);
    const auto best = std::max_element(values.begin(), values.end()) - values.begin();
    const std::uint32_t resolution = 1 + random.below(100), way = random.below(20);
    token_id token = way < 14 ? static_cast<token_id>(best) : static_cast<token_id>(random.below(rows.how.size));
    if (way == 19) token = static_cast<token_id>(rows.how.size);
    drafted.push_back({token, 1 + random.below(resolution), resolution});
    if (way % 3 == 1) drafted.back().count = drafted.back().resolution = 0;
  }
  return drafted;
}

// ---- accept

template <class Scalar>
void check_accepts(scene& where, const batch<Scalar>& rows, const copied_digests<Scalar>& digests, tally& found) {
  std::vector<drafted_token> drafted = choose_drafts(rows);
  for (drafted_token& one : drafted)
    if (one.resolution == 0) one.resolution = 1;
  const array<drafted_token> tokens(where, drafted);
  const array<device_acceptance> out(where, rows.how.count);
  const auto random = rows.uniforms_on().at(purpose::acceptance);
  if (!taken(read_rows(exec::cuda{}, rows.made()), "read_rows", found) ||
      !taken(accept(exec::cuda{}, rows.made(), tokens.data(), random, out.data()), "accept", found))
    return;
  const auto made = out.read();
  for_each_row(rows.how.count, found, [&](std::uint32_t r, tally& part) {
    const host_reading<Scalar> host(rows, r);
    const auto expected = host.row.ok() ? host.row->accept(drafted[r], rows.uniforms_of(r).at(purpose::acceptance))
                                        : result<acceptance>(host.row.error());
    part.expect(made[r].why == expected.error(), "status of a test", rows.how.size, r);
    if (!expected) return;
    const bool same = made[r].accepted == expected->accepted && made[r].near_tie == expected->near_tie &&
                      made[r].exact == expected->exact;
    part.decide(same, is_looked_at(r), tally::place_of("the test of a token", rows.how.size, r), [&] {
      return closest_test(drawn_from_row(rows, digests, r), drafted[r],
                          rows.uniforms_of(r).at(purpose::acceptance).uniform());
    });
  });
}

// ---- verify_batch

//! Rounds over the rows of a batch: of 0 to 4 drafts each, with claims, point masses or laws, some with a budget, stop
//! tokens and drafts that are rejected by force.
template <class Scalar>
class rounds_of {
 public:
  rounds_of(scene& where, const batch<Scalar>& rows) : rows_(rows), chosen_(choose_drafts(rows)) {
    generator random{rows.how.seed * 13u + 5u};
    list_law();
    ids_.emplace(where, law_ids_);
    counts_.emplace(where, law_counts_);
    for (std::uint32_t row = 0; row < rows.how.count;) {
      const std::uint32_t length = std::min(random.below(5), rows.how.count - row - 1);
      with_laws_.push_back(random.below(2));
      budgets_.push_back(random.below(8) == 0 ? random.below(4) : no_budget);
      for (std::uint32_t i = 0; i < length; ++i) {
        add(chosen_[row + i], with_laws_.back() != 0);
        forced_.push_back(random.below(40) == 0 ? 1 : 0);
      }
      if (random.below(6) == 0) stops_.push_back(chosen_[row].token);
      stop_begin_.push_back(static_cast<std::uint32_t>(stops_.size()));
      begin.push_back(static_cast<std::uint32_t>(host_drafts.size()));
      row_begin.push_back(row += length + 1);
    }
    drafts_.emplace(where, device_drafts_);
    begin_on_.emplace(where, begin);
    row_begin_on_.emplace(where, row_begin);
    budgets_on_.emplace(where, budgets_);
    forced_on_.emplace(where, forced_);
    stops_on_.emplace(where, stops_);
    stop_begin_on_.emplace(where, stop_begin_);
  }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(begin.size() - 1); }
  [[nodiscard]] device_rounds<Scalar> made() const {
    device_rounds<Scalar> all;
    all.rows = rows_.rows();
    all.transform = rows_.transform();
    all.count = count();
    all.drafts = drafts_->data();
    all.draft_begin = begin_on_->data();
    all.row_begin = row_begin_on_->data();
    all.remaining_budgets = budgets_on_->data();
    all.forced_rejects = forced_on_->data();
    all.stop_tokens = stops_on_->data();
    all.stop_begin = stop_begin_on_->data();
    return all;
  }

  //! The host's verdict on one round, and what it says of its rows.
  template <class Rule>
  [[nodiscard]] result<verdict> host_verdict(const Rule& rule, std::uint32_t round, std::vector<status>& states) const {
    const std::uint32_t first = begin[round], length = length_of(round);
    const host_rows rows{*this, row_begin[round], length + 1};
    verify_request request;
    states.assign(length + 1, {});
    request.row_states = states;
    request.remaining_budget = budgets_[round];
    request.forced_rejects = {forced_.data() + first, length};
    request.stop_tokens = {stops_.data() + stop_begin_[round], stop_begin_[round + 1] - stop_begin_[round]};
    std::size_t needed = 0;
    for (std::uint32_t i = 0; i <= length; ++i)
      needed = std::max(needed, verify_workspace_size(rows_.how.size, rows.transform(i), length));
    std::vector<std::byte> bytes(needed);
    workspace scratch(bytes);
    const auto random = rows_.uniforms_of(round);
    if (!has_law(round))
      return rule.verify(exec::seq, std::span<const claimed_draft>(host_drafts.data() + first, length), rows, random,
                         request, scratch);
    std::vector<draft> drafts;
    for (std::uint32_t i = first; i < first + length; ++i)
      drafts.push_back(draw_access::make(host_drafts[i].token, host_law()));
    return rule.verify(exec::seq, std::span<const draft>(drafts), rows, random, request, scratch);
  }
  [[nodiscard]] std::uint32_t length_of(std::uint32_t round) const { return begin[round + 1] - begin[round]; }

  //! The nearest that a round comes to another verdict, in the tests of the first drafts and in the draw of either of
  //! two verdicts.
  [[nodiscard]] long double closest(const copied_digests<Scalar>& digests, std::uint32_t round, const verdict& one,
                                    const verdict& other) const {
    const std::uint32_t evaluated = std::max(one.counters.evaluated, other.counters.evaluated);
    long double nearest = std::min(closest_draw_of(digests, round, one), closest_draw_of(digests, round, other));
    for (std::uint32_t i = 0; i < std::min(evaluated, length_of(round)); ++i) {
      const claimed_draft& drafted = host_drafts[begin[round] + i];
      const drawn_from row = drawn_from_row(rows_, digests, row_begin[round] + i);
      const law source = host_law();
      drafted_token tested{drafted.token, drafted.count, drafted.resolution};
      if (has_law(round)) tested = {drafted.token, source.count(drafted.token), source.resolution};
      if (is_point(round, i)) tested.count = tested.resolution = 1;
      const auto random = rows_.uniforms_of(round).after(i).at(purpose::acceptance);
      if (row.digest.why.ok()) nearest = std::min(nearest, closest_test(row, tested, random.uniform()));
    }
    return nearest;
  }

  std::vector<claimed_draft> host_drafts{};
  std::vector<std::uint32_t> begin{0}, row_begin{0};

 private:
  struct host_rows {
    const rounds_of& all;
    std::uint32_t first, count;
    [[nodiscard]] std::uint32_t size() const { return count; }
    [[nodiscard]] row_view<Scalar> operator()(std::uint32_t index) const { return all.rows_.host_row(first + index); }
    [[nodiscard]] row_transform transform(std::uint32_t index) const { return all.rows_.host_transform(first + index); }
  };

  [[nodiscard]] bool has_law(std::uint32_t round) const { return with_laws_[round] != 0; }
  [[nodiscard]] bool is_point(std::uint32_t round, std::uint32_t index) const {
    return !has_law(round) && host_drafts[begin[round] + index].count == 0;
  }
  //! The nearest that the draw which ends a round comes to another token.
  [[nodiscard]] long double closest_draw_of(const copied_digests<Scalar>& digests, std::uint32_t round,
                                            const verdict& decided) const {
    const std::uint32_t index = decided.accepted, r = row_begin[round] + index;
    if (decided.source == token_source::none || index > length_of(round) || !digests.rows[r].why.ok()) return 1;
    const drawn_from row = drawn_from_row(rows_, digests, r);
    const bool is_bonus = decided.source == token_source::bonus;
    const auto random =
        rows_.uniforms_of(round).after(index).at(is_bonus ? purpose::bonus_draw : purpose::residual_draw);
    if (is_bonus || decided.source == token_source::forced) {
      const host_reading<Scalar> host(rows_, r);
      const auto drawn = host.row->sample(random);
      return closest_draw(row, {}, random, drawn.ok() ? drawn->trials : 32, 32);
    }
    const law source = host_law();
    taken_from taken;
    if (has_law(round)) taken.source = &source;
    if (is_point(round, index)) taken.point = host_drafts[begin[round] + index].token;
    return closest_draw(row, taken, random, std::min(32u, decided.counters.residual_trials), 32);
  }

  //! One law for all drafts that have one: some listed ids, and a count for every other.
  void list_law() {
    for (std::uint32_t id = 0; id < rows_.how.size; id += 1 + rows_.how.size / 50) {
      law_ids_.push_back(static_cast<token_id>(id));
      law_counts_.push_back(id % 7);
    }
  }
  [[nodiscard]] law law_at(const token_id* ids, const std::uint32_t* counts) const {
    law made{ids, counts, static_cast<std::uint32_t>(law_ids_.size()), 1, 0, rows_.how.size};
    for (const std::uint32_t count : law_counts_) made.resolution += count;
    made.resolution += made.vocab_size - made.size;
    if (made.resolution == 0) made.resolution = 1;
    return made;
  }
  [[nodiscard]] law host_law() const { return law_at(law_ids_.data(), law_counts_.data()); }
  void add(const drafted_token& chosen, bool with_law) {
    device_draft drafted;
    drafted.token = chosen.token;
    drafted.count = chosen.count;
    drafted.resolution = chosen.resolution;
    if (with_law) drafted.source = law_at(ids_->data(), counts_->data());
    device_drafts_.push_back(drafted);
    host_drafts.push_back({chosen.token, chosen.count, chosen.resolution});
  }

  const batch<Scalar>& rows_;
  std::vector<drafted_token> chosen_;
  std::vector<token_id> law_ids_{};
  std::vector<std::uint32_t> law_counts_{}, with_laws_{}, budgets_{}, stop_begin_{0};
  std::vector<token_id> stops_{};
  std::vector<std::uint8_t> forced_{};
  std::vector<device_draft> device_drafts_{};
  std::optional<array<device_draft>> drafts_{};
  std::optional<array<token_id>> ids_{};
  std::optional<array<std::uint32_t>> counts_{}, begin_on_{}, row_begin_on_{}, budgets_on_{}, stop_begin_on_{};
  std::optional<array<token_id>> stops_on_{};
  std::optional<array<std::uint8_t>> forced_on_{};
};

inline bool same_verdict(const verdict& a, const verdict& b) {
  const verdict_counters &x = a.counters, &y = b.counters;
  return a.outcome == b.outcome && a.accepted == b.accepted && a.next_token == b.next_token && a.source == b.source &&
         a.stop == b.stop && a.commit_length == b.commit_length && x.drafted == y.drafted &&
         x.evaluated == y.evaluated && x.accepted == y.accepted && x.near_ties == y.near_ties &&
         x.residual_fallbacks == y.residual_fallbacks && x.residual_trials == y.residual_trials &&
         x.exact_normalisers == y.exact_normalisers && x.forced_rejects == y.forced_rejects &&
         x.invalid_tokens == y.invalid_tokens;
}

//! Verdicts and row states that kernels wrote for all rounds.
struct made_verdicts {
  std::vector<device_verdict> rounds;
  std::vector<status> states;
};

template <class Scalar, class Rule>
void compare_verdicts(const rounds_of<Scalar>& rounds, const Rule& rule, const copied_digests<Scalar>& digests,
                      const made_verdicts& made, tally& found) {
  const std::uint32_t size = rounds.made().rows.size;
  for_each_row(rounds.count(), found, [&](std::uint32_t round, tally& part) {
    std::vector<status> states;
    const result<verdict> expected = rounds.host_verdict(rule, round, states);
    const device_verdict& device = made.rounds[round];
    part.expect(device.why == expected.error(), "status of a round", size, round);
    const auto first = made.states.begin() + rounds.row_begin[round];
    bool same = std::equal(states.begin(), states.end(), first);
    if (!expected || !device.why.ok()) return part.expect(same, "states of rows", size, round);
    same = same && same_verdict(device.decided, *expected);
    const bool is_drawn = std::is_same_v<Rule, token_rule>;  // a greedy round has no near ties
    const bool is_short = !rounds.made().transform.may_truncate() && expected->counters.residual_trials < 32;
    part.decide(same, is_drawn && is_short && is_looked_at(round), tally::place_of("a verdict", size, round),
                [&] { return is_drawn ? rounds.closest(digests, round, device.decided, *expected) : 1; });
  });
}

template <class Scalar>
void check_rounds(scene& where, const batch<Scalar>& rows, const copied_digests<Scalar>& digests, tally& found,
                  tally& greedy) {
  const rounds_of<Scalar> rounds(where, rows);
  const array<device_verdict> out(where, rounds.count());
  const array<status> states(where, rows.how.count);
  exec::cuda how{};
  how.tuning.multiprocessors = 2 * rounds.count();  // few enough for all rows to be read first
  const std::size_t least = verify_memory_size(rounds.made()), most = verify_memory_size(how, rounds.made());
  const array<std::byte> scratch(where, most, contents::none);
  for (const std::size_t bytes : {least, most})
    if (taken(verify_batch(how, device_token_rule{}, rounds.made(), rows.uniforms_on(), {out.data(), states.data()},
                           {scratch.data(), bytes}),
              "verify_batch", found))
      compare_verdicts(rounds, token_rule{}, digests, {out.read(), states.read()}, found);
  if (taken(verify_batch(exec::cuda{}, device_greedy_rule{}, rounds.made(), {out.data(), states.data()}),
            "greedy verify_batch", greedy))
    compare_verdicts(rounds, greedy_rule{}, digests, {out.read(), states.read()}, greedy);
}

}  // namespace gpu_tests

#endif
