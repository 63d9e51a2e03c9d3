// SPDX-License-Identifier: Apache-2.0
//! Generates texts with SQS in two sessions, records the kept and dropped mass of every drafted position, and computes
//! distributions of a text again.
#ifndef SPECVERIFY_APPS_LAB_SQS_RUNS_HPP
#define SPECVERIFY_APPS_LAB_SQS_RUNS_HPP

#include <specverify/quantize/draft_law.hpp>
#include <specverify/sparsify/conformal.hpp>
#include <specverify/sparsify/top_k.hpp>
#include <specverify/sparsify/top_p.hpp>

#include "lab_context.hpp"
#include "virtual_run.hpp"

#include <variant>

namespace lab {

//! One way to choose supports: a name, and top-K, a threshold, or a mass.
struct sqs_system {
  std::string label;
  std::variant<specverify::top_k, specverify::conformal, specverify::top_p> sparsifier;
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
  std::uint64_t drafted = 0;
  std::uint64_t accepted = 0;
  std::uint64_t rejected = 0;    //!< rejected and resampled: N_rej, at most one per round
  double last_beta = 0;          //!< linear update: threshold after the last tested position
  double kept = 0, dropped = 0;  //!< sums over drafted positions
  double paper_bits = 0;         //!< bits for the drafted positions by the paper's formula
  std::uint64_t clamped = 0;     //!< drafted distributions that the budget cut

  [[nodiscard]] double rounds() const { return static_cast<double>(text.rounds.size()); }
};

//! Generates one text with the library's sessions, codes and draws. The time is computed, not measured.
[[nodiscard]] sqs_run write_sqs(const sqs_system& system, const sqs_setting& setting, std::span<const token_id> prompt,
                                std::uint64_t session_id, lab_worker& worker);

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
