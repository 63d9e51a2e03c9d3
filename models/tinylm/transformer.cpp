// SPDX-License-Identifier: Apache-2.0
// Reads the weights from a file, and computes a forward pass.
#include "transformer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels.hpp"

namespace tinylm {

namespace {

// Reads the sizes of a model and the number of layers. Returns an error, or an empty string.
std::string read_sizes(const tensor_file& file, weights& w, std::size_t& depth) {
  const std::pair<const char*, std::size_t*> fields[] = {{"dim", &w.dim},         {"heads", &w.heads},
                                                         {"hidden", &w.hidden},   {"layers", &depth},
                                                         {"context", &w.context}, {"vocab", &w.vocab}};
  for (const auto& [name, field] : fields) {
    const auto found = file.metadata.find(name);
    if (found == file.metadata.end()) return std::string("weights: metadata lacks ") + name;
    for (const char c : found->second) {
      if (c < '0' || c > '9' || *field > 100000) return std::string("weights: bad number for ") + name;
      *field = *field * 10 + static_cast<std::size_t>(c - '0');
    }
    if (*field == 0 || *field > 65536) return std::string("weights: bad number for ") + name;
  }
  if (w.dim % w.heads != 0 || w.head_size() % lanes != 0 || w.hidden % lanes != 0 || w.dim > 4096 || depth > 64 ||
      w.context > 4096) {
    return "weights: head size and hidden size must be multiples of 32, and all sizes small";
  }
  return {};
}

// Finds tensors by name and shape. A missing tensor is empty, and `error` names the last missing one.
struct tensor_reader {
  const tensor_file& file;
  std::string error = {};

  std::span<const float> take(const std::string& name, const std::vector<std::size_t>& shape) {
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end()) {
      error = "weights: no tensor " + name;
    } else if (found->second.shape != shape) {
      error = "weights: tensor " + name + " has the wrong shape";
    } else {
      return found->second.values;
    }
    return {};
  }

  panel_matrix matrix(const std::string& name, std::size_t rows, std::size_t columns) {
    const auto values = take(name, {rows, columns});
    return values.empty() ? panel_matrix() : panel_matrix(values, rows, columns, columns, 1);
  }

  std::vector<float> vector(const std::string& name, std::size_t size) {
    const auto values = take(name, {size});
    return std::vector<float>(values.begin(), values.end());
  }
};

void read_layers(tensor_reader& from, weights& w, std::size_t depth) {
  for (std::size_t i = 0; i < depth && from.error.empty(); ++i) {
    const std::string prefix = std::string("layers.").append(std::to_string(i)).append(1, '.');
    weights::layer l;
    l.attention_norm = from.vector(prefix + "attention_norm", w.dim);
    l.qkv = from.matrix(prefix + "qkv", w.dim, 3 * w.dim);
    l.out = from.matrix(prefix + "out", w.dim, w.dim);
    l.mlp_norm = from.vector(prefix + "mlp_norm", w.dim);
    l.gate_up = from.matrix(prefix + "gate_up", w.dim, 2 * w.hidden);
    l.down = from.matrix(prefix + "down", w.hidden, w.dim);
    w.layers.push_back(std::move(l));
  }
}

void fill_angles(weights& w) {
  const std::size_t half = w.head_size() / 2;
  for (std::size_t t = 0; t < w.context; ++t) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(t) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      w.cosine.push_back(static_cast<float>(std::cos(angle)));
      w.sine.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

}  // namespace

outcome<std::shared_ptr<const weights>> weights::make(const tensor_file& file) {
  using bad = outcome<std::shared_ptr<const weights>>;
  weights w;
  std::size_t depth = 0;
  const std::string error = read_sizes(file, w, depth);
  if (!error.empty()) return bad::failure(error);
  tensor_reader from{file};
  const auto embed = from.take("embed", {w.vocab, w.dim});
  if (!from.error.empty()) return bad::failure(from.error);
  w.embed.assign(embed.begin(), embed.end());
  w.head = panel_matrix(embed, w.dim, w.vocab, 1, w.dim);
  w.norm = from.vector("norm", w.dim);
  read_layers(from, w, depth);
  if (!from.error.empty()) return bad::failure(from.error);
  if (file.tensors.size() != 2 + 6 * depth) return bad::failure("weights: tensors that belong to no layer");
  fill_angles(w);
  return std::shared_ptr<const weights>(std::make_shared<weights>(std::move(w)));
}

void sequence::rotate(float* row, std::size_t position) const {
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

void sequence::attend(std::size_t layer, std::size_t position, float* q, float* mixed, float* mean) {
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

// One evaluation of several sequences: row p of every block belongs to slot p.
class joint_pass {
 public:
  // Returns the error of the requests, or an empty string if they can be evaluated.
  static std::string refuse(std::span<const feed_request> requests);

  explicit joint_pass(std::span<const feed_request> requests);
  void run();

 private:
  struct place {
    sequence* target;
    std::size_t position, index;  // in the sequence; in this feed
  };

  void embed();
  void attend(std::size_t l);
  void pass_layer(std::size_t l);
  void add_to_x();
  void write_hidden();
  void write_logits();

  std::span<const feed_request> requests_;
  const weights& w_;
  std::size_t total_ = 0, logit_rows_ = 0;
  std::vector<place> places_;
  std::vector<float> memory_;
  row_block x_{}, normed_{}, qkv_{}, mixed_{}, wide_{}, inner_{};
};

std::string joint_pass::refuse(std::span<const feed_request> requests) {
  const weights& w = requests[0].target->model();
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
  }
  return {};
}

joint_pass::joint_pass(std::span<const feed_request> requests) : requests_(requests), w_(requests[0].target->model()) {
  for (const auto& request : requests) {
    total_ += request.ids.size();
    logit_rows_ += request.rows.size() / w_.vocab;
  }
  places_.reserve(total_);
  const std::size_t d = w_.dim;
  memory_.resize(total_ * (d * 6 + w_.hidden * 3) + lanes);
  float* at = memory_.data();
  const auto block = [&](std::size_t stride) {
    const row_block made{at, stride};
    at += total_ * stride;
    return made;
  };
  x_ = block(d), normed_ = block(d), qkv_ = block(3 * d), mixed_ = block(d), wide_ = block(2 * w_.hidden),
  inner_ = block(w_.hidden);
}

void joint_pass::run() {
  embed();
  for (std::size_t l = 0; l < w_.layers.size(); ++l) pass_layer(l);
  write_hidden();
  write_logits();
  for (const auto& request : requests_) request.target->size_ += request.ids.size();
}

void joint_pass::embed() {
  const std::size_t d = w_.dim;
  const float embed_scale = std::sqrt(static_cast<float>(d));
  for (const auto& request : requests_) {
    sequence& target = *request.target;
    target.last_first_ = target.size_;
    target.hidden_.resize(request.ids.size() * d);
    target.attention_.resize(request.ids.size() * round_up_to_lanes(w_.context));
    for (std::size_t i = 0; i < request.ids.size(); ++i) {
      const float* from = &w_.embed[static_cast<std::size_t>(request.ids[i]) * d];
      float* to = x_.row(places_.size());
      for (std::size_t k = 0; k < d; ++k) to[k] = from[k] * embed_scale;
      places_.push_back({&target, target.size_ + i, i});
    }
  }
}

void joint_pass::attend(std::size_t l) {
  const std::size_t d = w_.dim;
  for (std::size_t p = 0; p < total_; ++p) {
    const auto& [target, position, index] = places_[p];
    float* row = qkv_.row(p);
    target->rotate(row, position);
    target->rotate(row + d, position);
    std::copy(row + d, row + 2 * d, target->key(l, position));
    std::copy(row + 2 * d, row + 3 * d, target->value(l, position));
  }
  for (std::size_t p = 0; p < total_; ++p) {
    const auto& [target, position, index] = places_[p];
    const bool last = l + 1 == w_.layers.size();
    target->attend(l, position, qkv_.row(p), mixed_.row(p),
                   last ? &target->attention_[index * round_up_to_lanes(w_.context)] : nullptr);
  }
}

// x += the output of attention or of the MLP, which is in `normed_`.
void joint_pass::add_to_x() {
  for (std::size_t p = 0; p < total_; ++p) add_scaled(x_.row(p), normed_.row(p), 1.0f, w_.dim);
}

void joint_pass::pass_layer(std::size_t l) {
  const std::size_t d = w_.dim, hidden = w_.hidden;
  const weights::layer& layer = w_.layers[l];
  for (std::size_t p = 0; p < total_; ++p) rms_norm(x_.row(p), layer.attention_norm.data(), normed_.row(p), d);
  layer.qkv.multiply(normed_, qkv_, total_);
  attend(l);
  layer.out.multiply(mixed_, normed_, total_);
  add_to_x();
  for (std::size_t p = 0; p < total_; ++p) rms_norm(x_.row(p), layer.mlp_norm.data(), normed_.row(p), d);
  layer.gate_up.multiply(normed_, wide_, total_);
  for (std::size_t p = 0; p < total_; ++p) gated(wide_.row(p), wide_.row(p) + hidden, inner_.row(p), hidden);
  layer.down.multiply(inner_, normed_, total_);
  add_to_x();
}

void joint_pass::write_hidden() {
  const std::size_t d = w_.dim;
  for (std::size_t p = 0; p < total_; ++p)
    rms_norm(x_.row(p), w_.norm.data(), &places_[p].target->hidden_[places_[p].index * d], d);
}

// Writes to the caller's rows directly if a row has whole panels, otherwise through a padded buffer.
void joint_pass::write_logits() {
  const std::size_t d = w_.dim, padded = round_up_to_lanes(w_.vocab);
  std::vector<float> states(logit_rows_ * d);
  std::size_t r = 0;
  for (const auto& request : requests_) {
    const std::size_t wanted = request.rows.size() / w_.vocab;
    const float* from = request.target->hidden_.data() + (request.ids.size() - wanted) * d;
    std::copy(from, from + wanted * d, states.data() + r * d);
    r += wanted;
  }
  if (padded == w_.vocab && requests_.size() == 1) {
    w_.head.multiply({states.data(), d}, {requests_[0].rows.data(), w_.vocab}, logit_rows_);
    return;
  }
  std::vector<float> buffer(logit_rows_ * padded);
  w_.head.multiply({states.data(), d}, {buffer.data(), padded}, logit_rows_);
  r = 0;
  for (const auto& request : requests_) {
    for (std::size_t i = 0; i < request.rows.size() / w_.vocab; ++i, ++r) {
      std::copy_n(buffer.data() + r * padded, w_.vocab, request.rows.data() + i * w_.vocab);
    }
  }
}

std::string sequence::feed_together(std::span<const feed_request> requests) {
  if (requests.empty()) return {};
  std::string error = joint_pass::refuse(requests);
  if (error.empty()) joint_pass(requests).run();
  return error;
}

}  // namespace tinylm
