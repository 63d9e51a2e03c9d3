// SPDX-License-Identifier: Apache-2.0
// Writes texts of the HLM family round by round.
#include "hlm_rounds.hpp"

#include <specverify/distribution/fp16_law.hpp>
#include <specverify/sparsify/compressed_law.hpp>
#include <specverify/verify/mismatched.hpp>

#include "measure.hpp"

#include <optional>

namespace lab {
namespace {

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
using hlm_uniforms = specverify::uniforms<hlm_numbers>;

//! Memory of a workspace, reused for each token.
struct hlm_buffer {
  std::vector<std::byte> bytes;
  [[nodiscard]] specverify::workspace of(std::size_t size) {
    if (bytes.size() < size) bytes.resize(size);
    return specverify::workspace{std::span<std::byte>(bytes)};
  }
};

//! One text while it is written.
class hlm_writer {
 public:
  hlm_writer(lab_worker& worker, std::span<const token_id> prompt, const hlm_system& system, double temperature,
             std::uint64_t seed)
      : worker_(worker),
        system_(system),
        source_{specverify::derive_session_keys(hlm_secret, seed, hlm_salt)},
        transform_{.temperature = temperature},
        vocab_size_(worker.drafter.vocab_size()),
        whole_(system.sends_whole_laws()),
        half_(whole_ && system.as_session),
        known_(prompt.begin(), prompt.end()),
        next_(known_) {
    worker_.drafter.rollback(0);
    worker_.target.rollback(0);
  }

  //! Writes one token. Returns false at the end of the text.
  [[nodiscard]] bool write(std::uint32_t t, bool ask_always, const hlm_observer& observe) {
    worker_.drafter.feed(next_, 1);
    const specverify::read_request wanted =
        half_ ? specverify::read_request{.exact_normaliser = true}
              : specverify::read_request{.top_entries = vocab_size_, .integer_total = true};
    specverify::workspace space = digest_.of(specverify::digest_workspace_size(vocab_size_, transform_, wanted));
    const auto reading = demand(
        specverify::read_row(specverify::exec::simd, row_of(worker_.drafter, 0), transform_, wanted, space), "reading");
    const hlm_uniforms random{source_, static_cast<std::uint32_t>(known_.size()),
                              system_.as_session ? uploads_ + 1 : t};
    hlm_step step;
    draw(reading, random, step);
    decide(reading, random, step);
    token_id committed = step.drafted;
    if (step.sent || ask_always) {
      ask(step, ask_always);
      if (step.sent) committed = verify(reading, random, step);
      if (observe) {
        observe(step, hlm_view{worker_.drafter.logits(0), worker_.target.logits(0), worker_.drafter.attention(0)});
      }
    }
    carried_ = step.sent ? 0 : carried_ + 1;
    text_.steps.push_back(step);
    if (committed == tinylm::tokenizer::end_token) return false;
    text_.tokens.push_back(committed);
    known_.push_back(committed);
    next_.assign(1, committed);
    return true;
  }
  [[nodiscard]] hlm_text take() { return std::move(text_); }

 private:
  //! Returns the entries that are sent with `drawn`, or with any token.
  template <class Reading>
  [[nodiscard]] specverify::support keep(const Reading& reading, const specverify::drawn_token& drawn) {
    const auto of = [&](const auto& sparsifier) {
      specverify::workspace scratch = kept_memory_.of(sparsifier.workspace_size({}, vocab_size_));
      if constexpr (requires { sparsifier.select_with_token(reading, drawn, scratch); })
        return demand(sparsifier.select_with_token(reading, drawn, scratch), "support");
      else
        return demand(sparsifier.select(reading, {}, scratch), "support");
    };
    return whole_ ? of(specverify::top_k{vocab_size_})
                  : std::visit([&](const auto& made) { return of(*made.sparsifier); }, system_.preset);
  }
  [[nodiscard]] specverify::workspace law_space() {
    return law_.of(half_ ? specverify::fp16_law_workspace_size(vocab_size_)
                         : specverify::compressed_law_workspace_size(vocab_size_));
  }

  template <class Reading>
  void draw(const Reading& reading, const hlm_uniforms& random, hlm_step& step) {
    const auto draws = random.at(specverify::purpose::draft_draw);
    from_law_.reset();
    if (!half_ && (whole_ || system_.draws_from_row())) {
      step.drafted = demand(reading.sample(draws), "draw").token;
      return;
    }
    specverify::workspace space = law_space();
    if (half_) {
      sent_law_ = demand(specverify::fp16_law(reading, space), "law");
    } else {
      kept_ = keep(reading, {});
      sent_law_ = demand(specverify::compressed_law(kept_, {}, space), "law");
    }
    from_law_ = specverify::draw(sent_law_, draws);
    step.drafted = from_law_->token();
  }

  //! Decides whether the token is sent.
  template <class Reading>
  void decide(const Reading& reading, const hlm_uniforms& random, hlm_step& step) {
    std::visit(
        [&](const auto& made) {
          using gate_type = std::decay_t<decltype(made.skip)>;
          specverify::workspace scratch = skip_.of(specverify::skip_workspace_size<gate_type>(vocab_size_));
          const specverify::skip_observation seen = demand(
              specverify::observe_skip(reading, made.skip, step.drafted, worker_.drafter.attention(0), random, scratch),
              "gate");
          step.sent = made.skip.send(seen);
          step.disagreements = seen.disagreements;
          step.samples = seen.samples;
        },
        system_.preset);
  }

  //! Feeds the target with everything that it has not seen.
  void ask(hlm_step& step, bool with_rejection) {
    const std::vector<token_id> unseen(known_.begin() + worker_.target.size(), known_.end());
    worker_.target.feed(unseen, 1);
    if (!with_rejection) return;
    const auto d = static_cast<std::size_t>(step.drafted);
    const double x = law_of(worker_.drafter.logits(0), transform_.temperature)[d],
                 y = law_of(worker_.target.logits(0), transform_.temperature)[d];
    step.rejection = x > 0 ? std::max(0.0, 1 - y / x) : 0;
  }

  //! Verifies the token. Returns the token that is committed.
  template <class Reading>
  [[nodiscard]] token_id verify(const Reading& reading, const hlm_uniforms& random, hlm_step& step) {
    specverify::mismatched_draft claimed;
    specverify::workspace space = law_space();
    if (!from_law_) {
      kept_ = keep(reading, {step.drafted, step.disagreements, step.samples});
      claimed = demand(specverify::compressed_draft(reading, kept_, step.drafted, {}, space), "law");
    }
    step.support_size = whole_ ? vocab_size_ : kept_.size();
    step.draft_in_support = whole_ || std::binary_search(kept_.ids.begin(), kept_.ids.end(), step.drafted);
    const specverify::row_view<float> rows[] = {row_of(worker_.target, 0)};
    const specverify::row_span_provider<float> provider(rows,
                                                        std::span<const specverify::row_transform>(&transform_, 1));
    specverify::workspace scratch = verify_.of(specverify::verify_workspace_size(vocab_size_, transform_, 1));
    specverify::verify_request request;
    request.remaining_budget = 1;  // no bonus token
    const auto said =
        demand(from_law_ ? specverify::token_rule{}.verify(specverify::exec::simd,
                                                           std::span<const specverify::draft>(&*from_law_, 1), provider,
                                                           random, request, scratch)
                         : specverify::lossy_token_rule{}.verify(
                               specverify::exec::simd, std::span<const specverify::mismatched_draft>(&claimed, 1),
                               provider, random, request, scratch),
               "verify");
    step.accepted = said.accepted == 1;
    step.carried = carried_;
    uploads_ += 1;
    return step.accepted ? step.drafted : said.next_token;
  }

  lab_worker& worker_;
  const hlm_system& system_;
  hlm_numbers source_;
  specverify::row_transform transform_;
  std::uint32_t vocab_size_;
  bool whole_, half_;
  std::vector<token_id> known_, next_;
  std::uint32_t carried_ = 0, uploads_ = 0;
  hlm_buffer digest_, skip_, verify_, law_, kept_memory_;
  std::optional<specverify::draft> from_law_;
  specverify::law sent_law_;
  specverify::support kept_;
  hlm_text text_;
};

}  // namespace

hlm_text write_hlm_text(lab_worker& worker, std::span<const token_id> prompt, const hlm_system& system,
                        double temperature, std::uint32_t tokens, std::uint64_t seed, bool ask_always,
                        const hlm_observer& observe) {
  hlm_writer writer(worker, prompt, system, temperature, seed);
  for (std::uint32_t t = 0; t < tokens; ++t) {
    if (!writer.write(t, ask_always, observe)) break;
  }
  return writer.take();
}

}  // namespace lab
