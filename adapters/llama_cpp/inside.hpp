// SPDX-License-Identifier: Apache-2.0
//! Reads the hidden state and the attention weights of each row of logits from a llama.cpp graph.
//!
//! The skip policy of `ui` needs the drafter's attention, and the decision head of `wisv` needs hidden states. For
//! example:
//!   llama_cpp::inside seen;          // declared before the context, because it must outlive it
//!   seen.watch(settings, weights);   // sets a callback and turns flash attention off in the llama_context_params
//!   llama_cpp::with_inside drafter(*llama_cpp::model::make(llama_init_from_model(weights, settings)), seen);
//!
//!   hidden(i)     tensor "result_norm", the input of the output matrix: n_embd numbers, the `predicting` state
//!   attention(i)  tensor "kq_soft_max-N" of the last layer N, averaged over the heads: one weight per position of the
//!                 text, with the row's own position last. A position outside an attention window has the weight 0. The
//!                 share of an attention sink is omitted
//! Guarantees: result i belongs to row i of the last feed, for any n_batch and n_ubatch of llama.cpp.
//! Deviates:   without flash attention, llama.cpp adds numbers in a different order, so logits differ in the last bits.
//! See:        docs/llama.md, tests/adapters/llama_inside_test.cpp, examples/llama/inside.cpp
#ifndef SPECVERIFY_ADAPTERS_LLAMA_CPP_INSIDE_HPP
#define SPECVERIFY_ADAPTERS_LLAMA_CPP_INSIDE_HPP

#include <specverify/core/views.hpp>

#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

SPECVERIFY_NAMESPACE_BEGIN
namespace llama_cpp {

struct inside_parts {
  bool hidden = true, attention = true;
};

class inside {  // copies the tensors of one context
 public:
  explicit inside(inside_parts wanted = {}) : wanted_(wanted) {}
  inside(inside&&) = delete;  // llama.cpp keeps the object's address

  //! Must be called before the context is opened. If no attention is wanted, the flash attention setting is unchanged.
  void watch(llama_context_params& settings, const llama_model* weights) {
    settings.cb_eval = hear;
    settings.cb_eval_user_data = this;
    if (wanted_.attention) settings.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    last_layer_ = "kq_soft_max-" + std::to_string(llama_model_n_layer(weights) - 1);
  }

 private:
  template <class Model>
  friend class with_inside;
  using seen_rows = std::vector<std::vector<float>>;  // the last rows_ of each chunk, so the last rows_ of all remain

  //! llama.cpp calls it with `ask` to find out whether the tensor is needed. If it is, llama.cpp calls it again when
  //! the tensor has its values.
  static bool hear(ggml_tensor* one, bool ask, void* self) {
    inside& at = *static_cast<inside*>(self);
    at.flash_ |= one->op == GGML_OP_FLASH_ATTN_EXT;
    const bool state = at.wanted_.hidden && at.norm_ == one->name;
    const bool shown = state || (at.wanted_.attention && at.last_layer_ == one->name);
    if (ask) return shown && at.rows_ > 0 && one->type == GGML_TYPE_F32;
    if (shown) at.keep(*one, state ? at.hidden_ : at.attention_);
    return true;
  }
  //! Copies the last rows of a tensor [numbers, rows, heads], averaged over the heads. A hidden state has one head.
  void keep(const ggml_tensor& from, seen_rows& to) const {
    std::vector<float> head(static_cast<std::size_t>(from.ne[0]));
    for (std::int64_t i = std::max<std::int64_t>(0, from.ne[1] - rows_); i < from.ne[1]; ++i) {
      std::vector<float>& mean = to.emplace_back(head.size());
      for (std::int64_t h = 0; h < from.ne[2]; ++h) {
        const auto at = static_cast<std::size_t>(i) * from.nb[1] + static_cast<std::size_t>(h) * from.nb[2];
        ggml_backend_tensor_get(&from, head.data(), at, head.size() * sizeof(float));
        for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += head[k] / static_cast<float>(from.ne[2]);
      }
    }
  }
  [[nodiscard]] std::span<const float> of(const seen_rows& seen, std::uint32_t i) const {
    return seen.empty() ? std::span<const float>{} : std::span<const float>(seen[seen.size() - rows_ + i]);
  }

  inside_parts wanted_;
  std::string norm_ = "result_norm", last_layer_;
  std::uint32_t rows_ = 0;
  bool flash_ = false;
  seen_rows hidden_, attention_;
};

//! A language model, `model` or `constrained`, whose context `seen` watches. `seen` must outlive it.
template <class Model>
class with_inside : public Model {
 public:
  with_inside(Model wrapped, inside& seen) : Model(std::move(wrapped)), seen_(&seen) {}

  //! Errors: the model's errors; with `where` = positions in the cache: hidden_state_missing, attention_missing (no
  //! such tensor, or `watch` was not called), options_disagree (flash attention is on), unsupported (a window without
  //! `swa_full`, or other sequences in the same cells: open with n_seq_max = 1 or without `kv_unified`).
  [[nodiscard]] status feed(std::uint32_t position, std::span<const token_id> tokens, std::uint32_t rows) {
    seen_->rows_ = rows, seen_->flash_ = false, seen_->hidden_.clear(), seen_->attention_.clear();
    if (const status why = Model::feed(position, tokens, rows); !why.ok()) return why;
    const std::uint32_t end = position + static_cast<std::uint32_t>(tokens.size());
    if (seen_->wanted_.hidden && seen_->hidden_.size() < rows) return {errc::hidden_state_missing, part::host, end};
    if (seen_->wanted_.attention && seen_->attention_.size() < rows)
      return {seen_->flash_ ? errc::options_disagree : errc::attention_missing, part::host, end};
    for (std::uint32_t i = 0; i < rows && seen_->wanted_.attention; ++i) {
      std::vector<float>& cells = seen_->attention_[seen_->attention_.size() - rows + i];
      const std::size_t own = end - rows + i + 1;  // a cell is a position; cells after the row are masked
      while (cells.size() > own && cells.back() == 0) cells.pop_back();
      if (cells.size() != own) return {errc::unsupported, part::host, end};
    }
    return {};
  }
  [[nodiscard]] std::span<const float> hidden(std::uint32_t i) const { return seen_->of(seen_->hidden_, i); }
  [[nodiscard]] std::span<const float> attention(std::uint32_t i) const { return seen_->of(seen_->attention_, i); }

 private:
  inside* seen_;
};

}  // namespace llama_cpp
SPECVERIFY_NAMESPACE_END

#endif
