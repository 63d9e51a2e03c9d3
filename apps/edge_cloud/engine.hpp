// SPDX-License-Identifier: Apache-2.0
//! What a session needs of a language model: feed tokens at positions, give the rows that follow them, cut back. Here:
//! tinylm.
#ifndef EDGE_CLOUD_ENGINE_HPP
#define EDGE_CLOUD_ENGINE_HPP

#include <specverify/core/views.hpp>

#include <memory>
#include <span>
#include <vector>

namespace tinylm {
class weights;
class sequence;
}  // namespace tinylm

namespace edge_cloud {

class engine {
 public:
  //! A pass takes `pass_seconds` at least.
  explicit engine(std::shared_ptr<const tinylm::weights> model, double pass_seconds = 0);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  //! The tokens stand at `position`...; afterwards `row(i)` is the row of the i-th of the last `rows` of them.
  void feed(std::uint32_t position, std::span<const specverify::token_id> tokens, std::uint32_t rows);
  [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const;

  //! What the model gives with row i: the normed last hidden state, and the last layer's attention of the row's
  //! query, mean over heads.
  [[nodiscard]] std::span<const float> hidden(std::uint32_t i) const;
  [[nodiscard]] std::span<const float> attention(std::uint32_t i) const;

  void truncate(std::uint32_t position);

  [[nodiscard]] std::uint64_t passes() const noexcept { return passes_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  std::unique_ptr<tinylm::sequence> sequence_;
  std::vector<float> rows_;
  std::size_t first_row_ = 0;  // among the positions of the last feed
  std::uint64_t passes_ = 0;
  double pass_seconds_ = 0;
  double seconds_ = 0;
};

}  // namespace edge_cloud

#endif
