// SPDX-License-Identifier: Apache-2.0
//! Converts llama.cpp samplers (penalties, grammars) to a bias and a mask for each row.
//!
//! If both sides must apply the same penalties and grammar, wrap both models: `constrained(model, penalties, grammar,
//! prompt_length)`. If llama.cpp cannot truncate the model's memory, also wrap the result:
//! `rewinding<constrained<model>>`.
//! Guarantees: a row's samplers have accepted exactly the tokens before the row, even after a rejection. Candidates
//!             that a sampler drops become the mask, and logits that it changes become the bias.
//! Deviates:   do not use samplers that draw tokens, change the temperature or need a seed, because the session does
//!             this. The bias and mask of the base transform are replaced.
//! See:        docs/llama.md, tests/adapters/llama_samplers_test.cpp
#ifndef SPECVERIFY_ADAPTERS_LLAMA_CPP_SAMPLERS_HPP
#define SPECVERIFY_ADAPTERS_LLAMA_CPP_SAMPLERS_HPP

#include <specverify/host/language_model.hpp>
#include <specverify/row/transform.hpp>

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN
namespace llama_cpp {

struct sampler_deleter {
  void operator()(llama_sampler* sampler) const noexcept { llama_sampler_free(sampler); }
};
using owned_sampler = std::unique_ptr<llama_sampler, sampler_deleter>;

//! `Model` must have the members of `model`, and the model must outlive this object.
template <class Model>
class constrained {
 public:
  //! `penalties` accepts every token, and `grammar` the tokens starting at `prompt_length`. Either may be null. The
  //! given samplers stay unchanged and are cloned.
  constrained(Model& model, owned_sampler penalties, owned_sampler grammar, std::uint32_t prompt_length)
      : model_(&model), first_{std::move(penalties), std::move(grammar)}, prompt_length_(prompt_length) {
    start_over();
  }

  //! Feeds tokens. Errors: base_length_mismatch (a gap; `where` = number of tokens so far), the model's errors.
  [[nodiscard]] status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    if (position > ids_.size())
      return {errc::base_length_mismatch, part::host, static_cast<std::uint32_t>(ids_.size())};
    if (const status why = model_->feed(position, tokens, rows); !why.ok()) return why;
    if (position < kept_) start_over();
    ids_.resize(position);
    ids_.insert(ids_.end(), tokens.begin(), tokens.end());
    if (made_.size() < rows) made_.resize(rows);
    first_row_ = ids_.size() - rows;
    return {};
  }
  [[nodiscard]] decltype(auto) row(std::uint32_t i) { return model_->row(i); }
  [[nodiscard]] status truncate(std::uint32_t position) {
    if (position < kept_) start_over();
    ids_.resize(std::min<std::size_t>(ids_.size(), position));
    return model_->truncate(position);
  }
  void keep_from(std::uint32_t position) {
    if (position <= kept_ || position > ids_.size()) return;
    accept(now_, kept_, position);
    kept_ = position;
  }
  //! Returns the transform of row i. The spans are valid until row i of another feed. O(V), plus cloning and accepting.
  [[nodiscard]] row_transform transform(std::uint32_t i, const row_transform& base) {
    const std::span<const float> logits = model_->logits(i);
    samplers copies{clone(now_.penalties), clone(now_.grammar)};
    accept(copies, kept_, first_row_ + i + 1);
    candidates_.clear();
    for (const float logit : logits) candidates_.push_back({static_cast<llama_token>(candidates_.size()), logit, 0});
    llama_token_data_array all{candidates_.data(), candidates_.size(), -1, false};
    for (llama_sampler* const one : {copies.penalties.get(), copies.grammar.get()}) {
      if (one != nullptr) llama_sampler_apply(one, &all);
    }
    return differences(made_[i], logits, std::span(all.data, all.size), base);
  }
  [[nodiscard]] auto save() requires requires(Model& m) { m.save(); }
  { return model_->save(); }
  [[nodiscard]] status load(const auto& kept) requires requires(Model& m) { m.load(kept); }
  { return model_->load(kept); }

 private:
  struct samplers {
    owned_sampler penalties{}, grammar{};
  };
  struct final_row {
    std::vector<token_id> ids;
    std::vector<float> biases;
    std::vector<std::uint64_t> mask;
  };

  static owned_sampler clone(const owned_sampler& from) {
    return owned_sampler(from ? llama_sampler_clone(from.get()) : nullptr);
  }
  void start_over() {
    now_ = {clone(first_.penalties), clone(first_.grammar)};
    kept_ = 0;
  }
  void accept(samplers& to, std::size_t from, std::size_t end) const {
    for (; from < end; ++from) {
      if (to.penalties) llama_sampler_accept(to.penalties.get(), ids_[from]);
      if (to.grammar && from >= prompt_length_) llama_sampler_accept(to.grammar.get(), ids_[from]);
    }
  }
  //! Returns the bias and mask that turn `logits` into `left`, which may have fewer candidates, in a different order.
  row_transform differences(final_row& made, std::span<const float> logits, std::span<const llama_token_data> left,
                            const row_transform& base) {
    final_.assign(logits.size(), -std::numeric_limits<float>::infinity());
    for (const llama_token_data& one : left) final_[static_cast<std::size_t>(one.id)] = one.logit;
    made.ids.clear();
    made.biases.clear();
    made.mask.assign((logits.size() + 63) / 64, 0);
    for (std::size_t v = 0; v < logits.size(); ++v) {
      if (final_[v] == -std::numeric_limits<float>::infinity()) continue;
      made.mask[v / 64] |= std::uint64_t{1} << (v % 64);
      if (final_[v] == logits[v]) continue;
      made.ids.push_back(static_cast<token_id>(v));
      made.biases.push_back(final_[v] - logits[v]);
    }
    row_transform whole = base;
    whole.bias_ids = made.ids;
    whole.bias_values = made.biases;
    whole.mask_words = made.mask;
    return whole;
  }

  Model* model_;
  samplers first_, now_;  // samplers as the caller passed them, and after they have accepted kept_ tokens
  std::uint32_t prompt_length_;
  std::size_t kept_ = 0, first_row_ = 0;
  std::vector<token_id> ids_;
  std::vector<final_row> made_;
  std::vector<llama_token_data> candidates_;
  std::vector<float> final_;
};

}  // namespace llama_cpp
SPECVERIFY_NAMESPACE_END

#endif
