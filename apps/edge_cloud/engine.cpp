// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include "tinylm/tinylm.hpp"

#include <chrono>
#include <thread>

namespace edge_cloud {

engine::engine(std::shared_ptr<const tinylm::weights> model, double pass_seconds)
    : sequence_(std::make_unique<tinylm::sequence>(std::move(model))), pass_seconds_(pass_seconds) {}
engine::~engine() = default;

specverify::status engine::feed(std::uint32_t position, std::span<const specverify::token_id> tokens,
                                std::uint32_t rows) {
  using specverify::errc, specverify::part;
  if (position != sequence_->size()) return {errc::base_length_mismatch, part::host, position};
  const auto begin = std::chrono::steady_clock::now();
  rows_.resize(rows * sequence_->vocab_size());
  if (const std::string error = sequence_->feed(tokens, rows_); !error.empty())
    return {errc::invalid_argument, part::host, position};
  if (pass_seconds_ > 0) std::this_thread::sleep_until(begin + std::chrono::duration<double>(pass_seconds_));
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ++passes_;
  first_row_ = tokens.size() - rows;
  return {};
}

std::span<const float> engine::logits(std::uint32_t i) const {
  return std::span<const float>(rows_).subspan(i * sequence_->vocab_size(), sequence_->vocab_size());
}
specverify::row_view<float> engine::row(std::uint32_t i) const { return specverify::logits_row(logits(i)); }

std::span<const float> engine::hidden(std::uint32_t i) const { return sequence_->hidden_row(first_row_ + i); }
std::span<const float> engine::attention(std::uint32_t i) const { return sequence_->attention_row(first_row_ + i); }

void engine::truncate(std::uint32_t position) { sequence_->rollback(position); }

}  // namespace edge_cloud
