// SPDX-License-Identifier: Apache-2.0
//! A decoder-only transformer: shared weights, and sequences with a key-value cache that rolls back.
//!
//! Decoder blocks: RMSNorm, rotary attention, RMSNorm, SwiGLU; tied embedding. train/reference.py computes the same in
//! NumPy. A position's logits, hidden state and attention row depend on the ids up to it alone, bit for bit: not on how
//! many positions or sequences are evaluated together, and not on what was fed and rolled back before (panel_matrix.hpp
//! and kernels.hpp say why).
#ifndef SPECVERIFY_EXAMPLES_TINYLM_TRANSFORMER_HPP
#define SPECVERIFY_EXAMPLES_TINYLM_TRANSFORMER_HPP

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "outcome.hpp"
#include "panel_matrix.hpp"
#include "safetensors.hpp"
#include "tokenizer.hpp"

namespace tinylm {

//! Weights of one model; immutable, shared by any number of sequences and threads.
class weights {
 public:
  struct layer {
    std::vector<float> attention_norm, mlp_norm;
    panel_matrix qkv, out, gate_up, down;
  };

  std::size_t dim = 0, heads = 0, hidden = 0, context = 0, vocab = 0;
  std::vector<layer> layers;
  std::vector<float> embed;  //!< vocab x dim
  std::vector<float> norm;
  panel_matrix head;
  std::vector<float> cosine, sine;  //!< context x head_size / 2

  [[nodiscard]] std::size_t head_size() const { return dim / heads; }

  [[nodiscard]] static outcome<std::shared_ptr<const weights>> make(const tensor_file& file);
};

class sequence;

//! One sequence's share of a joint evaluation.
struct feed_request {
  sequence* target;
  std::span<const token_id> ids;  //!< fed at positions [target->size(), target->size() + ids.size())
  std::span<float> rows;          //!< logits of the last rows.size() / vocab of these positions, vocab floats each
};

//! The tokens fed so far, as keys and values, and what the last feed said about its positions.
class sequence {
 public:
  explicit sequence(std::shared_ptr<const weights> model)
      : model_(std::move(model)), keys_(model_->layers.size() * model_->context * model_->dim), values_(keys_.size()) {}

  [[nodiscard]] const weights& model() const { return *model_; }
  [[nodiscard]] std::size_t vocab_size() const { return model_->vocab; }
  [[nodiscard]] std::size_t capacity() const { return model_->context; }
  [[nodiscard]] std::size_t size() const { return size_; }

  //! Appends ids; see feed_request for rows. Returns an empty string, or what was wrong: then nothing changed.
  [[nodiscard]] std::string feed(std::span<const token_id> ids, std::span<float> rows) {
    feed_request request{this, ids, rows};
    return feed_together(std::span<feed_request>(&request, 1));
  }

  //! Evaluates several sequences of one model at once; each sequence at most once.
  [[nodiscard]] static std::string feed_together(std::span<const feed_request> requests);

  //! Keeps the first `length` tokens; a longer length keeps all.
  void rollback(std::size_t length) { size_ = std::min(size_, length); }

  //! Of position i of the last feed: the normed last hidden state, dim floats.
  [[nodiscard]] std::span<const float> hidden_row(std::size_t i) const {
    return std::span(hidden_).subspan(i * model_->dim, model_->dim);
  }

  //! Of position i of the last feed: the last layer's attention on positions [0, its own], mean over heads; sums to 1.
  [[nodiscard]] std::span<const float> attention_row(std::size_t i) const {
    return std::span(attention_).subspan(i * round_up_to_lanes(model_->context), last_first_ + i + 1);
  }

 private:
  friend class joint_pass;  // one evaluation of several sequences, in transformer.cpp

  void attend(std::size_t layer, std::size_t position, float* q, float* mixed, float* mean);
  void rotate(float* row, std::size_t position) const;

  [[nodiscard]] float* key(std::size_t layer, std::size_t position) {
    return &keys_[(layer * model_->context + position) * model_->dim];
  }
  [[nodiscard]] float* value(std::size_t layer, std::size_t position) {
    return &values_[(layer * model_->context + position) * model_->dim];
  }

  std::shared_ptr<const weights> model_;
  std::vector<float> keys_, values_;  // [layer][position][dim]
  std::size_t size_ = 0;
  std::vector<float> hidden_, attention_;
  std::size_t last_first_ = 0;
  std::vector<float> scratch_;
};

}  // namespace tinylm

#endif  // SPECVERIFY_EXAMPLES_TINYLM_TRANSFORMER_HPP
