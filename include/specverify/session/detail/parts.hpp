// SPDX-License-Identifier: Apache-2.0
//! Hides the types of an edge's parts behind interfaces: `edge_parts` hides the sparsifier, window and skip policy, and
//! `any_row` hides the execution policy and scalar type of a row.
//!
//! `supply_row` keeps its `any_row` on the stack, so the object is valid only during that call.
#ifndef SPECVERIFY_SESSION_DETAIL_PARTS_HPP
#define SPECVERIFY_SESSION_DETAIL_PARTS_HPP

#include <specverify/distribution/fp16_law.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/policy/observe_skip.hpp>
#include <specverify/row/argmax.hpp>
#include <specverify/row/reading.hpp>
#include <specverify/session/options.hpp>
#include <specverify/sparsify/concepts.hpp>
#include <specverify/uncertainty/temperature_perturbation.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Properties of the parts. `make_edge` sets them once, because they do not change during a session.
struct parts_facts {
  wire_format format{};                           //!< format of the messages
  guarantee strength = guarantee::unconditional;  //!< guarantee of the text, with this skip policy
  bool gates = false;                             //!< the skip policy may skip a token
  bool needs_coin = false;
  bool needs_attention = false;
  bool needs_uncertainty = false;    //!< the skip policy also draws tokens from rows at other temperatures
  bool needs_probabilities = false;  //!< the window needs the probabilities of drawn tokens in the rows
  bool unconditional = false;        //!< the window accepts every position
  bool charges = false;              //!< the window itself computes the cost of distributions
  bool counts_beyond = false;        //!< the sparsifier learns from a refused distribution if a bonus token follows
  std::uint32_t most_kept = 0;       //!< maximum K of a round
  std::size_t state_bytes = 0;       //!< size of the sparsifier's state
  std::size_t law_bytes = 0;         //!< bytes of workspace for one distribution
  read_request widest{};             //!< the largest request that `request` can return
  perturbation_options perturbation{};
};

//! The skip policy's decision on a drafted token.
struct gate_answer {
  bool keep = false;  //!< the edge commits the token without the cloud
  bool uncertain = false;
};

//! The parts of an edge. A state is passed as `state_bytes` bytes, as in the journal, at any address.
class edge_parts {
 public:
  edge_parts(const edge_parts&) = delete;
  edge_parts& operator=(const edge_parts&) = delete;

  //! Writes the state before the first token.
  virtual void initial(std::byte* state) const noexcept = 0;
  //! Plans a round within the agreed format; K is valid until the next plan.
  [[nodiscard]] virtual draft_plan plan(const observation& seen) noexcept = 0;
  //! Returns the request for a reading that has all results which `select` needs.
  [[nodiscard]] virtual read_request request(const std::byte* state) const noexcept = 0;
  //! Selects the support of a position and advances `state` past the position. `drawn` points to the token that was
  //! drawn from the row, which the sparsifier may use; it is nullptr if no token was drawn.
  [[nodiscard]] virtual result<support> select(const row_summary& row, const drawn_token* drawn, std::byte* state,
                                               workspace& scratch) const noexcept = 0;
  //! Returns whether the window accepts a draft at the position. Only the distribution at this position may influence
  //! the decision.
  [[nodiscard]] virtual bool takes(window_progress& so_far, std::uint32_t position, const law& next) const noexcept = 0;
  //! Returns the skip policy's decision. Errors: attention_missing, invalid_attention.
  [[nodiscard]] virtual result<gate_answer> ask(const skip_observation& seen) const noexcept = 0;
  //! Destroys the parts and returns the memory to the allocator.
  virtual void destroy() noexcept = 0;

 protected:
  edge_parts() noexcept = default;
  ~edge_parts() = default;
};

struct destroy_parts {
  void operator()(edge_parts* parts) const noexcept { parts->destroy(); }
};
using held_parts = std::unique_ptr<edge_parts, destroy_parts>;

class any_row {
 public:
  any_row(const any_row&) = delete;
  any_row& operator=(const any_row&) = delete;

  [[nodiscard]] virtual result<token_id> most_probable() noexcept = 0;
  //! Reads the row once. All functions below require this call first.
  [[nodiscard]] virtual status read(const read_request& request, workspace& scratch) noexcept = 0;
  [[nodiscard]] const row_summary& summary() const noexcept { return *summary_; }
  [[nodiscard]] virtual result<token_id> sample(const uniform_stream<>& stream) noexcept = 0;
  [[nodiscard]] virtual result<token_id> race(const coupling_noise& noise, std::uint32_t position) noexcept = 0;
  [[nodiscard]] virtual result<law> in_fp16(workspace& scratch) noexcept = 0;
  //! Counts how often draws at random temperatures give a different token. Uses `scratch` only during the call.
  [[nodiscard]] virtual result<disagreement> perturb(token_id token, const perturbation_options& options,
                                                     const uniforms<>& random, workspace& scratch) noexcept = 0;

 protected:
  any_row() noexcept = default;
  ~any_row() = default;

  const row_summary* summary_ = nullptr;
};

template <execution_policy Policy, class Scalar>
class row_of final : public any_row {
 public:
  row_of(Policy policy, row_view<Scalar> row, const row_transform& transform) noexcept
      : policy_(policy), row_(row), transform_(transform) {}

  result<token_id> most_probable() noexcept override {
    const result<argmax_result> best = argmax(policy_, row_, transform_);
    if (!best) return best.error();
    return best->token;
  }
  status read(const read_request& request, workspace& scratch) noexcept override {
    const auto made = read_row(policy_, row_, transform_, request, scratch);
    if (!made) return made.error();
    summary_ = &reading_.emplace(*made);
    return {};
  }
  result<token_id> sample(const uniform_stream<>& stream) noexcept override {
    const auto drawn = reading_->sample(stream);
    if (!drawn) return drawn.error();
    return drawn->token;
  }
  result<token_id> race(const coupling_noise& noise, std::uint32_t position) noexcept override {
    return reading_->race(noise, position);
  }
  result<law> in_fp16(workspace& scratch) noexcept override { return fp16_law(*reading_, scratch); }
  result<disagreement> perturb(token_id token, const perturbation_options& options, const uniforms<>& random,
                               workspace& scratch) noexcept override {
    return measure_disagreement(*reading_, token, options, random, scratch);
  }

 private:
  [[no_unique_address]] Policy policy_;
  row_view<Scalar> row_;
  const row_transform& transform_;
  std::optional<row_reading<Policy, Scalar>> reading_;
};

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
