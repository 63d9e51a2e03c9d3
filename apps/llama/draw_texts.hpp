// SPDX-License-Identifier: Apache-2.0
//! Draws many texts of one model at a time, from the distribution at temperature 1.
#ifndef LLAMA_PAIR_DRAW_TEXTS_HPP
#define LLAMA_PAIR_DRAW_TEXTS_HPP

#include "../rows/record.hpp"
#include "engine.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace llama_pair {

//! Draws up to `tokens` tokens after each prompt, and returns them without the prompts. A text ends with a token of
//! `ends()`. One pass of the model serves all texts, so many texts take little more time than one. Throws failure.
class text_drawer {
 public:
  using text = std::vector<specverify::token_id>;

  text_drawer(const engine& model, std::uint32_t tokens, int threads)
      : model_(model), tokens_(tokens), threads_(threads), source_(model.vocab_size(), {}) {}

  [[nodiscard]] std::vector<text> draw(std::span<const text> prompts) {
    open(prompts);
    std::vector<text> texts(prompts.size());
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      for (std::size_t at = 0; at < prompts[i].size(); ++at) add(prompts[i][at], at, i, at + 1 == prompts[i].size());
      decode();
      if (take(texts[i], static_cast<std::int32_t>(prompts[i].size()) - 1)) live.push_back(i);
    }
    while (!live.empty()) {
      for (const std::size_t i : live) add(texts[i].back(), prompts[i].size() + texts[i].size() - 1, i, true);
      decode();
      std::vector<std::size_t> next;
      for (std::size_t k = 0; k < live.size(); ++k) {
        if (take(texts[live[k]], static_cast<std::int32_t>(k))) next.push_back(live[k]);
      }
      live = std::move(next);
    }
    return texts;
  }

 private:
  struct free_batch {
    void operator()(llama_batch* batch) const {
      llama_batch_free(*batch);
      delete batch;
    }
  };

  //! Opens a context with room for all texts.
  void open(std::span<const text> prompts) {
    std::size_t longest = 0;
    for (const text& prompt : prompts) longest = std::max(longest, prompt.size());
    const auto room = static_cast<std::uint32_t>(longest) + tokens_, texts = static_cast<std::uint32_t>(prompts.size());
    llama_context_params settings = llama_context_default_params();
    settings.n_ctx = texts * room;
    settings.n_seq_max = texts;
    settings.n_batch = settings.n_ubatch = std::max(texts, room);
    settings.n_threads = settings.n_threads_batch = threads_;
    // llama.cpp only reads the weights
    context_.reset(llama_init_from_model(const_cast<llama_model*>(model_.weights()), settings));
    if (!context_)
      throw failure(exit_code::engine_failed,
                    "engine failure: no context for " + std::to_string(texts) + " texts at a time");
    batch_.reset(new llama_batch(llama_batch_init(static_cast<std::int32_t>(settings.n_batch), 0, 1)));
  }
  void add(specverify::token_id token, std::size_t position, std::size_t sequence, bool wants_row) {
    const auto k = static_cast<std::size_t>(batch_->n_tokens++);
    batch_->token[k] = token;
    batch_->pos[k] = static_cast<llama_pos>(position);
    batch_->n_seq_id[k] = 1;
    batch_->seq_id[k][0] = static_cast<llama_seq_id>(sequence);
    batch_->logits[k] = wants_row ? 1 : 0;
  }
  void decode() {
    const std::int32_t returned = llama_decode(context_.get(), *batch_);
    if (returned != 0)
      throw failure_of({specverify::errc::engine_failed, specverify::part::host, static_cast<std::uint32_t>(returned)},
                       {});
    batch_->n_tokens = 0;
  }
  //! Draws the token after a row of the last pass. Returns whether the text continues.
  bool take(text& to, std::int32_t row) {
    const auto logits =
        specverify::logits_row(llama_get_logits_ith(context_.get(), row), std::size_t{model_.vocab_size()});
    to.push_back(source_.draw(logits, logits, drawn_++));
    return to.size() < tokens_ && std::count(model_.ends().begin(), model_.ends().end(), to.back()) == 0;
  }

  const engine& model_;
  std::uint32_t tokens_, drawn_ = 0;
  int threads_;
  recorded::token_source source_;
  std::unique_ptr<llama_context, decltype(&llama_free)> context_{nullptr, llama_free};
  std::unique_ptr<llama_batch, free_batch> batch_;
};

}  // namespace llama_pair

#endif
