// SPDX-License-Identifier: Apache-2.0
// The laws of what the CUDA kernels draw and commit, measured on the block simulator: every uniform is enumerated.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/residual.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/verify.cuh>

#include <doctest/doctest.h>
#include <device/batches.hpp>
#include <device/draws.hpp>

#include "law/harness.hpp"

using namespace device_tests;
using law_test::shape;
using law_test::world;

namespace {

//! One row on the device, with a law that may be subtracted, under scripted numbers.
class one_row {
 public:
  one_row(const std::vector<float>& logits, double temperature, const law_test::owned_law& subtracted)
      : logits_(logits), taken_(subtracted.view()), memory_(device_batch_size(rows(), {})) {
    device_transform transform;
    transform.temperature = temperature;
    const auto made = make_device_batch(rows(), transform, {memory_.data(), device_batch_size(rows(), {})});
    REQUIRE(made.ok());
    batch_ = *made;
    gpu_.input(logits_.data(), logits_.size());
    gpu_.input(&taken_, 1);
    gpu_.input(taken_.ids, taken_.size);
    gpu_.input(taken_.counts, taken_.size);
    gpu_.input(&key_, 1);
    gpu_.input(&zero_, 1);
    gpu_.output(&token_, 1);
    gpu_.output(memory_.data(), device_batch_size(rows(), {}));
    REQUIRE(read_rows(exec::cuda{}, batch_).ok());
  }
  [[nodiscard]] token_id sample(const scripted_source& source, std::uint32_t trial_cap) {
    answer_with(source);
    const auto stream = random_.at(purpose::draft_draw);
    REQUIRE(specverify::sample(exec::cuda{}, batch_, stream, &token_, {trial_cap}).ok());
    return token_.token;
  }
  [[nodiscard]] token_id residual(const scripted_source& source, const residual_options& options) {
    answer_with(source);
    const auto stream = random_.at(purpose::residual_draw);
    REQUIRE(specverify::residual(exec::cuda{}, batch_, &taken_, stream, &token_, options).ok());
    return token_.token;
  }
  [[nodiscard]] std::string report() const { return gpu_.report(); }

 private:
  [[nodiscard]] device_rows<float> rows() const {
    const auto size = static_cast<std::uint32_t>(logits_.size());
    return {logits_.data(), size, 1, size};
  }

  simulator::device gpu_;
  std::vector<float> logits_;
  law taken_;
  aligned_memory<std::byte> memory_;
  device_batch<float> batch_;
  scripted_key key_;
  std::uint32_t zero_ = 0;
  device_uniforms<scripted_key> random_{&key_, 0, &zero_, &zero_};
  device_token token_;
};

//! One round over a world on the device, under scripted numbers: the drafts are drawn on the host, as an edge does.
class one_round {
 public:
  //! `reads_first`: all rows are read before the round is walked.
  one_round(const world<float>& in, bool reads_first)
      : in_(in),
        reads_first_(reads_first),
        drafts_(in.draft_length),
        rows_(std::size_t{in.draft_length + 1} * in.vocab_size),
        draft_begin_{0, in.draft_length},
        memory_(memory_size()) {
    gpu_.input(rows_.data(), rows_.size());
    for (const law_test::owned_law& law : in.drafter) {
      gpu_.input(law.ids.data(), law.ids.size());
      gpu_.input(law.counts.data(), law.counts.size());
    }
    gpu_.input(drafts_.data(), drafts_.size());
    gpu_.input(draft_begin_.data(), 2);
    gpu_.input(&key_, 1);
    gpu_.input(&zero_, 1);
    gpu_.output(&verdict_, 1);
    gpu_.output(memory_.data(), memory_size());
  }

  [[nodiscard]] law_test::sequence committed(const scripted_source& source, std::uint32_t trial_cap) {
    const uniforms random{source, 0, 0};
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
    answer_with(source);
    REQUIRE(verify_batch(exec::cuda{}, device_token_rule{trial_cap}, rounds(),
                         device_uniforms<scripted_key>{&key_, 0, &zero_, &zero_}, {&verdict_, nullptr},
                         {memory_.data(), memory_size()})
                .ok());
    REQUIRE(verdict_.why.ok());
    text.resize(verdict_.decided.accepted);
    if (verdict_.decided.next_token != no_token) text.push_back(verdict_.decided.next_token);
    return text;
  }
  [[nodiscard]] std::string report() const { return gpu_.report(); }

 private:
  [[nodiscard]] device_rounds<float> rounds() const {
    device_rounds<float> all;
    all.rows = {rows_.data(), in_.vocab_size, in_.draft_length + 1, in_.vocab_size};
    all.transform.temperature = in_.transform.temperature;
    all.count = 1;
    all.drafts = drafts_.data();
    all.draft_begin = draft_begin_.data();
    return all;
  }
  [[nodiscard]] std::size_t memory_size() const {
    return reads_first_ ? verify_memory_size(exec::cuda{}, rounds()) : verify_memory_size(rounds());
  }

  simulator::device gpu_;
  const world<float>& in_;
  bool reads_first_;
  std::vector<device_draft> drafts_;
  std::vector<float> rows_;
  std::vector<std::uint32_t> draft_begin_;
  aligned_memory<std::byte> memory_;
  scripted_key key_;
  std::uint32_t zero_ = 0;
  device_verdict verdict_;
};

constexpr shape shapes[] = {shape::random, shape::zeros, shape::equal, shape::opposite, shape::one_hot_target};
constexpr double tolerance = 1e-6;

//! `reads_first`: all rows are read before the round is walked.
void check_round(shape which, std::uint32_t vocab_size, std::uint32_t length, std::uint32_t trial_cap,
                 bool reads_first) {
  const world<float> in = law_test::make_world<float>(which, vocab_size, length, 1);
  INFO(in.name);
  CAPTURE(reads_first);
  one_round device(in, reads_first);
  const auto committed =
      enumerate_law([&](const scripted_source& source) { return device.committed(source, trial_cap); },
                    {.checks = is_long() ? 2000u : 100u});
  REQUIRE(committed.complete);
  CHECK_FALSE(committed.grid_may_be_too_coarse);
  const double committed_text_distance = law_test::text_distance(committed, in);
  CHECK(committed_text_distance <= tolerance);
  CHECK(device.report() == "");
}

}  // namespace

TEST_CASE("the law of a draw, by trials and by the exact rule, is that of the row") {
  for (const shape which : shapes) {
    const world<float> in = law_test::make_world<float>(which, 5, 0, 3);
    for (const std::uint32_t trial_cap : {0u, 1u, 2u}) {
      if (trial_cap == 2 && !is_long()) continue;
      INFO(in.name, ", trials ", trial_cap);
      one_row device(in.rows[0], 1.0, in.drafter[0]);
      const auto drawn = enumerate_law([&](const scripted_source& source) { return device.sample(source, trial_cap); },
                                       {.checks = is_long() ? 2000u : 100u});
      REQUIRE(drawn.complete);
      const double drawn_distance = total_variation(drawn, in.target_law(0));
      CHECK(drawn_distance <= tolerance);
      CHECK(device.report() == "");
    }
  }
}

TEST_CASE("the law of a residual is what the subtracted law leaves of the row") {
  for (const shape which : {shape::random, shape::zeros, shape::opposite}) {
    const world<float> in = law_test::make_world<float>(which, 4, 0, 5);
    for (const std::uint32_t trial_cap : {0u, 1u, 2u}) {
      if (trial_cap == 2 && which != shape::random && !is_long()) continue;  // two at once
      INFO(in.name, ", trials ", trial_cap);
      law_test::probabilities left = in.target_law(0);
      const law_test::probabilities taken = in.drafter[0].dense(4);
      double mass = 0;
      for (std::size_t v = 0; v < left.size(); ++v) mass += left[v] = std::max(left[v] - taken[v], 0.0);
      for (double& p : left) p /= mass;
      one_row device(in.rows[0], 1.0, in.drafter[0]);
      const auto drawn = enumerate_law(
          [&](const scripted_source& source) {
            return device.residual(source, {trial_cap, 1.0});
          },
          {.checks = is_long() ? 2000u : 100u});
      REQUIRE(drawn.complete);
      const double residual_distance = total_variation(drawn, left);
      CHECK(residual_distance <= tolerance);
      CHECK(device.report() == "");
    }
  }
}

TEST_CASE("the law of what a round commits is that of the target") {
  check_round(shape::random, 3, 1, 1, false);
  check_round(shape::opposite, 3, 1, 1, true);
  check_round(shape::random, 2, 2, 1, true);
}

TEST_CASE("the law of longer rounds, in the long run") {
  if (!is_long()) return;
  for (const bool reads_first : {false, true}) {
    for (const shape which : shapes) check_round(which, 3, 1, 1, reads_first);
    for (const shape which : shapes) check_round(which, 6, 1, 1, reads_first);
    for (const shape which : shapes) check_round(which, 4, 2, 1, reads_first);
    check_round(shape::random, 6, 1, 2, reads_first);  // two trials at once
  }
}
