// SPDX-License-Identifier: Apache-2.0
//! Provides two implementations of a model in the lab: a live model, and a model that reads results from a trace if
//! they are recorded. Both give bit-identical results.
#ifndef SPECVERIFY_APPS_LAB_MODELS_HPP
#define SPECVERIFY_APPS_LAB_MODELS_HPP

#include <specverify/core/status.hpp>
#include <specverify/core/views.hpp>

#include "../demand.hpp"
#include "trace.hpp"

#include <chrono>
#include <concepts>
#include <stdexcept>

namespace lab {

using programs::demand;

//! One text of one model. `feed` appends tokens. Afterwards logits, hidden state and attention row of the last `rows`
//! tokens can be read; i = 0 is the first of these. The hidden state and the attention row belong to that token, and
//! the logits give the distribution of the token after it. Spans are valid until the next feed. Errors are exceptions,
//! because the lab cannot use a text after an error.
template <class Model>
concept language_model = requires(Model& model, const Model& fixed, std::span<const token_id> ids,
                                  std::uint32_t count) {
  model.feed(ids, count);
  model.rollback(count);
  { fixed.size() } -> std::same_as<std::uint32_t>;
  { fixed.vocab_size() } -> std::same_as<std::uint32_t>;
  { fixed.hidden_size() } -> std::same_as<std::uint32_t>;
  { fixed.logits(count) } -> std::same_as<std::span<const float>>;
  { fixed.hidden(count) } -> std::same_as<std::span<const float>>;
  { fixed.attention(count) } -> std::same_as<std::span<const float>>;
};

//! Returns the i-th of the last rows fed, as the library's type.
template <language_model Model>
[[nodiscard]] specverify::row_view<float> row_of(const Model& model, std::uint32_t i) {
  return specverify::logits_row(model.logits(i));
}

struct model_counters {
  std::uint64_t passes = 0;     //!< calls of feed
  std::uint64_t positions = 0;  //!< positions with a requested result
  std::uint64_t recorded = 0;   //!< results that came from the trace
  double seconds = 0;           //!< seconds spent in feed and logits
};

class live_model {
 public:
  explicit live_model(std::shared_ptr<const tinylm::weights> model) : sequence_(std::move(model)) {}

  void feed(std::span<const token_id> ids, std::uint32_t rows) {
    const auto begin = std::chrono::steady_clock::now();
    first_ = static_cast<std::uint32_t>(ids.size()) - rows;
    logits_.resize(std::size_t{rows} * sequence_.vocab_size());
    if (const std::string error = sequence_.feed(ids, logits_); !error.empty()) throw std::runtime_error(error);
    counters_.passes += 1;
    counters_.positions += rows;
    counters_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  void rollback(std::uint32_t length) { sequence_.rollback(length); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(sequence_.size()); }
  [[nodiscard]] std::uint32_t vocab_size() const { return static_cast<std::uint32_t>(sequence_.vocab_size()); }
  [[nodiscard]] std::uint32_t hidden_size() const { return static_cast<std::uint32_t>(sequence_.model().dim); }
  [[nodiscard]] std::span<const float> logits(std::uint32_t i) const {
    return std::span(logits_).subspan(std::size_t{i} * sequence_.vocab_size(), sequence_.vocab_size());
  }
  [[nodiscard]] std::span<const float> hidden(std::uint32_t i) const { return sequence_.hidden_row(first_ + i); }
  [[nodiscard]] std::span<const float> attention(std::uint32_t i) const { return sequence_.attention_row(first_ + i); }
  [[nodiscard]] const model_counters& counters() const { return counters_; }

 private:
  tinylm::sequence sequence_;
  std::vector<float> logits_;
  std::uint32_t first_ = 0;
  model_counters counters_;
};

enum class replay_mode : std::uint8_t {
  record,  //!< compute and record missing data
  strict   //!< missing data is an error
};

class replayed_model {
 public:
  explicit replayed_model(std::shared_ptr<model_trace> trace, replay_mode mode = replay_mode::record,
                          bool with_attention = false, std::size_t cached_rows = 2048)
      : trace_(std::move(trace)),
        model_(trace_->model()),
        live_(model_),
        stride_(tinylm::round_up_to_lanes(model_->vocab)),
        row_cache_(std::max<std::size_t>(cached_rows, model_->context)),
        mode_(mode),
        with_attention_(with_attention) {}

  //! Requests attention rows: from this call on they are recorded, and positions of a trace without them are computed
  //! again.
  void want_attention() { with_attention_ = true; }

  void feed(std::span<const token_id> ids, std::uint32_t rows) {
    const auto begin = std::chrono::steady_clock::now();
    if (rows > ids.size() || ids.size() > model_->context - tokens_.size())
      throw std::runtime_error("feed: more rows than ids, or the text is too long");
    for (const token_id id : ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= model_->vocab)
        throw std::runtime_error("feed: id " + std::to_string(id) + " is outside the vocabulary");
    }
    for (const token_id id : ids) {
      nodes_.push_back(trace_->child(nodes_.empty() ? root_node : nodes_.back(), id, mode_ == replay_mode::record));
      tokens_.push_back(id);
    }
    first_ = size() - rows;
    hidden_.resize(std::size_t{rows} * model_->dim);
    attention_.resize(rows);
    private_rows_.clear();
    private_rows_.resize(rows);
    counters_.passes += 1;
    counters_.positions += rows;
    for (std::uint32_t i = 0; i < rows; ++i) {
      if (!trace_->read(nodes_[first_ + i], own_hidden(i), attention_[i]) ||
          (with_attention_ && attention_[i].empty())) {
        compute(i, rows);
        break;
      }
      counters_.recorded += 1;
    }
    counters_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  void rollback(std::uint32_t length) {
    if (length >= tokens_.size()) return;
    tokens_.resize(length);
    nodes_.resize(length);
  }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.size()); }
  [[nodiscard]] std::uint32_t vocab_size() const { return static_cast<std::uint32_t>(model_->vocab); }
  [[nodiscard]] std::uint32_t hidden_size() const { return static_cast<std::uint32_t>(model_->dim); }

  //! Returns the logits: the output matrix times the hidden state. They are computed on the first call, and the latest
  //! results are cached.
  [[nodiscard]] std::span<const float> logits(std::uint32_t i) const {
    const node_id node = nodes_[first_ + i];
    if (node == no_node) {
      if (private_rows_[i].empty()) multiply(i, private_rows_[i]);
      return {private_rows_[i].data(), model_->vocab};
    }
    const auto [at, fresh] = row_index_.emplace(node, next_row_);
    if (fresh) {
      cached_row& slot = row_cache_[next_row_];
      if (slot.node != no_node) row_index_.erase(slot.node);
      slot.node = node;
      multiply(i, slot.values);
      next_row_ = (next_row_ + 1) % row_cache_.size();
    }
    return {row_cache_[at->second].values.data(), model_->vocab};
  }
  [[nodiscard]] std::span<const float> hidden(std::uint32_t i) const {
    return {hidden_.data() + std::size_t{i} * model_->dim, model_->dim};
  }
  //! Returns an empty span unless attention was requested or is recorded.
  [[nodiscard]] std::span<const float> attention(std::uint32_t i) const { return attention_[i]; }
  [[nodiscard]] const model_counters& counters() const { return counters_; }

 private:
  struct cached_row {
    node_id node = no_node;
    std::vector<float> values;
  };

  [[nodiscard]] std::span<float> own_hidden(std::uint32_t i) {
    return {hidden_.data() + std::size_t{i} * model_->dim, model_->dim};
  }

  void multiply(std::uint32_t i, std::vector<float>& row) const {
    const auto begin = std::chrono::steady_clock::now();
    row.resize(stride_);
    // `multiply` only reads its input, but row_block has no const form.
    model_->head.multiply({const_cast<float*>(hidden(i).data()), model_->dim}, {row.data(), stride_}, 1);
    counters_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  //! Computes the positions from first_ + missing on with the live model, and records the results.
  void compute(std::uint32_t missing, std::uint32_t rows) {
    if (mode_ == replay_mode::strict) {
      throw std::runtime_error("the trace does not hold position " + std::to_string(first_ + missing) +
                               " of this text");
    }
    std::size_t same = 0;
    const std::size_t most = std::min<std::size_t>(live_tokens_.size(), first_ + missing);
    while (same < most && live_tokens_[same] == tokens_[same]) ++same;
    live_.rollback(same);
    if (const std::string error = live_.feed(std::span(tokens_).subspan(same), {}); !error.empty())
      throw std::runtime_error(error);
    live_tokens_ = tokens_;
    for (std::uint32_t i = missing; i < rows; ++i) {
      const std::size_t at = first_ + i - same;
      const std::span<const float> state = live_.hidden_row(at);
      std::copy(state.begin(), state.end(), own_hidden(i).begin());
      attention_[i].clear();
      if (with_attention_) attention_[i].assign(live_.attention_row(at).begin(), live_.attention_row(at).end());
      trace_->record(nodes_[first_ + i], state, attention_[i]);
    }
  }

  std::shared_ptr<model_trace> trace_;
  std::shared_ptr<const tinylm::weights> model_;
  tinylm::sequence live_;
  std::vector<token_id> live_tokens_;
  std::vector<token_id> tokens_;
  std::vector<node_id> nodes_;
  std::size_t stride_;
  std::uint32_t first_ = 0;
  std::vector<float> hidden_;
  std::vector<std::vector<float>> attention_;
  mutable std::vector<std::vector<float>> private_rows_;
  mutable std::vector<cached_row> row_cache_;
  mutable std::unordered_map<node_id, std::size_t> row_index_;
  mutable std::size_t next_row_ = 0;
  mutable model_counters counters_;
  replay_mode mode_;
  bool with_attention_;
};

static_assert(language_model<live_model> && language_model<replayed_model>);

}  // namespace lab

#endif
