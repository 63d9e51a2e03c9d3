// SPDX-License-Identifier: Apache-2.0
//! All that an edge asks of its parts and of a row, behind two interfaces that name no type of either: one sparsifier,
//! one window and one gate; and a row of any policy and scalar, for as long as the call that brought it.
//!
//! A row stands on the stack of `supply_row`. A sparsifier sees its `row_summary` alone.
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

//! What the parts are like. It holds as long as the session, so it is said once, in `make_edge`.
struct parts_facts {
  wire_format format{};                           //!< of the messages
  guarantee strength = guarantee::unconditional;  //!< of the text, with this gate
  bool gates = false;                             //!< the gate may keep a token
  bool needs_coin = false;
  bool needs_attention = false;
  bool needs_uncertainty = false;    //!< rows are drawn from at other temperatures too
  bool needs_probabilities = false;  //!< the window asks for the row's own probability of drawn tokens
  bool unconditional = false;        //!< the window takes every position
  bool charges = false;              //!< the window counts laws in a unit of its own
  bool counts_beyond = false;        //!< a law that the window refused counts for a bonus token
  std::uint32_t most_kept = 0;       //!< K that a round may plan at most
  std::size_t state_bytes = 0;       //!< of the sparsifier's state
  std::size_t law_bytes = 0;         //!< of workspace, for one law
  read_request widest{};             //!< the most that `request` asks for
  perturbation_options perturbation{};
};

//! The gate's word on a drafted token.
struct gate_answer {
  bool keep = false;  //!< it is committed here alone
  bool uncertain = false;
};

//! States are bytes, as a journal holds them: `state_bytes` of them, at any address.
class edge_parts {
 public:
  edge_parts(const edge_parts&) = delete;
  edge_parts& operator=(const edge_parts&) = delete;

  //! The state before the first token.
  virtual void initial(std::byte* state) const noexcept = 0;
  //! Plans a round, cut to what was agreed on; its K holds until the next one.
  [[nodiscard]] virtual draft_plan plan(const observation& seen) noexcept = 0;
  //! What a reading must gather for `select`.
  [[nodiscard]] virtual read_request request(const std::byte* state) const noexcept = 0;
  //! The support of a position; `state` becomes the state behind it. With a `drawn` token a sparsifier may look at
  //! that too; else nullptr.
  [[nodiscard]] virtual result<support> select(const row_summary& row, const drawn_token* drawn, std::byte* state,
                                               workspace& scratch) const noexcept = 0;
  //! Whether the window takes the position, decided from its law alone.
  [[nodiscard]] virtual bool takes(window_progress& so_far, std::uint32_t position, const law& next) const noexcept = 0;
  //! Errors: attention_missing, invalid_attention.
  [[nodiscard]] virtual result<gate_answer> ask(const skip_observation& seen) const noexcept = 0;
  //! Gives the memory back to the allocator that it came from.
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
  //! Reads the row once. Then its summary stands, and the calls below may be made.
  [[nodiscard]] virtual status read(const read_request& request, workspace& scratch) noexcept = 0;
  [[nodiscard]] const row_summary& summary() const noexcept { return *summary_; }
  [[nodiscard]] virtual result<token_id> sample(const uniform_stream<>& stream) noexcept = 0;
  [[nodiscard]] virtual result<law> in_fp16(workspace& scratch) noexcept = 0;
  //! How often draws at random temperatures give another token. Takes and gives back `scratch`.
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
