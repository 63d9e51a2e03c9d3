// SPDX-License-Identifier: Apache-2.0
//! The class of the edge's half of a session; session/edge.hpp brings its bodies too.
//!
//! Use it where a session is passed on and not called; include session/edge.hpp where it is.
//! See: docs/algorithms/session.md, docs/session.md, tests/unit/session/edge_session_test.cpp
#ifndef SPECVERIFY_SESSION_EDGE_SESSION_HPP
#define SPECVERIFY_SESSION_EDGE_SESSION_HPP

#include <specverify/core/execution.hpp>
#include <specverify/distribution/draft_block.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/session/detail/drafter.hpp>
#include <specverify/session/detail/edge_protocol.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>

#include <cstddef>
#include <optional>
#include <span>

SPECVERIFY_TYPES_BEGIN

//! What an engine gives with a row where the session needs it.
struct row_extras {
  std::span<const float>
      hidden{};  //!< the drafter's hidden state behind this row; format.attachments.hidden_size numbers
  //! weights of the last layer, mean over the heads, of this row's query; over the positions before it
  std::span<const float> attention{};
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! A policy that may keep a token; always_send costs nothing.
template <class Skip>
inline constexpr bool gates = Skip::strength != guarantee::unconditional;

//! What the skip policy saw of a drafted token, and whether the edge keeps it: then it is committed here alone.
struct gate_answer {
  skip_observation seen{};
  bool keep = false;
};

//! A token drawn for the block; no_token: the window ended before it.
struct drawn_draft {
  token_id token = no_token;
  bool keep = false;
};

}  // namespace detail

//! Each input returns `busy` while outputs wait, and all but supply_row and engine_failed while a row is wanted that is
//! written ahead. The status says what became of the input; a session that fails also says so in an output.
template <sparsifier Sparsifier = top_k, window_policy Window = fixed_window, skip_policy Skip = always_send>
class basic_edge_session : private detail::edge_protocol {
 public:
  using state_type = typename Sparsifier::state_type;
  using snapshot = edge_snapshot<state_type>;

  //! What a token committed here alone, or under another rule, is worth at most.
  static constexpr guarantee strength = Skip::strength;

  //! K, L and l are said once each, by format, sparsifier or window: a number left at 0 is taken from the others, and
  //! without a sparsifier K is the format's, the window's or that of a default one. A format whose laws list no support
  //! (dense_lattice, fp16_row, token_only) takes none.
  //! Errors: vocab_size_missing; secret_missing; those of `check(wire_format)`; invalid_temperature and
  //! invalid_truncation (at_transform); invalid_argument (at_threshold, at_*); unsupported (at_format:
  //! token_and_count, whose residual would be drawn here; at_draw_from_row: not top_k_tail); invalid_argument (also a
  //! skip policy without room for skipped tokens: format.attachments.max_skipped is 0); those of `check` of the
  //! sparsifier, the window and the skip policy, where they have one; options_disagree (at_max_draft_length,
  //! at_resolution, at_support_size, at_window_support_size, at_sparsifier, at_vocab_size: the window counts with
  //! another V); out_of_memory. Memory that an option sizes is address space until something is written to it.
  [[nodiscard]] static result<basic_edge_session> make(const edge_options& options,
                                                       const std::optional<Sparsifier>& sparsifier = {},
                                                       const Window& window = {}, const Skip& skip = {});

  // Inputs.

  //! status start(std::span<const token_id> prompt, session_time now)
  //! Begins a new session with a prompt of 1 token or more. Errors: unexpected_message (not idle), prompt_empty
  //! (at_prompt), prompt_too_long (`where` = its tokens; max_text_length or more), token_out_of_range (`where` =
  //! position).
  using edge_protocol::start;
  //! Continues from a journal, and says where its last whole record ends: the host cuts the file there before it
  //! appends. A draft of the open round that the journal holds is sent again. O(bytes of the journal).
  //! Errors: unknown_session (an empty journal), truncated (no whole record), unsupported (another layout),
  //! journal_corrupt, options_disagree (`where` = edge_options::at_*: other options than the journal began with;
  //! at_sparsifier: another sparsifier's, or a cloud's), output_too_small (the text is longer than max_text_length),
  //! prompt_empty and prompt_too_long (as of `start`), unexpected_message (not idle).
  [[nodiscard]] result<journal_reading> restore(std::span<const std::byte> journal, session_time now) noexcept;
  //! status recover(std::uint32_t prompt_length, session_time now)
  //! Continues without a journal: the cloud sends the text. `now` should be later than in any run before: then what
  //! earlier runs have sent cannot disturb this one. Errors: unexpected_message (not idle), prompt_empty and
  //! prompt_too_long as of `start`.
  using edge_protocol::recover;
  //! A message arrived. ok, or why it was not used: duplicate, stale_*, checksum_mismatch, truncated,
  //! unexpected_message, refused_by_peer...
  [[nodiscard]] status receive(std::span<const std::byte> message, session_time now) noexcept;
  //! status tick(session_time now)
  //! Time passed. Does nothing before `deadline()`.
  using edge_protocol::tick;
  //! The row that `evaluate` asked for; a drafter that knows fewer tokens than vocab_size may give a shorter one.
  //! Errors: unexpected_message (none is wanted), row_size_mismatch (`where` = its entries, more than vocab_size),
  //! beyond_limit (at_truncation: the transform takes more workspace than that of the options), those of the row
  //! operations (the session has failed).
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  session_time now) noexcept {
    return supply_row(policy, row, transform, {}, now);
  }
  //! With what else the engine gives. Errors: also hidden_state_missing, attention_missing (the session has
  //! failed), size_mismatch.
  template <execution_policy Policy, class Scalar>
  [[nodiscard]] status supply_row(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                  const row_extras& extras, session_time now) noexcept;
  //! status reconnect(session_time now)
  //! The transport was lost and stands again: names the session in a new epoch and asks again what was open.
  using edge_protocol::reconnect;
  //! status disconnect(session_time now)
  //! The transport was lost: what follows is up to `edge_options::on_link_loss`. Errors: link_lost (stop: the session
  //! has failed).
  using edge_protocol::disconnect;
  //! status engine_failed(status why)
  //! The engine cannot go on; the cloud gets a refusal. A `why` that is ok counts as engine_failed.
  using edge_protocol::engine_failed;
  //! status stop(stop_cause cause, session_time now)
  //! The host wants no more text: gives up what is open, tells the cloud, and waits for its answer as for any other.
  //! The session then ends with `finished` (stop_reason::cancelled) and is over for good: a restored one goes on to
  //! end, with the same cause. A text that is complete ends as it would. `cause`: what the cloud is told, cancelled
  //! or finished (the host has all that it needs). A row that is wanted must not be supplied afterwards.
  //! Errors: busy, invalid_argument (`where` = another cause), unexpected_message (idle), session_closed (over).
  using edge_protocol::stop;
  //! void record_link(float uplink_rate, float downlink_rate, float round_trip, float draft_time)
  //! What the host measured of the link; recorded with the next round.
  using edge_protocol::record_link;
  //! void record_channel(const channel_report& channel, std::uint32_t uplink_state = 0)
  //! The channel as it will be reported to the cloud, and whether the uplink is in its high state; recorded with the
  //! next round.
  using edge_protocol::record_channel;

  // Outputs.

  //! session_output next(): the next output, `none` where there is none.
  using edge_protocol::next;
  //! bool has_outputs(): `next` has more: every input is `busy`.
  using edge_protocol::has_outputs;
  //! std::optional<session_time> deadline(): when `tick` has something to do.
  using edge_protocol::deadline;
  //! bool wants_rows()
  //! `evaluate` is unanswered. Ask before the rows are supplied where the engine works while messages arrive.
  using edge_protocol::wants_rows;
  //! edge_state state()
  using edge_protocol::state;
  //! const row_transform& transform()
  //! Temperature and truncation of the session, as `edge_options::transform` gave them: pass this one with the rows.
  using edge_protocol::transform;
  //! std::span<const token_id> text()
  using edge_protocol::text;
  //! std::uint32_t length()
  using edge_protocol::length;
  //! std::uint32_t agreed_length()
  //! Of it, what the cloud has too: tokens from here on were committed here alone.
  using edge_protocol::agreed_length;
  //! std::uint32_t prompt_length()
  using edge_protocol::prompt_length;
  //! std::uint32_t round(), counts from 1
  using edge_protocol::round;
  //! std::uint32_t keep_from()
  //! The lowest position that the drafter will still be cut to: committed length - 1. An engine that cannot cut its
  //! cache keeps a checkpoint there.
  using edge_protocol::keep_from;
  //! std::uint32_t epoch(): counts from 1; lives and connections of this edge begin new ones
  using edge_protocol::epoch;
  //! status refusal()
  //! Why the cloud refused the session: code, part and `where` as it found them, for `to_string`. The session has
  //! failed with refused_by_peer or unknown_session. ok: it was not refused.
  using edge_protocol::refusal;
  //! const session_statistics& statistics()
  using edge_protocol::statistics;
  //! const round_record& last_round()
  using edge_protocol::last_round;

 private:
  static constexpr bool observes_probabilities = requires { requires Window::needs_probabilities; };

  class maker {  // who may call the constructor
    friend basic_edge_session;
    maker() noexcept {}
  };

 public:
  basic_edge_session(maker, const edge_options& options, const Sparsifier& sparsifier, const Window& window,
                     const Skip& skip, detail::edge_drafts&& drafts);

 private:
  // detail/edge_draft.hpp: what is due, and tokens drawn from rows
  [[nodiscard]] status do_what_is_due(status done, session_time now) noexcept;
  [[nodiscard]] status begin_round(session_time now) noexcept;
  void renew_state() noexcept;
  [[nodiscard]] status close(session_time now) noexcept;
  template <class Policy, class Scalar>
  [[nodiscard]] result<detail::gate_answer> ask_gate(const row_reading<Policy, Scalar>& row, token_id token,
                                                     std::span<const float> attention) noexcept;
  [[nodiscard]] bool takes(std::uint32_t position, const law& next) noexcept;
  template <class Policy, class Scalar>
  [[nodiscard]] result<detail::drawn_draft> draw_draft(Policy policy, row_view<Scalar> row,
                                                       const row_transform& transform,
                                                       const row_extras& extras) noexcept;
  template <class Policy, class Scalar>
  [[nodiscard]] result<detail::drawn_draft> draw_from_row(const row_reading<Policy, Scalar>& row,
                                                          const row_extras& extras, state_type& state) noexcept;
  template <class Policy, class Scalar>
  [[nodiscard]] result<detail::drawn_draft> draw_from_law(const row_reading<Policy, Scalar>& row,
                                                          const row_extras& extras, state_type& state) noexcept;
  template <class Policy, class Scalar>
  [[nodiscard, gnu::cold]] status write_ahead(Policy policy, row_view<Scalar> row, const row_transform& transform,
                                              session_time now) noexcept;

  Window window_;
  Skip skip_;
  detail::drafter<Sparsifier> drafter_;
  owned_memory<state_type> states_;  // before each draft of the window, and after the last
  state_type ahead_state_{};
  owned_memory<float> probabilities_;  // that the row gave each draft, where the window asks
  untouched_memory<std::byte> skip_space_;
  bool beyond_known_ = false;  // states_[L + 1] counts a law that was made and not drawn from
};

//! The edge of the papers: top-K supports, the same plan every round.
using edge_session = basic_edge_session<>;

SPECVERIFY_NAMESPACE_END

#endif
