// SPDX-License-Identifier: Apache-2.0
//! Records the rows of two models that read the same text. The text's tokens are drawn from the target's distribution,
//! or from the distribution that a drafter would send. The models can be any language models of
//! host/language_model.hpp.
#ifndef SPECVERIFY_APPS_ROWS_RECORD_HPP
#define SPECVERIFY_APPS_ROWS_RECORD_HPP

#include <specverify/distribution/draft.hpp>
#include <specverify/host/language_model.hpp>
#include <specverify/quantize/draft_law.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/session/presets.hpp>

#include "rows_writer.hpp"

#include <algorithm>
#include <concepts>
#include <optional>
#include <type_traits>

namespace recorded {

//! Distribution from which the tokens of a text are drawn.
enum class token_law : std::uint8_t {
  target,  //!< p
  sent     //!< q^ of `drafts`, the distribution that a drafter draws from
};

struct record_settings {
  double temperature = 1;
  token_law law = token_law::target;
  std::uint64_t seed = 1;
  std::uint32_t context = 0;                 //!< maximum tokens of a text, with the prompt
  std::vector<specverify::token_id> ends{};  //!< each ends a text; the next prompt begins a new text
  specverify::preset<> drafts = specverify::k_sqs();
};

//! Returns the failure of an engine or a row, with the library's reason.
[[nodiscard]] inline std::logic_error failure(const char* what, specverify::status why) {
  return std::logic_error(std::string(what) + ": " + why.text().c_str());
}

//! Draws the token after a row, from p or from q^.
class token_source {
 public:
  token_source(std::uint32_t vocab_size, const record_settings& settings)
      : settings_(settings), transform_{.temperature = settings.temperature}, sparsifier_(*settings.drafts.sparsifier) {
    const specverify::wire_format format = settings.drafts.format_for(vocab_size);
    options_ = {format.format, format.resolution};
    const auto wanted = specverify::draft_law_request(vocab_size, sparsifier_, {}, options_);
    memory_.resize(2 * specverify::digest_workspace_size(vocab_size, transform_, wanted) +
                   specverify::draft_law_workspace_size(vocab_size, sparsifier_, {}, options_) + 256);
  }

  //! Draws a token. Throws if the library rejects a row.
  template <class P, class Q>
  [[nodiscard]] specverify::token_id draw(specverify::row_view<P> p, specverify::row_view<Q> q, std::uint32_t number) {
    specverify::workspace scratch{std::span<std::byte>(memory_)};
    const specverify::philox source{
        {{static_cast<std::uint32_t>(settings_.seed), static_cast<std::uint32_t>(settings_.seed >> 32)}}};
    const specverify::uniforms random{source, number, 0};
    if (settings_.law == token_law::target) {
      const auto row = specverify::read_row(specverify::exec::simd, p, transform_, {}, scratch);
      if (!row) throw failure("the target's row", row.error());
      const auto drawn = row->sample(random.at(specverify::purpose::bonus_draw));
      if (!drawn) throw failure("the target's row", drawn.error());
      return drawn->token;
    }
    const auto wanted = specverify::draft_law_request(q.valid_size(), sparsifier_, {}, options_);
    const auto row = specverify::read_row(specverify::exec::simd, q, transform_, wanted, scratch);
    if (!row) throw failure("the drafter's row", row.error());
    const auto made = specverify::make_draft_law(*row, sparsifier_, {}, options_, scratch);
    if (!made) throw failure("the drafter's law", made.error());
    return specverify::draw(made->drafted, random.at(specverify::purpose::draft_draw)).token();
  }

 private:
  record_settings settings_;
  specverify::row_transform transform_;
  specverify::top_k sparsifier_;
  specverify::draft_law_options options_{};
  std::vector<std::byte> memory_;
};

//! A model with a member logits(i), which returns row i in memory.
template <class Model>
concept model_with_logits = requires(const Model& model) {
  { model.logits(0u) } -> std::convertible_to<std::span<const float>>;
};

//! Gives the logits of a model's row. If the model has no member `logits`, it gives ln p at temperature 1, which equals
//! the logits up to a constant.
template <specverify::language_model Model>
class logits_of {
 public:
  [[nodiscard]] std::span<const float> operator()(Model& model) {
    if constexpr (model_with_logits<Model>) {
      return model.logits(0);
    } else {
      const auto shown = model.row(0);
      memory_.resize(specverify::digest_workspace_size(shown.valid_size(), {}, {.exact_normaliser = true}) + 256);
      specverify::workspace scratch{std::span<std::byte>(memory_)};
      const auto row = specverify::read_row(specverify::exec::simd, shown, {}, {.exact_normaliser = true}, scratch);
      if (!row) throw failure("a row", row.error());
      values_.resize(shown.valid_size());
      for (std::size_t v = 0; v < values_.size(); ++v)
        values_[v] = static_cast<float>(*row->log_probability(static_cast<specverify::token_id>(v)));
      return values_;
    }
  }

 private:
  std::vector<std::byte> memory_;
  std::vector<float> values_;
};

//! Feeds tokens to a model, and throws if the model fails. Position 0 begins a new text.
template <specverify::language_model Model>
void feed_model(Model& model, std::uint32_t position, std::span<const specverify::token_id> tokens) {
  if constexpr (specverify::truncating_model<Model>) {
    if (position == 0) static_cast<void>(model.truncate(0));
  }
  if (const specverify::status why = model.feed(position, tokens, 1); !why.ok()) throw failure("a model", why);
}

//! Fills the file with texts that begin with the prompts in turn, until it has all rows. Throws bad_rows, and
//! runtime_error if a model fails or a prompt leaves no room in the context.
template <specverify::language_model Target, specverify::language_model Drafter>
void record(Target& target, Drafter& drafter, std::span<const std::vector<specverify::token_id>> prompts,
            const record_settings& settings, rows_writer& out) {
  token_source source(out.plan().vocab_size, settings);
  logits_of<Target> p;
  logits_of<Drafter> q;
  std::uint32_t position = 0;
  std::vector<specverify::token_id> next;
  for (std::size_t text = 0; out.written() < out.plan().rows;) {
    if (position == 0) {
      next = prompts[text++ % prompts.size()];
      if (next.empty() || next.size() > settings.context)
        throw std::runtime_error("a prompt of " + std::to_string(next.size()) + " tokens; the context has " +
                                 std::to_string(settings.context));
    }
    feed_model(target, position, next);
    feed_model(drafter, position, next);
    position += static_cast<std::uint32_t>(next.size());
    const specverify::token_id token = source.draw(target.row(0), drafter.row(0), out.written());
    recorded_row row{.token = token, .position = position, .p = p(target), .q = q(drafter)};
    if constexpr (requires { target.hidden(0u); }) row.hidden_p = target.hidden(0);
    if constexpr (requires { drafter.hidden(0u); }) row.hidden_q = drafter.hidden(0);
    if constexpr (requires { drafter.attention(0u); }) row.attention = drafter.attention(0);
    out.add(row);
    next.assign(1, token);
    const bool ends = std::find(settings.ends.begin(), settings.ends.end(), token) != settings.ends.end();
    if (ends || position >= settings.context) position = 0;
  }
}

}  // namespace recorded

#endif
