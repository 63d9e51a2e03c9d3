// SPDX-License-Identifier: Apache-2.0
//! Implements the language model of a session's host (host/language_model.hpp) with tinylm.
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
  //! A pass takes at least `pass_seconds`.
  explicit engine(std::shared_ptr<const tinylm::weights> model, double pass_seconds = 0);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  //! Errors: base_length_mismatch (session and engine disagree about the position), invalid_argument (tinylm rejects
  //!         the input: an id outside the vocabulary, a text beyond the context).
  [[nodiscard]] specverify::status feed(std::uint32_t position, std::span<const specverify::token_id> tokens,
                                        std::uint32_t rows);
  [[nodiscard]] specverify::row_view<float> row(std::uint32_t i) const;
  [[nodiscard]] std::span<const float> logits(std::uint32_t i) const;  //!< row i in place

  //! Return the model's data for row i: the normalized last hidden state, and the attention of the row's query in the
  //! last layer, averaged over heads.
  [[nodiscard]] std::span<const float> hidden(std::uint32_t i) const;
  [[nodiscard]] std::span<const float> attention(std::uint32_t i) const;

  void truncate(std::uint32_t position);

  [[nodiscard]] std::uint64_t passes() const noexcept { return passes_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  std::unique_ptr<tinylm::sequence> sequence_;
  std::vector<float> rows_;
  std::size_t first_row_ = 0;  // index of row 0 among the positions of the last feed
  std::uint64_t passes_ = 0;
  double pass_seconds_ = 0;
  double seconds_ = 0;
};
static_assert(specverify::truncating_model<engine>);

}  // namespace edge_cloud

#endif
