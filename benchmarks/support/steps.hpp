// SPDX-License-Identifier: Apache-2.0
//! Creates rounds of eight drafts for benchmarks of whole steps: rows of a drafter and of a target near it,
//! distributions of K-SQS and C-SQS, messages, and a stopwatch that measures the share of each part in a step.
#ifndef SPECVERIFY_BENCHMARKS_SUPPORT_STEPS_HPP
#define SPECVERIFY_BENCHMARKS_SUPPORT_STEPS_HPP

#include <specverify/codec/message.hpp>
#include <specverify/core/random.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>
#include <specverify/verify/token.hpp>

#include "inputs.hpp"

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace bench_steps {

using namespace bench_inputs;

inline constexpr std::uint32_t vocab_size = 128256, resolution = 100, length = 8, rounds_held = 2;

//! Seconds per part, without the time to read the clock. `off`: no clock is read.
class watch {
 public:
  explicit watch(bool on) : on_(on) {
    if (!on) return;
    for (int i = 0; i < 1000; ++i) {
      const double spent = -(now() - now());
      clock_ = i == 0 || spent < clock_ ? spent : clock_;
    }
  }
  void start() {
    if (on_) last_ = now();
  }
  void end_of(std::size_t part) {
    if (!on_) return;
    const double at = now();
    spent_[part] += at - last_ - clock_;
    last_ = now();
  }
  [[nodiscard]] double spent(std::size_t part) const { return spent_[part]; }

  //! Reports the counters "NAME %" of all parts.
  template <std::size_t Parts>
  void report(benchmark::State& state, const std::array<const char*, Parts>& names) const {
    double all = 0;
    for (std::size_t part = 0; part < Parts; ++part) all += spent_[part];
    for (std::size_t part = 0; part < Parts; ++part) {
      if (spent_[part] > 0) state.counters[std::string(names[part]) + "_%"] = 100 * spent_[part] / all;
    }
  }

 private:
  static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  bool on_;
  double clock_ = 0, last_ = 0;
  std::array<double, 8> spent_{};
};

//! Peaked rows of a drafter (`length` rows per round) and of a target (one more). The target's logits are those of the
//! drafter plus noise with deviation 0.4.
struct model_rows {
  std::vector<std::vector<float>> drafter, target;

  model_rows() {
    for (std::uint32_t i = 0; i < rounds_held * (length + 1); ++i) {
      const std::vector<float> row = make_row(vocab_size, i, shape::peak);
      const std::vector<float> noise = make_row(vocab_size, 1000 + i, shape::flat);  // deviation 3
      std::vector<float> near = row;
      for (std::uint32_t v = 0; v < vocab_size; ++v) near[v] += 0.4f / 3.0f * noise[v];
      if (i % (length + 1) != length) drafter.push_back(row);
      target.push_back(near);
    }
  }
};

inline const model_rows& models() {
  static const model_rows held;
  return held;
}

//! Returns the microseconds of a plain sum of one of the target's rows, which take turns.
inline double floor_us() {
  rows all(16, false);
  all.values = models().target;
  return 1e6 * read_floor(all);
}

inline top_k k_sqs() { return {64}; }
inline conformal c_sqs() {
  conformal set;
  set.target = 0.1;  // the mass of the bulk of these rows
  set.max_support_size = 256;
  return set;
}

//! The device's half of a round, without the model.
template <class Sparsifier>
class edge {
 public:
  enum part : std::size_t { read, support, counts, draw, perturb, bytes };
  static constexpr std::array<const char*, 6> parts{"read", "support", "counts", "draw", "perturb", "bytes"};

  edge(const Sparsifier& sparsifier, bool perturbed)
      : sparsifier_(sparsifier), state_(sparsifier.initial_state()), perturbed_(perturbed), memory_(4u << 20) {}

  //! Returns the message of a round, or an empty span after an error.
  std::span<const std::byte> round(std::uint32_t number, watch& spent) {
    block_.clear();
    spent.start();
    for (std::uint32_t i = 0; i < length; ++i) {
      const uniforms random{philox{{7, 8}}, number * length + i, number};
      if (!token(models().drafter[number % rounds_held * length + i], random, spent)) return {};
    }
    const auto made = encode_draft({}, format(), block_.drafts(), message_);
    spent.end_of(bytes);
    return made ? std::span<const std::byte>(*made) : std::span<const std::byte>();
  }
  [[nodiscard]] static wire_format format() {
    return {law_format::sparse_drop_zero, vocab_size, resolution, 0, length, 1};
  }
  [[nodiscard]] std::uint64_t disagreements() const { return disagreements_; }

 private:
  bool token(const std::vector<float>& row, const uniforms<>& random, watch& spent) {
    workspace scratch{std::span(memory_)};
    const auto reading =
        read_row(exec::simd, view(row), {}, draft_law_request(vocab_size, sparsifier_, state_), scratch);
    spent.end_of(read);
    if (!reading) return false;
    const auto kept = sparsifier_.select(*reading, state_, scratch);
    if (!kept) return false;
    state_ = sparsifier_.advance(state_, *kept);
    spent.end_of(support);
    const auto room = scratch.take<std::uint32_t>(kept->size());
    if (!room) return false;
    const auto rounded = sparse_lattice{}.quantize(*kept, resolution, *room, scratch);
    if (!rounded) return false;
    result<law> drafted = make_law(*kept, *rounded);
    if (drafted) drafted = drop_zero(*drafted, scratch);
    if (!drafted) return false;
    spent.end_of(counts);
    const draft drawn = specverify::draw(*drafted, random.at(purpose::draft_draw));
    if (!block_.push(drawn).ok()) return false;
    spent.end_of(draw);
    if (!perturbed_) return true;
    const auto hot = read_for_perturbation(*reading, {}, scratch);
    if (!hot) return false;
    const auto found = temperature_perturbation(*hot, drawn.token(), {}, random);
    if (!found) return false;
    disagreements_ += found->disagreements;
    spent.end_of(perturb);
    return true;
  }

  Sparsifier sparsifier_;
  typename Sparsifier::state_type state_;
  bool perturbed_;
  std::vector<std::byte> memory_;
  draft_block block_ = std::move(draft_block::make({length, length * 256}).value());
  std::array<std::byte, 8192> message_{};
  std::uint64_t disagreements_ = 0;
};

}  // namespace bench_steps

#endif
