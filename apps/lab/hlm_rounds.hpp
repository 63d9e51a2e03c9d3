// SPDX-License-Identifier: Apache-2.0
//! Generates texts of the HLM family round by round with the library's functions: draw, measure, send or keep,
//! compress, verify.
//!
//! A round drafts one token and has no bonus token. The target is fed only if the token is sent, with all tokens kept
//! since the last feed. With `as_session`, a text equals the text of a session whose id is the text's seed, with
//! `hlm_secret` on both sides. With whole distributions all tokens are equal; with the largest entries only, they can
//! differ because the session rounds to a lattice (tests/unit/apps/lab_hlm_rounds_test.cpp). The figures number rounds
//! by tokens and draw from the row itself. Systems then use equal random numbers, so texts differ only because the
//! systems send different data.
#ifndef SPECVERIFY_APPS_LAB_HLM_ROUNDS_HPP
#define SPECVERIFY_APPS_LAB_HLM_ROUNDS_HPP

#include <specverify/core/secret.hpp>
#include <specverify/distribution/fp16_law.hpp>
#include <specverify/policy/skip.hpp>
#include <specverify/session/presets.hpp>
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/verify/mismatched.hpp>

#include "lab_context.hpp"
#include "measure.hpp"

#include <optional>
#include <variant>

namespace lab {

//! One of the presets. They differ in the skip policy, in the number of entries sent, and in the distribution from
//! which the token is drawn: the row's or the sent one.
using hlm_preset = std::variant<specverify::preset<>, specverify::preset<specverify::top_k, specverify::random_skip>,
                                specverify::preset<specverify::top_k, specverify::uncertainty_gate>,
                                specverify::preset<specverify::top_k, specverify::uncertainty_and_importance_gate>,
                                specverify::preset<specverify::online_vocabulary_budget, specverify::uncertainty_gate>>;

//! Returns HLM as in the paper, without a bonus token.
[[nodiscard]] inline specverify::preset<> hlm_of_paper() { return specverify::hlm({.bonus = false}); }
//! Returns CU-HLM with one change: it draws the token from the sent distribution, so compression is lossless.
[[nodiscard]] inline auto drawn_from_sent(const specverify::cu_hlm_settings& set) {
  auto made = specverify::cu_hlm(set);
  made.draw_from_row = false;
  return made;
}
//! Returns a system that sends every token and measures none.
template <class Preset>
[[nodiscard]] specverify::preset<> all_sent(const Preset& gated) {
  return {gated.format, gated.sparsifier, gated.window,       {}, gated.attachments, gated.rule,
          gated.mode,   gated.bonus,      gated.draw_from_row};
}

struct hlm_system {
  std::string label;
  hlm_preset preset{};
  //! rounds are numbered by uploads, from 1, and tokens are drawn from half-precision rows if whole distributions are
  //! sent
  bool as_session = false;

  [[nodiscard]] bool sends_whole_laws() const {
    return std::visit([](const auto& made) { return !made.sparsifier; }, preset);
  }
  [[nodiscard]] bool draws_from_row() const {
    return std::visit([](const auto& made) { return made.draw_from_row; }, preset);
  }
};

//! Secret of both sides. The session id is the seed of the text.
inline constexpr specverify::session_secret hlm_secret =
    specverify::secret_from_hex("686c6d20686c6d20686c6d20686c6d20");
inline constexpr std::uint64_t hlm_salt = 2;

//! Result of one token.
struct hlm_step {
  specverify::token_id drafted = specverify::no_token;
  bool sent = false;
  bool accepted = false;           //!< meaningful only if `sent`
  bool draft_in_support = true;    //!< meaningful only if `sent`
  std::uint32_t support_size = 0;  //!< number of entries that were sent
  std::uint32_t carried = 0;       //!< tokens not sent earlier, whose ids are sent with this upload
  std::uint32_t disagreements = 0, samples = 0;
  double rejection = -1;  //!< (1 - y_d / x_d)+; -1 if it was not requested
  [[nodiscard]] double uncertainty() const { return samples == 0 ? 0 : static_cast<double>(disagreements) / samples; }
};

struct hlm_text {
  std::vector<specverify::token_id> tokens;
  std::vector<hlm_step> steps;
};

namespace detail {

//! Provides random numbers: drafts use the key of the edge, and verdicts the key of the cloud.
struct hlm_numbers {
  specverify::session_keys keys;
  [[nodiscard]] specverify::random_block operator()(specverify::random_counter counter) const noexcept {
    using specverify::purpose;
    const bool cloud = counter.use == purpose::acceptance || counter.use == purpose::residual_draw ||
                       counter.use == purpose::bonus_draw;
    return specverify::philox{cloud ? keys.verdict : keys.draft}(counter);
  }
};

//! Buffers of one text's computation, reused for each token.
struct hlm_memory {
  std::vector<std::byte> digest, skip, verify, law, kept;
  static specverify::workspace over(std::vector<std::byte>& bytes, std::size_t size) {
    if (bytes.size() < size) bytes.resize(size);
    return specverify::workspace{std::span<std::byte>(bytes)};
  }
};

}  // namespace detail

//! Data that `write_hlm_text` passes for a step with a target row.
struct hlm_view {
  std::span<const float> drafter{};  //!< logits
  std::span<const float> target{};
  std::span<const float> attention{};
};

//! Writes one text of at most `tokens` tokens. If `ask_always` is true, the target is also fed at tokens that are not
//! sent, which does not change the text. `observe(step, view)` is called for each step with a target row.
template <class Observe>
[[nodiscard]] hlm_text write_hlm_text(lab_worker& worker, std::span<const token_id> prompt, const hlm_system& system,
                                      double temperature, std::uint32_t tokens, std::uint64_t seed, bool ask_always,
                                      Observe observe) {
  using namespace specverify;
  const detail::hlm_numbers source{derive_session_keys(hlm_secret, seed, hlm_salt)};
  const row_transform transform{.temperature = temperature};
  const std::uint32_t vocab_size = worker.drafter.vocab_size();
  const bool whole = system.sends_whole_laws(), half = whole && system.as_session;
  const read_request wanted =
      half ? read_request{.exact_normaliser = true} : read_request{.survivors = vocab_size, .integer_total = true};
  detail::hlm_memory memory;
  hlm_text text;
  worker.drafter.rollback(0);
  worker.target.rollback(0);
  std::vector<token_id> known(prompt.begin(), prompt.end());
  std::vector<token_id> next = known;
  std::uint32_t carried = 0, uploads = 0;
  for (std::uint32_t t = 0; t < tokens; ++t) {
    worker.drafter.feed(next, 1);
    const auto position = static_cast<std::uint32_t>(known.size());
    const auto row = row_of(worker.drafter, 0);
    const std::uint32_t round = system.as_session ? uploads + 1 : t;
    hlm_step step;

    workspace space = memory.over(memory.digest, digest_workspace_size(vocab_size, transform, wanted));
    const auto reading = demand(read_row(exec::simd, row, transform, wanted, space), "reading");

    const auto keep = [&](const drawn_token& drawn) {
      const auto of = [&](const auto& sparsifier) {
        workspace scratch = memory.over(memory.kept, sparsifier.workspace_size({}, vocab_size));
        if constexpr (requires { sparsifier.select_with_token(reading, drawn, scratch); })
          return demand(sparsifier.select_with_token(reading, drawn, scratch), "support");
        else
          return demand(sparsifier.select(reading, {}, scratch), "support");
      };
      return whole ? of(top_k{vocab_size})
                   : std::visit([&](const auto& made) { return of(*made.sparsifier); }, system.preset);
    };
    const compressed_law_options exactly{};
    workspace law_space =
        memory.over(memory.law, half ? fp16_law_workspace_size(vocab_size) : compressed_law_workspace_size(vocab_size));
    const uniform_stream draws = uniforms{source, position, round}.at(purpose::draft_draw);
    std::optional<draft> from_law;
    law sent_law;
    support kept;
    if (half || (!whole && !system.draws_from_row())) {
      if (half) {
        sent_law = demand(fp16_law(reading, law_space), "law");
      } else {
        kept = keep({});
        sent_law = demand(compressed_law(kept, exactly, law_space), "law");
      }
      from_law = draw(sent_law, draws);
      step.drafted = from_law->token();
    } else {
      step.drafted = demand(reading.sample(draws), "draw").token;
    }

    skip_observation seen;
    step.sent = std::visit(
        [&](const auto& made) {
          using gate_type = std::decay_t<decltype(made.skip)>;
          workspace scratch = memory.over(memory.skip, skip_workspace_size<gate_type>(vocab_size));
          seen = demand(observe_skip(reading, made.skip, step.drafted, worker.drafter.attention(0),
                                     uniforms{source, position, round}, scratch),
                        "gate");
          return made.skip.send(seen);
        },
        system.preset);
    step.disagreements = seen.disagreements;
    step.samples = seen.samples;

    token_id committed = step.drafted;
    if (step.sent || ask_always) {
      const std::vector<token_id> unseen(known.begin() + worker.target.size(), known.end());
      worker.target.feed(unseen, 1);
      if (ask_always) {
        const auto d = static_cast<std::size_t>(step.drafted);
        const double x = law_of(worker.drafter.logits(0), temperature)[d],
                     y = law_of(worker.target.logits(0), temperature)[d];
        step.rejection = x > 0 ? std::max(0.0, 1 - y / x) : 0;
      }
      if (step.sent) {
        mismatched_draft claimed;
        if (!from_law) {
          kept = keep({step.drafted, step.disagreements, step.samples});
          claimed = demand(compressed_draft(reading, kept, step.drafted, exactly, law_space), "law");
        }
        step.support_size = whole ? vocab_size : kept.size();
        step.draft_in_support = whole || std::binary_search(kept.ids.begin(), kept.ids.end(), step.drafted);
        const row_view<float> rows[] = {row_of(worker.target, 0)};
        const row_span_provider<float> provider(rows, std::span<const row_transform>(&transform, 1));
        workspace scratch = memory.over(memory.verify, verify_workspace_size(vocab_size, transform, 1));
        verify_request request;
        request.remaining_budget = 1;  // no bonus token
        const uniforms random{source, position, round};
        const verdict said =
            demand(from_law ? token_rule{}.verify(exec::simd, std::span<const draft>(&*from_law, 1), provider, random,
                                                  request, scratch)
                            : lossy_token_rule{}.verify(exec::simd, std::span<const mismatched_draft>(&claimed, 1),
                                                        provider, random, request, scratch),
                   "verify");
        step.accepted = said.accepted == 1;
        committed = step.accepted ? step.drafted : said.next_token;
        step.carried = carried;
        uploads += 1;
      }
      observe(step, hlm_view{worker.drafter.logits(0), worker.target.logits(0), worker.drafter.attention(0)});
    }
    carried = step.sent ? 0 : carried + 1;
    text.steps.push_back(step);
    if (committed == tinylm::tokenizer::end_token) break;
    text.tokens.push_back(committed);
    known.push_back(committed);
    next.assign(1, committed);
  }
  return text;
}

[[nodiscard]] inline hlm_text write_hlm_text(lab_worker& worker, std::span<const token_id> prompt,
                                             const hlm_system& system, double temperature, std::uint32_t tokens,
                                             std::uint64_t seed) {
  return write_hlm_text(worker, prompt, system, temperature, tokens, seed, false,
                        [](const hlm_step&, const hlm_view&) {});
}

}  // namespace lab

#endif
