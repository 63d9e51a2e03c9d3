// SPDX-License-Identifier: Apache-2.0
// Generates one text with SQS (sqs_runs.hpp).
#include "sqs_runs.hpp"

#include <specverify/codec/bit_cost.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/quantize/sparse_lattice.hpp>

namespace lab {

namespace {

//! Result of a sparsifier at one position; results are stored in the order of computation. `beyond`: the budget closed
//! the window before this position.
template <class State>
struct support_note {
  State before{};
  std::uint32_t kept = 0;
  double dropped = 0;
  bool beyond = false;
};

//! A sparsifier that records the tokens that it keeps.
template <specverify::sparsifier Sparsifier>
struct noted : Sparsifier {
  using state_type = typename Sparsifier::state_type;
  std::vector<support_note<state_type>>* notes = nullptr;

  [[nodiscard]] state_type advance(const state_type& state, const specverify::support& kept) const noexcept {
    if (notes != nullptr) notes->push_back({state, kept.size(), specverify::dropped_mass(kept), false});
    return Sparsifier::advance(state, kept);
  }
};

//! The paper's budget window, which also records the positions that it rejected.
template <class State>
struct noted_window : specverify::bit_budget_window {
  std::vector<support_note<State>>* notes = nullptr;

  [[nodiscard]] bool proceed(std::uint32_t position, const specverify::law& next,
                             std::uint64_t charged) const noexcept {
    const bool goes_on = bit_budget_window::proceed(position, next, charged);
    if (!goes_on && notes != nullptr && !notes->empty()) notes->back().beyond = true;
    return goes_on;
  }
};

double paper_bits_of(const sqs_system& system, std::uint32_t vocab_size, std::uint32_t kept, std::uint32_t resolution) {
  return std::holds_alternative<specverify::top_k>(system.sparsifier)
             ? specverify::top_k_law_bits(vocab_size, kept, resolution)
             : specverify::threshold_law_bits(vocab_size, kept, resolution);
}

//! Adds the positions of all rounds to the run, with the notes of the sparsifier in the order of computation.
template <class Notes>
void count_positions(sqs_run& made, const sqs_system& system, const sqs_setting& setting, const Notes& notes,
                     std::uint32_t vocab_size, std::uint32_t length) {
  std::size_t next = 0;
  for (const round_entry& round : made.text.rounds) {
    const bool rejected = round.accepted < round.drafted && round.emitted > round.accepted;
    for (std::uint32_t i = 0; i < round.drafted; ++i, ++next) {
      const auto& note = notes.at(next);
      made.kept += note.kept;
      made.dropped += note.dropped;
      made.paper_bits += paper_bits_of(system, vocab_size, note.kept, setting.resolution);
      double beta = 0;
      if constexpr (requires { note.before.beta; }) beta = note.before.beta;
      if (i >= round.accepted + (rejected ? 1u : 0u)) continue;
      made.tested.push_back({length + i, note.kept, note.dropped, beta});
      if (const auto* learned = std::get_if<specverify::conformal>(&system.sparsifier))
        made.last_beta = std::min(1.0, beta - learned->step * (note.dropped - learned->target));
    }
    if (next < notes.size() && notes[next].beyond) ++next;
    made.drafted += round.drafted;
    made.accepted += round.accepted;
    made.rejected += rejected ? 1u : 0u;
    length += round.emitted;
  }
}

}  // namespace

sqs_run write_sqs(const sqs_system& system, const sqs_setting& setting, std::span<const token_id> prompt,
                  std::uint64_t session_id, lab_worker& worker) {
  using namespace specverify;
  const std::uint32_t vocab_size = worker.drafter.vocab_size();
  run_options options;
  options.prompt.assign(prompt.begin(), prompt.end());
  options.tokens = setting.tokens;
  options.temperature = setting.temperature;
  options.session_id = session_id;
  options.channel = steady({.uplink_rate = setting.uplink_rate, .downlink_rate = 1e12});
  const auto accounting = !setting.paper_code                                ? position_accounting::drop_zero
                          : std::holds_alternative<top_k>(system.sparsifier) ? position_accounting::top_k
                                                                             : position_accounting::threshold;
  sqs_run made;
  const auto run = [&](auto sparsifier) {
    using state = typename decltype(sparsifier)::state_type;
    std::vector<support_note<state>> notes;
    preset<noted<decltype(sparsifier)>, always_send, noted_window<state>> parts;
    parts.format = setting.paper_code ? law_format::sparse_paper : law_format::sparse_drop_zero;
    parts.window = {{.max_draft_length = setting.longest_window,
                     .resolution = setting.resolution,
                     .budget = setting.budget,
                     .accounting = accounting},
                    &notes};
    if constexpr (requires { sparsifier.with_total_weight; }) sparsifier.with_total_weight = true;
    parts.sparsifier = noted<decltype(sparsifier)>{sparsifier, &notes};
    made.text = run_virtually(options, worker.drafter, worker.target, parts);
    made.clamped = made.text.edge.budget_clamp;
    count_positions(made, system, setting, notes, vocab_size, static_cast<std::uint32_t>(prompt.size()));
  };
  std::visit(run, system.sparsifier);
  return made;
}

}  // namespace lab
