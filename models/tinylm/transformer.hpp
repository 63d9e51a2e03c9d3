// SPDX-License-Identifier: Apache-2.0
//! A decoder-only transformer: shared weights, and sequences with a key-value cache that rolls back.
//!
//! Decoder blocks: RMSNorm, rotary attention, RMSNorm, SwiGLU; tied embedding. train/reference.py computes the same in
//! NumPy. A position's logits, hidden state and attention row depend on the ids up to it alone, bit for bit: not on how
//! many positions or sequences are evaluated together, and not on what was fed and rolled back before (kernels.hpp says
//! why).
#ifndef SPECVERIFY_EXAMPLES_TINYLM_TRANSFORMER_HPP
#define SPECVERIFY_EXAMPLES_TINYLM_TRANSFORMER_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "outcome.hpp"
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

  [[nodiscard]] static outcome<std::shared_ptr<const weights>> make(const tensor_file& file) {
    using bad = outcome<std::shared_ptr<const weights>>;
    weights w;
    std::size_t depth = 0;
    const std::pair<const char*, std::size_t*> fields[] = {{"dim", &w.dim},         {"heads", &w.heads},
                                                           {"hidden", &w.hidden},   {"layers", &depth},
                                                           {"context", &w.context}, {"vocab", &w.vocab}};
    for (const auto& [name, field] : fields) {
      const auto found = file.metadata.find(name);
      if (found == file.metadata.end()) return bad::failure(std::string("weights: metadata lacks ") + name);
      for (const char c : found->second) {
        if (c < '0' || c > '9' || *field > 100000) return bad::failure(std::string("weights: bad number for ") + name);
        *field = *field * 10 + static_cast<std::size_t>(c - '0');
      }
      if (*field == 0 || *field > 65536) return bad::failure(std::string("weights: bad number for ") + name);
    }
    if (w.dim % w.heads != 0 || w.head_size() % lanes != 0 || w.hidden % lanes != 0 || w.dim > 4096 || depth > 64 ||
        w.context > 4096) {
      return bad::failure("weights: head size and hidden size must be multiples of 32, and all sizes small");
    }
    std::string error;
    const auto take = [&](const std::string& name, std::size_t rows, std::size_t columns) -> std::span<const float> {
      const auto found = file.tensors.find(name);
      const std::vector<std::size_t> shape =
          columns == 0 ? std::vector<std::size_t>{rows} : std::vector<std::size_t>{rows, columns};
      if (found == file.tensors.end()) {
        error = "weights: no tensor " + name;
      } else if (found->second.shape != shape) {
        error = "weights: tensor " + name + " has the wrong shape";
      } else {
        return found->second.values;
      }
      return {};
    };
    const auto matrix = [&](const std::string& name, std::size_t rows, std::size_t columns) {
      const auto values = take(name, rows, columns);
      return values.empty() ? panel_matrix() : panel_matrix(values, rows, columns, columns, 1);
    };
    const auto vector = [&](const std::string& name, std::size_t size) {
      const auto values = take(name, size, 0);
      return std::vector<float>(values.begin(), values.end());
    };
    const auto embed = take("embed", w.vocab, w.dim);
    if (!error.empty()) return bad::failure(error);
    w.embed.assign(embed.begin(), embed.end());
    w.head = panel_matrix(embed, w.dim, w.vocab, 1, w.dim);
    w.norm = vector("norm", w.dim);
    for (std::size_t i = 0; i < depth; ++i) {
      const std::string prefix = std::string("layers.").append(std::to_string(i)).append(1, '.');
      layer l;
      l.attention_norm = vector(prefix + "attention_norm", w.dim);
      l.qkv = matrix(prefix + "qkv", w.dim, 3 * w.dim);
      l.out = matrix(prefix + "out", w.dim, w.dim);
      l.mlp_norm = vector(prefix + "mlp_norm", w.dim);
      l.gate_up = matrix(prefix + "gate_up", w.dim, 2 * w.hidden);
      l.down = matrix(prefix + "down", w.hidden, w.dim);
      if (!error.empty()) return bad::failure(error);
      w.layers.push_back(std::move(l));
    }
    if (!error.empty()) return bad::failure(error);
    if (file.tensors.size() != 2 + 6 * depth) return bad::failure("weights: tensors that belong to no layer");
    const std::size_t half = w.head_size() / 2;
    for (std::size_t t = 0; t < w.context; ++t) {
      for (std::size_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
        w.cosine.push_back(static_cast<float>(std::cos(angle)));
        w.sine.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    return std::shared_ptr<const weights>(std::make_shared<weights>(std::move(w)));
  }
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

inline void sequence::rotate(float* row, std::size_t position) const {
  using half_lanes = Eigen::Array<float, static_cast<int>(lanes / 2), 1>;
  using half_view = Eigen::Map<half_lanes, Eigen::Unaligned>;
  using const_half_view = Eigen::Map<const half_lanes, Eigen::Unaligned>;
  const std::size_t width = model_->head_size(), half = width / 2;
  const float* cosine = &model_->cosine[position * half];
  const float* sine = &model_->sine[position * half];
  for (std::size_t h = 0; h < model_->heads; ++h) {
    float* a = row + h * width;
    float* b = a + half;
    for (std::size_t i = 0; i < half; i += lanes / 2) {
      const half_lanes x = half_view(a + i), y = half_view(b + i);
      const const_half_view c(cosine + i), s(sine + i);
      half_view(a + i) = x * c - y * s;
      half_view(b + i) = y * c + x * s;
    }
  }
}

inline void sequence::attend(std::size_t layer, std::size_t position, float* q, float* mixed, float* mean) {
  const std::size_t width = model_->head_size(), count = position + 1;
  const float scale = 1.0f / std::sqrt(static_cast<float>(width));
  std::vector<float>& scores = scratch_;
  scores.resize(round_up_to_lanes(model_->context));
  if (mean != nullptr) std::fill(mean, mean + round_up_to_lanes(count), 0.0f);
  for (std::size_t h = 0; h < model_->heads; ++h) {
    for (std::size_t t = 0; t < count; ++t) scores[t] = dot(q + h * width, key(layer, t) + h * width, width) * scale;
    softmax(scores.data(), count);
    std::fill(mixed + h * width, mixed + (h + 1) * width, 0.0f);
    for (std::size_t t = 0; t < count; ++t)
      add_scaled(mixed + h * width, value(layer, t) + h * width, scores[t], width);
    if (mean != nullptr)
      add_scaled(mean, scores.data(), 1.0f / static_cast<float>(model_->heads), round_up_to_lanes(count));
  }
}

inline std::string sequence::feed_together(std::span<const feed_request> requests) {
  if (requests.empty()) return {};
  const weights& w = requests[0].target->model();
  std::size_t total = 0, logit_rows = 0;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    const auto& [target, ids, rows] = requests[r];
    if (&target->model() != &w) return "feed: sequences of different models";
    for (std::size_t s = 0; s < r; ++s) {
      if (requests[s].target == target) return "feed: a sequence given twice";
    }
    if (ids.size() > w.context - target->size())
      return std::string("feed: more than ").append(std::to_string(w.context)).append(" tokens in a sequence");
    if (rows.size() % w.vocab != 0 || rows.size() / w.vocab > ids.size()) return "feed: rows do not fit the ids";
    for (const token_id id : ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= w.vocab)
        return std::string("feed: id ").append(std::to_string(id)).append(" is outside the vocabulary");
    }
    total += ids.size();
    logit_rows += rows.size() / w.vocab;
  }

  struct place {
    sequence* target;
    std::size_t position, index;  // in the sequence; in this feed
  };
  std::vector<place> places;
  places.reserve(total);
  const std::size_t d = w.dim;
  std::vector<float> memory(total * (d * 6 + w.hidden * 3) + lanes);
  float* at = memory.data();
  const auto block = [&](std::size_t stride) {
    const row_block made{at, stride};
    at += total * stride;
    return made;
  };
  const row_block x = block(d), normed = block(d), qkv = block(3 * d), mixed = block(d), wide = block(2 * w.hidden),
                  inner = block(w.hidden);
  const row_block add = normed;

  const float embed_scale = std::sqrt(static_cast<float>(d));
  for (const auto& request : requests) {
    sequence& target = *request.target;
    target.last_first_ = target.size_;
    target.hidden_.resize(request.ids.size() * d);
    target.attention_.resize(request.ids.size() * round_up_to_lanes(w.context));
    for (std::size_t i = 0; i < request.ids.size(); ++i) {
      const float* from = &w.embed[static_cast<std::size_t>(request.ids[i]) * d];
      float* to = x.row(places.size());
      for (std::size_t k = 0; k < d; ++k) to[k] = from[k] * embed_scale;
      places.push_back({&target, target.size_ + i, i});
    }
  }
  for (std::size_t l = 0; l < w.layers.size(); ++l) {
    const weights::layer& layer = w.layers[l];
    for (std::size_t p = 0; p < total; ++p) rms_norm(x.row(p), layer.attention_norm.data(), normed.row(p), d);
    layer.qkv.multiply(normed, qkv, total);
    for (std::size_t p = 0; p < total; ++p) {
      const auto& [target, position, index] = places[p];
      float* row = qkv.row(p);
      target->rotate(row, position);
      target->rotate(row + d, position);
      std::copy(row + d, row + 2 * d, target->key(l, position));
      std::copy(row + 2 * d, row + 3 * d, target->value(l, position));
    }
    for (std::size_t p = 0; p < total; ++p) {
      const auto& [target, position, index] = places[p];
      const bool last = l + 1 == w.layers.size();
      target->attend(l, position, qkv.row(p), mixed.row(p),
                     last ? &target->attention_[index * round_up_to_lanes(w.context)] : nullptr);
    }
    layer.out.multiply(mixed, add, total);
    for (std::size_t p = 0; p < total; ++p) add_scaled(x.row(p), add.row(p), 1.0f, d);
    for (std::size_t p = 0; p < total; ++p) rms_norm(x.row(p), layer.mlp_norm.data(), normed.row(p), d);
    layer.gate_up.multiply(normed, wide, total);
    for (std::size_t p = 0; p < total; ++p) gated(wide.row(p), wide.row(p) + w.hidden, inner.row(p), w.hidden);
    layer.down.multiply(inner, add, total);
    for (std::size_t p = 0; p < total; ++p) add_scaled(x.row(p), add.row(p), 1.0f, d);
  }
  for (std::size_t p = 0; p < total; ++p)
    rms_norm(x.row(p), w.norm.data(), &places[p].target->hidden_[places[p].index * d], d);

  // Logits straight into the caller's rows where a row holds whole panels, else through a padded buffer.
  const std::size_t padded = round_up_to_lanes(w.vocab);
  std::vector<float> buffer;
  if (padded != w.vocab) buffer.resize(logit_rows * padded);
  std::vector<float> states(logit_rows * d);
  std::size_t r = 0;
  for (const auto& request : requests) {
    const std::size_t wanted = request.rows.size() / w.vocab;
    const float* from = request.target->hidden_.data() + (request.ids.size() - wanted) * d;
    std::copy(from, from + wanted * d, states.data() + r * d);
    if (padded == w.vocab && requests.size() == 1)
      w.head.multiply({states.data(), d}, {request.rows.data(), w.vocab}, wanted);
    r += wanted;
  }
  if (padded != w.vocab || requests.size() > 1) {
    buffer.resize(logit_rows * padded);
    w.head.multiply({states.data(), d}, {buffer.data(), padded}, logit_rows);
    r = 0;
    for (const auto& request : requests) {
      for (std::size_t i = 0; i < request.rows.size() / w.vocab; ++i, ++r) {
        std::copy_n(buffer.data() + r * padded, w.vocab, request.rows.data() + i * w.vocab);
      }
    }
  }
  for (const auto& request : requests) request.target->size_ += request.ids.size();
  return {};
}

}  // namespace tinylm

#endif  // SPECVERIFY_EXAMPLES_TINYLM_TRANSFORMER_HPP
