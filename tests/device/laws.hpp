// SPDX-License-Identifier: Apache-2.0
//! Measures the distributions of tokens that the functions of a batch draw, accept and commit, by enumerating every
//! uniform. The expected distributions are computed from the logits (law/harness.hpp).
//!
//! `System` selects kernels or Thrust: `how` is a policy; `key` has the numbers that were passed to
//! `answer(key, source)`; `memory` must be told which memory is read and written, and reports errors;
//! `scratch_size(rounds, reads_first)` returns the size of the workspace.
#ifndef SPECVERIFY_TESTS_DEVICE_LAWS_HPP
#define SPECVERIFY_TESTS_DEVICE_LAWS_HPP

#include <specverify/device/results.hpp>
#include <specverify/device/rounds.hpp>
#include <specverify/row/acceptance.hpp>
#include <specverify/row/residual.hpp>

#include <doctest/doctest.h>
#include <device/batches.hpp>

#include "law/harness.hpp"

namespace device_tests {

using law_test::shape;
using law_test::world;

inline constexpr shape shapes[] = {shape::random, shape::zeros, shape::equal, shape::opposite, shape::one_hot_target};
inline constexpr double tolerance = 1e-6;

//! A world of one row, with the distribution of the drafter.
inline world<float> one_row_world(shape which, std::uint32_t vocab_size, std::uint64_t seed) {
  return law_test::make_world<float>(which, vocab_size, 0, seed);
}
inline world<float> at(double temperature, world<float> in) {
  in.transform.temperature = temperature;
  return in;
}
inline world<float> cut(const row_truncation& by, world<float> in) {
  in.name += ", top_k " + std::to_string(by.top_k) + ", top_p " + std::to_string(by.top_p) + ", min_p " +
             std::to_string(by.min_p);
  in.transform.truncation = by;
  return in;
}

//! Truncations by number, by mass, by both, and by the share of the largest entry.
inline constexpr row_truncation cuts[] = {
    {.top_k = 2}, {.top_p = 0.6}, {.top_k = 4, .top_p = 0.9}, {.top_p = 0.9, .min_p = 0.25}};

//! Rows of six ids under each of these truncations, each of which drops some ids.
inline std::vector<world<float>> cut_rows(shape which) {
  std::vector<world<float>> all;
  for (const row_truncation& by : cuts) {
    const world<float> whole = at(1.25, one_row_world(which, 6, 3));
    all.push_back(cut(by, whole));
    const auto ids = [](const law_test::probabilities& p) {
      return std::count_if(p.begin(), p.end(), [](double of_id) { return of_id > 0.0; });
    };
    const auto kept = ids(all.back().target_law(0));
    REQUIRE(kept > 1);
    REQUIRE(kept < ids(whole.target_law(0)));
  }
  return all;
}

inline device_transform transform_of(const world<float>& in) {
  device_transform made;
  made.temperature = in.transform.temperature;
  made.truncation = in.transform.truncation;
  return made;
}

//! The first row of a world on a device, with the drafter's distribution and scripted numbers.
template <class System>
class one_row {
 public:
  explicit one_row(const world<float>& in)
      : logits_(in.rows[0]), taken_(in.drafter[0].view()), memory_(device_batch_size(rows(), transform_of(in))) {
    const std::size_t size = device_batch_size(rows(), transform_of(in));
    const auto made = make_device_batch(rows(), transform_of(in), {memory_.data(), size});
    REQUIRE(made.ok());
    batch_ = *made;
    seen_.input(logits_.data(), logits_.size());
    seen_.input(&taken_, 1);
    seen_.input(taken_.ids, taken_.size);
    seen_.input(taken_.counts, taken_.size);
    seen_.input(&drafted_, 1);
    seen_.input(&key_, 1);
    seen_.input(&zero_, 1);
    seen_.output(&token_, 1);
    seen_.output(&tested_, 1);
    seen_.output(memory_.data(), size);
  }
  void read() { REQUIRE(read_rows(System::how, batch_).ok()); }

  //! Returns the token that `call(stream, out)` draws.
  template <class Call>
  [[nodiscard]] token_id token(const scripted_source& source, purpose use, const Call& call) {
    System::answer(key_, source);
    REQUIRE(call(random_.at(use), &token_).ok());
    REQUIRE(token_.why.ok());
    return token_.token;
  }
  [[nodiscard]] token_id drawn(const scripted_source& source, std::uint32_t trial_cap) {
    return token(source, purpose::draft_draw, [&](const auto& stream, device_token* out) {
      return sample(System::how, batch_, stream, out, {trial_cap});
    });
  }
  [[nodiscard]] token_id replaced(const scripted_source& source, std::uint32_t trial_cap) {
    return token(source, purpose::residual_draw, [&](const auto& stream, device_token* out) {
      return residual(System::how, batch_, &taken_, stream, out, {trial_cap, 1.0});
    });
  }
  [[nodiscard]] int accepted(const scripted_source& source, const drafted_token& drafted) {
    drafted_ = drafted;
    System::answer(key_, source);
    REQUIRE(accept(System::how, batch_, &drafted_, random_.at(purpose::acceptance), &tested_).ok());
    REQUIRE(tested_.why.ok());
    return tested_.accepted ? 1 : 0;
  }

  [[nodiscard]] const device_batch<float>& batch() const { return batch_; }
  [[nodiscard]] auto& seen() { return seen_; }

 private:
  [[nodiscard]] device_rows<float> rows() const {
    const auto size = static_cast<std::uint32_t>(logits_.size());
    return {logits_.data(), size, 1, size};
  }

  typename System::memory seen_;
  std::vector<float> logits_;
  law taken_;
  aligned_memory<std::byte> memory_;
  device_batch<float> batch_;
  typename System::key key_;
  std::uint32_t zero_ = 0;
  device_uniforms<typename System::key> random_{&key_, 0, &zero_, &zero_};
  drafted_token drafted_;
  device_token token_;
  device_acceptance tested_;
};

//! One round over a world on a device, with scripted numbers. The CPU draws the drafts, as an edge does.
template <class System>
class one_round {
 public:
  one_round(const world<float>& in, bool reads_first)
      : in_(in),
        drafts_(in.draft_length),
        rows_(std::size_t{in.draft_length + 1} * in.vocab_size),
        draft_begin_{0, in.draft_length},
        memory_size_(System::scratch_size(rounds(), reads_first)),
        memory_(memory_size_) {
    seen_.input(rows_.data(), rows_.size());
    for (const law_test::owned_law& law : in.drafter) {
      seen_.input(law.ids.data(), law.ids.size());
      seen_.input(law.counts.data(), law.counts.size());
    }
    seen_.input(drafts_.data(), drafts_.size());
    seen_.input(draft_begin_.data(), 2);
    seen_.input(&key_, 1);
    seen_.input(&zero_, 1);
    seen_.output(&verdict_, 1);
    seen_.output(memory_.data(), memory_size_);
  }

  [[nodiscard]] law_test::sequence committed(const scripted_source& source, std::uint32_t trial_cap) {
    law_test::sequence text = draft_from(uniforms{source, 0, 0});
    System::answer(key_, source);
    REQUIRE(verify_batch(System::how, device_token_rule{trial_cap}, rounds(),
                         device_uniforms<typename System::key>{&key_, 0, &zero_, &zero_}, {&verdict_, nullptr},
                         {memory_.data(), memory_size_})
                .ok());
    REQUIRE(verdict_.why.ok());
    text.resize(verdict_.decided.accepted);
    if (verdict_.decided.next_token != no_token) text.push_back(verdict_.decided.next_token);
    return text;
  }
  [[nodiscard]] std::string report() const { return seen_.report(); }

 private:
  //! Draws the drafts, and arranges the rows to match.
  [[nodiscard]] law_test::sequence draft_from(const uniforms<scripted_source>& random) {
    std::size_t node = 0;
    law_test::sequence text;
    for (std::uint32_t i = 0; i <= in_.draft_length; ++i) {
      std::copy(in_.rows[node].begin(), in_.rows[node].end(), rows_.begin() + i * in_.vocab_size);
      if (i == in_.draft_length) break;
      const draft drawn = draw(in_.drafter[node].view(), random.after(i).at(purpose::draft_draw));
      drafts_[i] = {drawn.token(), 0, 0, drawn.source_law()};
      text.push_back(drawn.token());
      node = in_.child(node, drawn.token());
    }
    return text;
  }
  [[nodiscard]] device_rounds<float> rounds() const {
    device_rounds<float> all;
    all.rows = {rows_.data(), in_.vocab_size, in_.draft_length + 1, in_.vocab_size};
    all.transform = transform_of(in_);
    all.count = 1;
    all.drafts = drafts_.data();
    all.draft_begin = draft_begin_.data();
    return all;
  }

  typename System::memory seen_;
  const world<float>& in_;
  std::vector<device_draft> drafts_;
  std::vector<float> rows_;
  std::vector<std::uint32_t> draft_begin_;
  std::size_t memory_size_;
  aligned_memory<std::byte> memory_;
  typename System::key key_;
  std::uint32_t zero_ = 0;
  device_verdict verdict_;
};

//! Returns the distribution of `outcome(source)` over all numbers.
template <class Outcome>
[[nodiscard]] auto law_of(const Outcome& outcome) {
  auto found = enumerate_law(outcome, {.checks = law_test::long_run() ? 2000u : 100u});
  REQUIRE(found.complete);
  CHECK_FALSE(found.grid_may_be_too_coarse);
  return found;
}

//! Checks draws from the row of a world.
template <class System>
void check_draws(const world<float>& in, std::uint32_t trial_cap) {
  INFO(in.name, ", trials ", trial_cap);
  one_row<System> device(in);
  device.read();
  const auto drawn = law_of([&](const scripted_source& source) { return device.drawn(source, trial_cap); });
  const double drawn_distance = total_variation(drawn, in.target_law(0));
  CHECK(drawn_distance <= tolerance);
  CHECK(device.seen().report() == "");
}

//! Checks draws from the residual of the row and the drafter's distribution.
template <class System>
void check_residuals(const world<float>& in, std::uint32_t trial_cap) {
  INFO(in.name, ", trials ", trial_cap);
  law_test::probabilities left = in.target_law(0);
  const law_test::probabilities taken = in.drafter[0].dense(in.vocab_size);
  double mass = 0;
  for (std::size_t v = 0; v < left.size(); ++v) mass += left[v] = std::max(left[v] - taken[v], 0.0);
  for (double& p : left) p /= mass;
  one_row<System> device(in);
  device.read();
  const auto drawn = law_of([&](const scripted_source& source) { return device.replaced(source, trial_cap); });
  const double residual_distance = total_variation(drawn, left);
  CHECK(residual_distance <= tolerance);
  CHECK(device.seen().report() == "");
}

//! Checks that each token, drawn from the drafter's distribution, is accepted with probability min(1, p / q).
template <class System>
void check_tests(const world<float>& in) {
  INFO(in.name);
  const law_test::probabilities target = in.target_law(0), drafter = in.drafter[0].dense(in.vocab_size);
  const law source = in.drafter[0].view();
  one_row<System> device(in);
  device.read();
  for (std::uint32_t v = 0; v < in.vocab_size; ++v) {
    CAPTURE(v);
    const auto token = static_cast<token_id>(v);
    const drafted_token drafted{token, source.count(token), source.resolution};
    const auto tested = law_of([&](const scripted_source& numbers) { return device.accepted(numbers, drafted); });
    double stands = target[v] > 0.0 ? 1.0 : 0.0;  // also for tokens that cannot be drawn
    if (drafter[v] > 0.0) stands = std::min(1.0, target[v] / drafter[v]);
    const double of_both[] = {1.0 - stands, stands};
    const double acceptance_distance = total_variation(tested, of_both);
    CHECK(acceptance_distance <= tolerance);
  }
  CHECK(device.seen().report() == "");
}

//! Checks the tokens that a round commits. `reads_first`: kernels read all rows before they walk the round.
template <class System>
void check_round(const world<float>& in, std::uint32_t trial_cap, bool reads_first = false) {
  INFO(in.name, ", trials ", trial_cap);
  CAPTURE(reads_first);
  one_round<System> device(in, reads_first);
  const auto committed = law_of([&](const scripted_source& source) { return device.committed(source, trial_cap); });
  const double committed_text_distance = law_test::text_distance(committed, in);
  CHECK(committed_text_distance <= tolerance);
  CHECK(device.report() == "");
}

}  // namespace device_tests

#endif
