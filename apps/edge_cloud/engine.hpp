// SPDX-License-Identifier: Apache-2.0
//! A language model as a session's host wants it (host/language_model.hpp). Here: tinylm.
#ifndef EDGE_CLOUD_ENGINE_HPP
#define EDGE_CLOUD_ENGINE_HPP

#include <specverify/host/language_model.hpp>

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

  //! Errors: base_length_mismatch (the session and its engine disagree about the position), invalid_argument (what
  //!         tinylm does not take: an id outside its vocabulary, a text beyond its context).
  [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const specverify::token_id> tokens,
                                        std::uint32_t rows);
  [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const;
  [[nodiscard]] std::span<const float> logits(std::uint32_t i) const;  //!< row i as it lies in memory

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
static_assert(specverify::truncating_model<engine>);

}  // namespace edge_cloud

#endif
