// SPDX-License-Identifier: Apache-2.0
//! Generates texts with SQS in two sessions, records the kept and dropped mass of every drafted position, and computes
//! distributions of a text again.
#ifndef SPECVERIFY_APPS_LAB_SQS_RUNS_HPP
#define SPECVERIFY_APPS_LAB_SQS_RUNS_HPP

#include <specverify/codec/bit_cost.hpp>
#include <specverify/policy/window.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/sparse_lattice.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/top_k.hpp>

#include "lab_context.hpp"
#include "measure.hpp"
#include "virtual_run.hpp"

#include <variant>

namespace lab {

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

//! One way to choose supports: a name, and top-K or a threshold.
struct sqs_system {
  std::string label;
  std::variant<specverify::top_k, specverify::conformal> sparsifier;
};

struct sqs_setting {
  std::uint32_t resolution = 100;     //!< l
  std::uint64_t budget = 5000;        //!< B, bits per round
  std::uint32_t longest_window = 24;  //!< maximum L for any budget
  std::uint32_t tokens = 48;          //!< tokens per text
  double temperature = 1;
  double uplink_rate = 1e6;  //!< bit/s
  bool paper_code = true;    //!< the paper's code for supports and counts; otherwise the library's, without zero counts
};

//! A drafted position that the cloud tested. The committed text before it is the prefix.
struct tested_position {
  std::uint32_t prefix = 0;  //!< number of tokens before the position, including the prompt
  std::uint32_t kept = 0;
  double dropped = 0;
  double beta = 0;  //!< value of beta, if the sparsifier is a threshold
};

struct sqs_run {
  run_result text;
  std::vector<tested_position> tested;
  std::uint64_t drafted = 0, rejected = 0;
  double kept = 0, dropped = 0;  //!< sums over drafted positions
  double paper_bits = 0;         //!< bits for the drafted positions by the paper's formula
  std::uint64_t clamped = 0;     //!< drafted distributions that the budget cut

  [[nodiscard]] double rounds() const { return static_cast<double>(text.rounds.size()); }
};

[[nodiscard]] inline double paper_bits_of(const sqs_system& system, std::uint32_t vocab_size, std::uint32_t kept,
                                          std::uint32_t resolution) {
  return std::holds_alternative<specverify::top_k>(system.sparsifier)
             ? specverify::top_k_law_bits(vocab_size, kept, resolution)
             : specverify::threshold_law_bits(vocab_size, kept, resolution);
}

//! Generates one text with the library's sessions, codes and draws. The time is computed, not measured.
[[nodiscard]] inline sqs_run write_sqs(const sqs_system& system, const sqs_setting& setting,
                                       std::span<const token_id> prompt, std::uint64_t session_id, lab_worker& worker) {
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
    std::size_t next = 0;
    auto length = static_cast<std::uint32_t>(prompt.size());
    for (const round_entry& round : made.text.rounds) {
      const bool rejected = round.accepted < round.drafted && round.emitted > round.accepted;
      for (std::uint32_t i = 0; i < round.drafted; ++i, ++next) {
        const auto& note = notes.at(next);
        made.kept += note.kept;
        made.dropped += note.dropped;
        made.paper_bits += paper_bits_of(system, vocab_size, note.kept, setting.resolution);
        double beta = 0;
        if constexpr (requires { note.before.beta; }) beta = note.before.beta;
        if (i < round.accepted + (rejected ? 1u : 0u))
          made.tested.push_back({length + i, note.kept, note.dropped, beta});
      }
      if (next < notes.size() && notes[next].beyond) ++next;
      made.drafted += round.drafted;
      made.rejected += rejected ? 1u : 0u;
      length += round.emitted;
    }
  };
  std::visit(run, system.sparsifier);
  return made;
}

//! Computes the distributions of rows as a session does.
class law_maker {
 public:
  template <specverify::sparsifier Sparsifier>
  [[nodiscard]] specverify::draft_law operator()(std::span<const float> logits, double temperature,
                                                 const Sparsifier& sparsifier,
                                                 const typename Sparsifier::state_type& state, std::uint32_t resolution,
                                                 bool keep_zeros = false) {
    using namespace specverify;
    const row_transform transform{.temperature = temperature};
    const auto vocab_size = static_cast<std::uint32_t>(logits.size());
    const draft_law_options options{keep_zeros ? law_format::sparse_paper : law_format::sparse_drop_zero, resolution};
    const auto widest = widest_state(sparsifier);
    memory_.resize(
        std::max(memory_.size(),
                 digest_workspace_size(vocab_size, transform, draft_law_request(vocab_size, sparsifier, widest)) +
                     draft_law_workspace_size(vocab_size, sparsifier, widest, options) + 64));
    workspace space{std::span<std::byte>(memory_)};
    const auto row = demand(read_row(exec::simd, logits_row<float>(logits), transform,
                                     draft_law_request(vocab_size, sparsifier, state, options), space),
                            "reading");
    return demand(make_draft_law(row, sparsifier, state, options, space), "draft_law");
  }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace lab

#endif
