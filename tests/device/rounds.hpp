// SPDX-License-Identifier: Apache-2.0
//! Batches of rounds with different lengths for the verification kernels, and the CPU's rules on the same rounds.
#ifndef SPECVERIFY_TESTS_DEVICE_ROUNDS_HPP
#define SPECVERIFY_TESTS_DEVICE_ROUNDS_HPP

#include <specverify/device/rounds.hpp>
#include <specverify/distribution/fp16_law.hpp>
#include <specverify/verify/greedy.hpp>
#include <specverify/verify/token.hpp>

#include <device/batches.hpp>

#include <algorithm>

namespace device_tests {

enum class kind_of_drafts : std::uint8_t { laws, fp16_laws, point_masses, claims };
inline constexpr std::uint32_t kinds_of_drafts = 4;

//! Rounds over the rows of a batch. Each round has one kind of drafts, because the CPU has one type per kind.
template <class Scalar>
class ragged_rounds {
 public:
  //! Round i has lengths[i] drafts and one more row. `seed` selects tokens, laws, budgets, stop tokens and forced
  //! rejects.
  ragged_rounds(batch<Scalar>& rows, const std::vector<std::uint32_t>& lengths, std::uint64_t seed)
      : rows_(rows), random_{seed * 7919u + 17u} {
    for (std::uint32_t length : lengths) add_round(length);
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      keys_.push_back({{static_cast<std::uint32_t>(random_.next()), i}});
      positions_.push_back(static_cast<std::uint32_t>(random_.next() % 1000));
      rounds_.push_back(static_cast<std::uint32_t>(random_.next() % 7));
    }
    // the laws' arrays must not move from here on
    for (std::size_t d = 0; d < drafts_.size(); ++d) {
      if (drafts_[d].source.vocab_size == 0) continue;
      drafts_[d].source.ids = ids_.data() + law_begin_[d];
      drafts_[d].source.counts = counts_.data() + law_begin_[d];
    }
    verdicts_.resize(lengths.size());
    states_.resize(rows.count());
    least_size_ = verify_memory_size(made());
    memory_size_ = std::max(least_size_, device_batch_size(rows.rows(), rows.transform()));
    memory_.emplace(memory_size_);
  }
  static std::uint32_t rows_for(const std::vector<std::uint32_t>& lengths) {
    std::uint32_t count = 0;
    for (const std::uint32_t length : lengths) count += length + 1;
    return count;
  }

  [[nodiscard]] device_rounds<Scalar> made() {
    device_rounds<Scalar> all;
    all.rows = rows_.rows();
    all.transform = rows_.transform();
    all.count = static_cast<std::uint32_t>(draft_begin_.size() - 1);
    all.drafts = drafts_.data();
    all.draft_begin = draft_begin_.data();
    if (explicit_rows) all.row_begin = row_begin_.data();
    if (with_budgets) all.remaining_budgets = budgets_.data();
    if (with_stops) {
      all.stop_tokens = stops_.data();
      all.stop_begin = stop_begin_.data();
    }
    if (with_forced) all.forced_rejects = forced_.data();
    all.bonus = bonus;
    return all;
  }
  [[nodiscard]] device_uniforms<> random() const { return {keys_.data(), 1, positions_.data(), rounds_.data()}; }
  [[nodiscard]] device_verdicts out() { return {verdicts_.data(), states_.data()}; }
  //! One digest per round, so each block reads the rows of its round.
  [[nodiscard]] device_memory scratch() { return {memory_->data(), least_size_}; }
  //! Also one digest per row.
  [[nodiscard]] device_memory scratch_of_rows() { return {memory_->data(), memory_size_}; }

  template <class Gpu>
  void name_to(Gpu& gpu) {
    rows_.name_to(gpu);
    gpu.input(drafts_.data(), drafts_.size());
    gpu.input(ids_.data(), ids_.size());
    gpu.input(counts_.data(), counts_.size());
    gpu.input(draft_begin_.data(), draft_begin_.size());
    gpu.input(row_begin_.data(), row_begin_.size());
    gpu.input(budgets_.data(), budgets_.size());
    gpu.input(stops_.data(), stops_.size());
    gpu.input(stop_begin_.data(), stop_begin_.size());
    gpu.input(forced_.data(), forced_.size());
    gpu.input(keys_.data(), keys_.size());
    gpu.input(positions_.data(), positions_.size());
    gpu.input(rounds_.data(), rounds_.size());
    gpu.output(verdicts_.data(), verdicts_.size());
    gpu.output(states_.data(), states_.size());
    gpu.output(memory_->data(), memory_size_);
  }

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(verdicts_.size()); }
  [[nodiscard]] const device_verdict& verdict_of(std::uint32_t round) const { return verdicts_[round]; }
  [[nodiscard]] std::uint32_t first_row(std::uint32_t round) const { return row_begin_[round]; }
  [[nodiscard]] std::uint32_t rows_of(std::uint32_t round) const { return row_begin_[round + 1] - row_begin_[round]; }
  [[nodiscard]] std::vector<device_draft>& drafts() { return drafts_; }
  [[nodiscard]] std::vector<std::uint32_t>& row_begin() { return row_begin_; }

  //! The verdict and the row states of a round must equal those of the CPU.
  template <class Rule>
  void compare(const Rule& rule, std::uint32_t round) {
    const std::vector<status> states = compare_verdict(rule, round);
    const bool begun = states[0].code != errc::unsupported;
    for (std::uint32_t i = 0; begun && i < rows_of(round); ++i) {
      CAPTURE(i);
      REQUIRE(states_[row_begin_[round] + i] == states[i]);
    }
  }
  //! Checks all rounds. A round with a row that keeps more than `room` ids must have an error.
  template <class Rule>
  void compare_without_room(const Rule& rule, std::uint32_t room) {
    std::uint32_t too_large = 0;
    for (std::uint32_t i = 0; i < count(); ++i) {
      CAPTURE(i);
      const status why = verdicts_[i].why;
      if (why.code != errc::support_too_large) {
        compare(rule, i);
        continue;
      }
      ++too_large;
      const std::uint32_t r = row_begin_[i] + why.where;
      const auto expected = row_cases::make_digest(exec::seq, rows_.host_row(r), rows_.host_transform(r), {});
      CHECK(expected.value.kept_ids.count > room);
    }
    CHECK(too_large > 0);
    CHECK(too_large < count());
  }
  //! Compares only the verdict, and returns the CPU's row states.
  template <class Rule>
  std::vector<status> compare_verdict(const Rule& rule, std::uint32_t round) {
    CAPTURE(round);
    const std::uint32_t first = draft_begin_[round], length = draft_begin_[round + 1] - first;
    std::vector<status> states(std::max(rows_of(round), length + 1), status{errc::unsupported, part::host, 7});
    const result<verdict> expected = verify_on_host(rule, round, first, length, states);
    const device_verdict& found = verdicts_[round];
    REQUIRE(found.why == expected.error());
    if (expected.ok()) compare(found.decided, *expected);
    return states;
  }

  static void compare(const verdict& found, const verdict& expected) {
    REQUIRE(found.outcome == expected.outcome);
    REQUIRE(found.accepted == expected.accepted);
    REQUIRE(found.next_token == expected.next_token);
    REQUIRE(found.source == expected.source);
    REQUIRE(found.stop == expected.stop);
    REQUIRE(found.commit_length == expected.commit_length);
    const verdict_counters &a = found.counters, &b = expected.counters;
    REQUIRE(a.drafted == b.drafted);
    REQUIRE(a.evaluated == b.evaluated);
    REQUIRE(a.accepted == b.accepted);
    REQUIRE(a.near_ties == b.near_ties);
    REQUIRE(a.residual_fallbacks == b.residual_fallbacks);
    REQUIRE(a.residual_trials == b.residual_trials);
    REQUIRE(a.exact_normalisers == b.exact_normalisers);
    REQUIRE(a.forced_rejects == b.forced_rejects);
    REQUIRE(a.invalid_tokens == b.invalid_tokens);
  }

  bool explicit_rows = true, with_budgets = true, with_stops = true, with_forced = true, bonus = true;

 private:
  struct host_rows {
    ragged_rounds& all;
    std::uint32_t first, count;
    [[nodiscard]] std::uint32_t size() const { return count; }
    [[nodiscard]] row_view<Scalar> operator()(std::uint32_t index) const { return all.rows_.host_row(first + index); }
    [[nodiscard]] row_transform transform(std::uint32_t index) const { return all.rows_.host_transform(first + index); }
  };

  template <class Rule>
  [[nodiscard]] result<verdict> verify_on_host(const Rule& rule, std::uint32_t round, std::uint32_t first,
                                               std::uint32_t length, std::vector<status>& states) {
    verify_request request;
    request.bonus = bonus;
    request.row_states = states;
    if (with_budgets) request.remaining_budget = budgets_[round];
    if (with_stops)
      request.stop_tokens = {stops_.data() + stop_begin_[round], stop_begin_[round + 1] - stop_begin_[round]};
    if (with_forced) request.forced_rejects = {forced_.data() + first, length};
    const uniforms random{philox{keys_[round]}, positions_[round], rounds_[round]};
    const host_rows rows{*this, row_begin_[round], rows_of(round)};
    std::size_t needed = 0;
    for (std::uint32_t i = 0; i < rows.count; ++i)
      needed = std::max(needed, verify_workspace_size(rows_.size(), rows.transform(i), length));
    std::vector<std::byte> bytes(needed);
    workspace scratch(bytes);
    if (kinds_[round] == kind_of_drafts::laws || kinds_[round] == kind_of_drafts::fp16_laws) {
      std::vector<draft> drafts;
      for (std::uint32_t i = first; i < first + length; ++i)
        drafts.push_back(draw_access::make(drafts_[i].token, drafts_[i].source));
      return rule.verify(exec::seq, std::span<const draft>(drafts), rows, random, request, scratch);
    }
    std::vector<claimed_draft> drafts;
    for (std::uint32_t i = first; i < first + length; ++i)
      drafts.push_back({drafts_[i].token, drafts_[i].count, drafts_[i].resolution});
    return rule.verify(exec::seq, std::span<const claimed_draft>(drafts), rows, random, request, scratch);
  }

  [[nodiscard]] std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(random_.next() >> 33) % bound;
  }

  //! Returns a token, usually one with a high probability.
  [[nodiscard]] token_id choose_token(std::uint32_t row) {
    const std::uint32_t how = below(40);
    if (how == 0) return static_cast<token_id>(rows_.size() + below(3));
    if (how == 1) return -5;
    if (how < 5) return static_cast<token_id>(below(rows_.size()));
    const row_transform transform = rows_.host_transform(row);
    std::vector<std::byte> bytes(digest_workspace_size(rows_.size(), transform, {}));
    workspace scratch(bytes);
    const auto reading = read_row(exec::seq, rows_.host_row(row), transform, {}, scratch);
    if (!reading) return 0;
    if (how < 20) return reading->argmax();
    const auto drawn = reading->sample(uniforms{philox{{{how, row}}}, row, 0}.at(purpose::draft_draw));
    return drawn.ok() ? drawn->token : 0;
  }

  void add_law(device_draft& drafted, std::uint32_t row, bool fp16) {
    law_begin_.back() = ids_.size();
    const std::uint32_t size = rows_.size();
    drafted.source.vocab_size = size;
    if (fp16) {
      const row_transform transform = rows_.host_transform(row);
      std::vector<std::byte> bytes(digest_workspace_size(size, transform, {}) + fp16_law_workspace_size(size));
      workspace scratch(bytes);
      const auto reading = read_row(exec::seq, rows_.host_row(row), transform, {}, scratch);
      const auto made = reading.ok() ? fp16_law(*reading, scratch) : result<law>(reading.error());
      if (made.ok()) {
        ids_.insert(ids_.end(), made->ids, made->ids + made->size);
        counts_.insert(counts_.end(), made->counts, made->counts + made->size);
        drafted.source.size = made->size;
        drafted.source.resolution = made->resolution;
        return;
      }
    }
    const std::uint32_t step = 1 + below(size < 64 ? 3 : size / 20);
    for (std::uint32_t id = below(step); id < size; id += step) {
      ids_.push_back(static_cast<token_id>(id));
      counts_.push_back(below(5));
      drafted.source.resolution += counts_.back();
      ++drafted.source.size;
    }
    drafted.source.tail_count = below(3) == 0 ? 1 + below(3) : 0;
    drafted.source.resolution += drafted.source.tail_count * (size - drafted.source.size);
    if (drafted.source.resolution == 0) {  // sometimes an invalid draft, for which the round must have an error
      drafted.source.tail_count = 1;
      drafted.source.resolution = size - drafted.source.size;
    }
  }

  void add_round(std::uint32_t length) {
    const auto kind = static_cast<kind_of_drafts>(below(kinds_of_drafts));
    kinds_.push_back(kind);
    const std::uint32_t first = row_begin_.back();
    for (std::uint32_t i = 0; i < length; ++i) {
      device_draft drafted;
      law_begin_.push_back(0);
      drafted.token = choose_token(first + i);
      if (kind == kind_of_drafts::laws || kind == kind_of_drafts::fp16_laws)
        add_law(drafted, first + i, kind == kind_of_drafts::fp16_laws);
      if (kind == kind_of_drafts::claims) drafted.count = drafted.resolution = 1 + below(20);
      if (kind == kind_of_drafts::claims) drafted.count = below(20) == 0 ? 21 : 1 + below(drafted.resolution);
      if (below(60) == 0) drafted.token = no_token;
      forced_.push_back(below(40) == 0 ? 1 : 0);
      drafts_.push_back(drafted);
    }
    draft_begin_.push_back(static_cast<std::uint32_t>(drafts_.size()));
    row_begin_.push_back(first + length + 1);
    budgets_.push_back(below(6) == 0 ? below(4) : no_budget);
    for (std::uint32_t i = below(4); i > 0; --i) stops_.push_back(choose_token(first + below(length + 1)));
    stop_begin_.push_back(static_cast<std::uint32_t>(stops_.size()));
  }

  batch<Scalar>& rows_;
  generator random_;
  std::vector<kind_of_drafts> kinds_;
  std::vector<device_draft> drafts_;
  std::vector<std::size_t> law_begin_;
  std::vector<token_id> ids_, stops_;
  std::vector<std::uint32_t> counts_, draft_begin_{0}, row_begin_{0}, stop_begin_{0}, budgets_, positions_, rounds_;
  std::vector<std::uint8_t> forced_;
  std::vector<philox_key> keys_;
  std::vector<device_verdict> verdicts_;
  std::vector<status> states_;
  std::optional<aligned_memory<std::byte>> memory_;
  std::size_t least_size_ = 0, memory_size_ = 0;
};

}  // namespace device_tests

#endif
