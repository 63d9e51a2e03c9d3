// SPDX-License-Identifier: Apache-2.0
//! The class of the edge's half of a session; session/edge.hpp brings its bodies too.
//!
//! Use it where a session is passed on and not called; include session/edge.hpp where it is.
//! See: docs/algorithms/session.md, docs/session.md, tests/unit/session/edge_session_test.cpp
#ifndef SPECVERIFY_SESSION_EDGE_SESSION_HPP
#define SPECVERIFY_SESSION_EDGE_SESSION_HPP

#include <specverify/core/execution.hpp>
#include <specverify/policy/concepts.hpp>
#include <specverify/session/detail/any_row.hpp>
#include <specverify/session/detail/edge_protocol.hpp>
#include <specverify/session/options.hpp>
#include <specverify/session/snapshot.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

struct edge_maker;

}  // namespace detail

//! `make_edge` makes one. Each input returns `busy` while outputs wait, and all but supply_row and engine_failed while
//! a row is wanted that is written ahead. The status says what became of the input; a session that fails also says so
//! in an output.
class edge_session : private detail::edge_protocol {
 public:
  // Inputs.

  //! status start(std::span<const token_id> prompt, session_time now)
  //! Begins a new session with a prompt of 1 token or more. Errors: unexpected_message (not idle), prompt_empty
  //! (at_prompt), prompt_too_long (`where` = its tokens; max_text_length or more), token_out_of_range (`where` =
  //! position).
  using edge_protocol::start;
  //! result<journal_reading> restore(std::span<const std::byte> journal, session_time now)
  //! Continues from a journal, and says where its last whole record ends: the host cuts the file there before it
  //! appends. A draft of the open round that the journal holds is sent again. O(bytes of the journal).
  //! Errors: unknown_session (an empty journal), truncated (no whole record), unsupported (another layout),
  //! journal_corrupt, options_disagree (`where` = edge_options::at_*: other options than the journal began with;
  //! at_sparsifier: another sparsifier's, or a cloud's), output_too_small (the text is longer than max_text_length),
  //! prompt_empty and prompt_too_long (as of `start`), unexpected_message (not idle).
  using edge_protocol::restore;
  //! status recover(std::uint32_t prompt_length, session_time now)
  //! Continues without a journal: the cloud sends the text. `now` should be later than in any run before: then what
  //! earlier runs have sent cannot disturb this one. Errors: unexpected_message (not idle), prompt_empty and
  //! prompt_too_long as of `start`.
  using edge_protocol::recover;
  //! status receive(std::span<const std::byte> message, session_time now)
  //! A message arrived. ok, or why it was not used: duplicate, stale_*, checksum_mismatch, truncated,
  //! unexpected_message, refused_by_peer...
  using edge_protocol::receive;
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
                                  const row_extras& extras, session_time now) noexcept {
    detail::row_of<Policy, Scalar> any(policy, row, transform);
    return take_row(any, row.valid_size(), extras, now);
  }
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
  friend struct detail::edge_maker;
  edge_session(const edge_options& options, const detail::parts_facts& facts, detail::held_parts&& parts,
               detail::edge_drafts&& drafts)
      : edge_protocol(options, facts, std::move(parts), std::move(drafts)) {}
};

namespace detail {

//! Makes sessions, whatever their parts are.
struct edge_maker {
  [[nodiscard]] static status check(const edge_options& options) noexcept;
  //! Throws what the allocator throws.
  [[nodiscard]] static result<edge_session> make(const edge_options& options, const parts_facts& facts,
                                                 held_parts&& parts);
};

}  // namespace detail

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
