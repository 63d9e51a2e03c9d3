// SPDX-License-Identifier: Apache-2.0
//! What a session needs of a language model: feed tokens at positions, give the rows that follow them, cut back. Here: tinylm.
#ifndef EDGE_CLOUD_ENGINE_HPP
#define EDGE_CLOUD_ENGINE_HPP

#include <specverify/core/views.hpp>

#include "tinylm/tinylm.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

namespace edge_cloud {

class engine {
 public:
  explicit engine(std::shared_ptr<const tinylm::weights> model) : sequence_(std::move(model)) {}

  [[nodiscard]] std::uint32_t vocab_size() const { return static_cast<std::uint32_t>(sequence_.vocab_size()); }

  //! The tokens stand at `position`...; afterwards `row(i)` is the row of the i-th of the last `rows` of them.
  void feed(std::uint32_t position, std::span<const specverify::token_id> tokens, std::uint32_t rows) {
    if (position != sequence_.size()) throw std::logic_error("the session and its engine disagree about the position");
    const auto begin = std::chrono::steady_clock::now();
    rows_.resize(rows * sequence_.vocab_size());
    if (const std::string error = sequence_.feed(tokens, rows_); !error.empty()) throw std::runtime_error(error);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    ++passes_;
    first_row_ = tokens.size() - rows;
  }

  [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const {
    return specverify::logits_row(std::span<const float>(rows_).subspan(i * sequence_.vocab_size(), sequence_.vocab_size()));
  }

  //! What the model gives beside row i: the normed last hidden state, and the last layer's attention of the row's query, mean over heads.
  [[nodiscard]] std::span<const float> hidden(std::uint32_t i) const { return sequence_.hidden_row(first_row_ + i); }
  [[nodiscard]] std::span<const float> attention(std::uint32_t i) const { return sequence_.attention_row(first_row_ + i); }

  void truncate(std::uint32_t position) { sequence_.rollback(position); }

  [[nodiscard]] std::uint64_t passes() const noexcept { return passes_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  tinylm::sequence sequence_;
  std::vector<float> rows_;
  std::size_t first_row_ = 0;  // among the positions of the last feed
  std::uint64_t passes_ = 0;
  double seconds_ = 0;
};

}  // namespace edge_cloud

#endif
