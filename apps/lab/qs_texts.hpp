// SPDX-License-Identifier: Apache-2.0
//! Records texts of the target for QS: at every position, how often a draft of each resolution is accepted.
#ifndef SPECVERIFY_APPS_LAB_QS_TEXTS_HPP
#define SPECVERIFY_APPS_LAB_QS_TEXTS_HPP

#include <specverify/core/random.hpp>
#include <specverify/distribution/law.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/quantize/lattice.hpp>
#include <specverify/sparsify/top_k.hpp>

#include "lab_context.hpp"
#include "measure.hpp"

#include <array>

namespace lab {

inline constexpr double qs_temperature = 0.4;  // value in the authors' training script
inline constexpr std::uint32_t qs_tokens = 52;

//! Returns the dense lattice distribution of a row of logits, as a session with law_format::dense_lattice makes it.
class dense_quantizer {
 public:
  //! Returns q^ over the vocabulary.
  [[nodiscard]] std::vector<double> operator()(std::span<const float> logits, double temperature,
                                               std::uint32_t resolution) {
    using namespace specverify;
    const auto vocab_size = static_cast<std::uint32_t>(logits.size());
    const top_k sparsifier;  // unused, because the lattice takes the whole row
    const row_transform transform{.temperature = temperature};
    const draft_law_options options{law_format::dense_lattice, resolution};
    const read_request wanted = draft_law_request(vocab_size, sparsifier, {}, options);
    memory_.resize(std::max(memory_.size(), digest_workspace_size(vocab_size, transform, wanted) +
                                                draft_law_workspace_size(vocab_size, sparsifier, {}, options) + 64));
    workspace space{std::span<std::byte>(memory_)};
    const auto row = demand(read_row(exec::simd, logits_row<float>(logits), transform, wanted, space), "reading");
    const draft_law& made = made_ = demand(make_draft_law(row, sparsifier, {}, options, space), "quantizing");
    std::vector<double> law(vocab_size, 0.0);
    for (std::uint32_t i = 0; i < made.drafted.size; ++i)
      law[static_cast<std::size_t>(made.drafted.ids[i])] = made.drafted.counts[i] / static_cast<double>(resolution);
    return law;
  }
  //! Returns the last distribution as it is sent. It is valid until the next call.
  [[nodiscard]] const specverify::law& sent() const { return made_.drafted; }

 private:
  std::vector<std::byte> memory_;
  specverify::draft_law made_;
};

//! Returns the index of the token at u in [0, 1) of a distribution that sums to 1, or to `sum`.
[[nodiscard]] inline std::size_t token_at(std::span<const double> law, double u, double sum = 1) {
  double at = u * sum;
  std::size_t last = 0;
  for (std::size_t v = 0; v < law.size(); ++v) {
    if (!(law[v] > 0)) continue;
    last = v;
    if (at < law[v]) return v;
    at -= law[v];
  }
  return last;
}

//! Resolutions l of the authors' grid (720, 240), and coarser ones. The authors' code has 12 as a preset.
inline constexpr std::array<std::uint32_t, 5> qs_resolutions{720, 240, 60, 24, 12};
using qs_acceptance = std::array<double, qs_resolutions.size()>;

[[nodiscard]] inline std::size_t resolution_index(std::uint32_t resolution) {
  const auto* at = std::find(qs_resolutions.begin(), qs_resolutions.end(), resolution);
  if (at == qs_resolutions.end()) throw std::logic_error("a resolution without recorded acceptance");
  return static_cast<std::size_t>(at - qs_resolutions.begin());
}

//! One position of a text of the target. Arrays are indexed like `qs_resolutions`.
struct qs_position {
  qs_acceptance acceptance{};     //!< Q-S: sum of min(p, q^)
  qs_acceptance sampled_first{};  //!< S-Q: sum of q min(1, p / q^), where a token without a count is accepted
  float probability = 0;          //!< probability of one accepted draft in the drafter's own distribution
};

using qs_text = std::vector<qs_position>;

//! Sets the acceptance of a draft of one resolution, for both orders, from the laws p, q and q^.
inline void note_acceptance(qs_position& here, std::size_t k, std::span<const double> p, std::span<const double> q,
                            std::span<const double> coarse) {
  for (std::size_t v = 0; v < p.size(); ++v) {
    here.acceptance[k] += std::min(coarse[v], p[v]);
    here.sampled_first[k] += coarse[v] > p[v] ? q[v] * p[v] / coarse[v] : q[v];
  }
}

//! Records texts that the target generates at a temperature, at most `tokens` tokens each.
[[nodiscard]] inline std::vector<qs_text> record_texts(lab_context& context, const std::vector<lab_problem>& problems,
                                                       double temperature, std::uint32_t tokens, std::uint64_t seed) {
  const specverify::philox source{{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}}};
  std::vector<qs_text> texts(problems.size());
  context.for_each(problems.size(), [&](lab_worker& worker, std::size_t i) {
    dense_quantizer quantize;
    worker.drafter.rollback(0);
    worker.target.rollback(0);
    std::vector<token_id> next = problems[i].prompt;
    for (std::uint32_t t = 0; t < tokens; ++t) {
      worker.drafter.feed(next, 1);
      worker.target.feed(next, 1);
      const std::vector<double> p = law_of(worker.target.logits(0), temperature),
                                q = law_of(worker.drafter.logits(0), temperature);
      const auto block = source({t, static_cast<std::uint32_t>(i), 0, specverify::purpose::training, 3});
      qs_position& here = texts[i].emplace_back();
      for (std::size_t k = 0; k < qs_resolutions.size(); ++k) {
        std::vector<double> coarse = quantize(worker.drafter.logits(0), temperature, qs_resolutions[k]);
        note_acceptance(here, k, p, q, coarse);
        if (qs_resolutions[k] != 240) continue;
        for (std::size_t v = 0; v < p.size(); ++v) coarse[v] = std::min(coarse[v], p[v]);
        here.probability =
            static_cast<float>(q[token_at(coarse, specverify::decision_uniform(block, 1), here.acceptance[k])]);
      }
      next.assign(1, static_cast<token_id>(token_at(p, specverify::decision_uniform(block))));
      if (next[0] == tinylm::tokenizer::end_token) break;
    }
  });
  return texts;
}

//! Returns the mean acceptance of a draft for each of `qs_resolutions`.
[[nodiscard]] inline qs_acceptance mean_acceptance(std::span<const qs_text> texts,
                                                   qs_acceptance qs_position::*order = &qs_position::acceptance) {
  qs_acceptance sum{};
  double count = 0;
  for (const qs_text& text : texts) {
    for (const qs_position& here : text) {
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += (here.*order)[k];
      count += 1;
    }
  }
  for (double& s : sum) s /= count;
  return sum;
}

//! Returns beginnings of held-out prose, without an answer.
[[nodiscard]] inline std::vector<lab_problem> prose_tasks(lab_context& context, std::size_t first, std::size_t count) {
  const auto openings = context.prose(first + count, 24);
  std::vector<lab_problem> tasks;
  for (std::size_t i = first; i < first + count; ++i) tasks.push_back({openings[i], 0});
  return tasks;
}

}  // namespace lab

#endif
