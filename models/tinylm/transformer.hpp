// SPDX-License-Identifier: Apache-2.0
//! Computes a decoder-only transformer: weights that sequences share, and sequences with a key-value cache that can be
//! rolled back.
//!
//! Decoder blocks: RMSNorm, rotary attention, RMSNorm, SwiGLU; tied embedding. train/reference.py computes the same in
//! NumPy. A position's logits, hidden state and attention row depend only on the ids up to that position, bit for bit.
//! They do not depend on other positions or sequences in the same evaluation, or on earlier feeds that were rolled
//! back, because every sum has a fixed order (panel_matrix.hpp, kernels.hpp).
#ifndef SPECVERIFY_MODELS_TINYLM_TRANSFORMER_HPP
#define SPECVERIFY_MODELS_TINYLM_TRANSFORMER_HPP

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

//! Weights of one model. Any number of sequences and threads can share them, because they are immutable.
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

//! One sequence's part of a joint evaluation.
struct feed_request {
  sequence* target;
  std::span<const token_id> ids;  //!< fed at positions [target->size(), target->size() + ids.size())
  std::span<float> rows;          //!< logits of the last rows.size() / vocab of these positions, vocab floats each
};

//! The tokens fed so far, as keys and values, and the results of the last feed.
class sequence {
 public:
  explicit sequence(std::shared_ptr<const weights> model)
      : model_(std::move(model)), keys_(model_->layers.size() * model_->context * model_->dim), values_(keys_.size()) {}

  [[nodiscard]] const weights& model() const { return *model_; }
  [[nodiscard]] std::size_t vocab_size() const { return model_->vocab; }
  [[nodiscard]] std::size_t capacity() const { return model_->context; }
  [[nodiscard]] std::size_t size() const { return size_; }

  //! Appends ids; see feed_request for rows. Returns an empty string on success, or the error; then nothing has
  //! changed.
  [[nodiscard]] std::string feed(std::span<const token_id> ids, std::span<float> rows) {
    feed_request request{this, ids, rows};
    return feed_together(std::span<feed_request>(&request, 1));
  }

  //! Evaluates several sequences of one model at once. Each sequence may occur only once.
  [[nodiscard]] static std::string feed_together(std::span<const feed_request> requests);

  //! Keeps the first `length` tokens. If the sequence has fewer tokens, it keeps all of them.
  void rollback(std::size_t length) { size_ = std::min(size_, length); }

  //! Returns the normalized last hidden state at position i of the last feed, dim floats.
  [[nodiscard]] std::span<const float> hidden_row(std::size_t i) const {
    return std::span(hidden_).subspan(i * model_->dim, model_->dim);
  }

  //! Returns the last layer's attention at position i of the last feed: weights of positions 0 to that one, mean over
  //! heads, sum 1.
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

#endif  // SPECVERIFY_MODELS_TINYLM_TRANSFORMER_HPP
