// SPDX-License-Identifier: Apache-2.0
//! The states of both sides: which events lead from which states to which, and the only code that changes a state.
//!
//! Guarantees: an event without a transition, or a pair with a known state that the table lacks, does not compile. Any
//!             other pair that the table lacks is caught by SPECVERIFY_ASSERT. Without assertions `enter` is one store:
//!             the session is then in the state that the event leads to, and its inputs check that state as usual.
//! See:        docs/algorithms/session.md, docs/session.md, tests/unit/session/states_test.cpp
#ifndef SPECVERIFY_SESSION_STATES_HPP
#define SPECVERIFY_SESSION_STATES_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/detail/transitions.hpp>
#include <specverify/session/output.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! What changes the state of an edge.
enum class edge_event : std::uint8_t {
  start,             //!< the host starts a session
  restore,           //!< a journal is restored
  restore_finished,  //!< a journal is restored whose text both sides have
  recover,           //!< the host goes on without a journal
  unknown,           //!< the cloud does not know the session
  new_epoch,         //!< a new epoch begins: no answer for long, a new connection, or the cloud has a newer epoch
  other_draft,       //!< the cloud decided the round on another draft
  more_text,         //!< text was taken, and there may be more
  drop_fetch,        //!< the cloud no longer has the text that is being fetched
  send_text,         //!< the cloud lacks text
  fetch_text,        //!< the cloud has more text
  stream,            //!< both have the same text, and the cloud goes on alone
  draft,             //!< both have the same text, or the edge committed a token alone: a round begins
  send_draft,        //!< the draft is complete, or the cloud has not decided the open one
  complete,          //!< the text is complete, or the host ends it
  agree,             //!< the cloud has the same text, or no session any more
  fail               //!< an error, of this side or the cloud
};

//! What changes the state of a cloud.
enum class cloud_event : std::uint8_t {
  meet,         //!< a hello begins a session
  restore,      //!< a journal is restored
  reopen,       //!< an edge that had failed is back
  fill,         //!< the edge has more text
  in_step,      //!< both have the same text
  stream,       //!< both have the same text, and the cloud writes alone
  draft,        //!< a draft arrives
  request,      //!< hidden states are missing
  score,        //!< scores are missing
  decide,       //!< a verdict is made
  abandon,      //!< the open round is given up, and the edge drafts it again
  complete,     //!< the text is complete
  stop,         //!< the edge has the whole text, or its host ended it
  edge_failed,  //!< the edge reports that it has failed
  fail          //!< an error of this side
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

// In both tables the first state is the beginning, and the last two are the ends. An event may have several rows. The
// pages take their tables and diagrams from these lines: perl scripts/lint/states.pl --fix

struct edge_table {
  using state = edge_state;
  using event = edge_event;
  using enum edge_state;
  using enum edge_event;
  using kind = message_kind;
  static constexpr auto any = detail::enum_set<state>::all();

  static constexpr detail::state_row<state> states[] = {
      {idle, {kind::refuse}},
      {greeting, {kind::hello, kind::resume, kind::text, kind::stop, kind::refuse}},
      {resuming, {kind::hello, kind::resume, kind::text, kind::feedback, kind::stop, kind::refuse}},
      {sending_text, {kind::hello, kind::resume, kind::text, kind::stop, kind::refuse}},
      {fetching_text, {kind::hello, kind::resume, kind::text, kind::refuse}},
      {drafting, {kind::refuse}},
      {waiting, {kind::hello, kind::resume, kind::text, kind::feedback, kind::request, kind::stop, kind::refuse}},
      {streaming, {kind::hello, kind::resume, kind::text, kind::feedback, kind::stop, kind::refuse}},
      {stopping, {kind::hello, kind::resume, kind::stop, kind::refuse}},
      {finished, {}},
      {failed, {}},
  };
  static constexpr detail::transition<event, state> transitions[] = {
      // Without faults:
      {start, {idle}, greeting},
      {draft, {greeting, drafting, waiting}, drafting},
      {send_draft, {drafting}, waiting},
      {stream, {greeting, streaming}, streaming},
      {complete, {drafting, waiting, streaming}, stopping},
      {agree, {stopping}, finished},
      // After a fault, a restart, or an end that the host asks for:
      {restore, {idle}, resuming},
      {restore_finished, {idle}, finished},
      {recover, {idle}, resuming},
      {unknown, {greeting, resuming, sending_text, fetching_text, waiting, streaming}, greeting},
      {new_epoch, {resuming, sending_text, fetching_text, drafting, waiting, streaming, stopping}, resuming},
      {other_draft, {waiting}, resuming},
      {more_text, {greeting, resuming, sending_text, fetching_text, streaming}, resuming},
      {drop_fetch, {fetching_text}, resuming},
      {send_text, {greeting, resuming, sending_text, streaming, stopping}, sending_text},
      {fetch_text, {greeting, resuming, sending_text, fetching_text, waiting, streaming}, fetching_text},
      {draft, {resuming, sending_text, fetching_text}, drafting},
      {send_draft, {greeting, resuming, sending_text, waiting}, waiting},
      {stream, {resuming, sending_text, fetching_text}, streaming},
      {complete, {greeting, resuming, sending_text, fetching_text, stopping}, stopping},
      {agree, {greeting, resuming, sending_text, streaming}, finished},
      {fail, any, failed},
  };
};

struct cloud_table {
  using state = cloud_state;
  using event = cloud_event;
  using enum cloud_state;
  using enum cloud_event;
  using kind = message_kind;
  static constexpr auto any = detail::enum_set<state>::all();

  static constexpr detail::state_row<state> states[] = {
      {blank, {kind::hello}},
      {filling, {kind::hello, kind::resume, kind::text, kind::stop, kind::refuse}},
      {ready, {kind::hello, kind::resume, kind::draft, kind::stop, kind::refuse}},
      {evaluating, {kind::hello, kind::resume, kind::stop, kind::refuse}},
      {scoring, {kind::hello, kind::resume, kind::stop, kind::refuse}},
      {requesting, {kind::hello, kind::resume, kind::supply, kind::stop, kind::refuse}},
      {streaming, {kind::hello, kind::resume, kind::stop, kind::refuse}},
      {finished, {kind::hello, kind::resume, kind::stop, kind::refuse}},
      {failed, {kind::hello, kind::resume}},
  };
  static constexpr detail::transition<event, state> transitions[] = {
      // Without faults:
      {meet, {blank}, filling},
      {fill, {filling}, filling},
      {in_step, {filling}, ready},
      {draft, {ready}, evaluating},
      {request, {evaluating, scoring}, requesting},
      {score, {evaluating, requesting}, scoring},
      {decide, {evaluating, scoring}, ready},
      {stream, {filling, streaming}, streaming},
      {complete, {evaluating, scoring, streaming}, finished},
      {stop, {ready, streaming, finished}, finished},
      // After a fault, a restart, or an end that the host asks for:
      {restore, {blank}, filling},
      {reopen, {failed}, filling},
      {fill, {ready, streaming, finished}, filling},
      {in_step, {finished}, ready},
      {abandon, {evaluating, scoring, requesting}, ready},
      {stream, {finished}, streaming},
      {complete, {filling, finished}, finished},
      {stop, {filling, evaluating, scoring, requesting}, finished},
      {edge_failed, {filling, ready, evaluating, scoring, requesting, streaming, finished}, failed},
      {fail, any, failed},
  };
};

namespace detail {

static_assert(is_sound<edge_table>() && is_sound<cloud_table>());
static_assert(every_kind_is_taken<edge_table, cloud_table>(), "states: a kind of message that no state takes");

}  // namespace detail

//! The state of one side. Only `enter` changes it.
template <class Table>
class session_state {
 public:
  using state = typename Table::state;
  using event = typename Table::event;

  [[nodiscard]] constexpr state now() const noexcept { return now_; }
  [[nodiscard]] friend constexpr bool operator==(const session_state& a, state b) noexcept { return a.now_ == b; }

  //! Enters the state that an event leads to. `Known`: the possible states here, if the caller knows them; a pair that
  //! the table lacks then does not compile.
  template <event What, state... Known>
  constexpr void enter() noexcept {
    constexpr auto moves = detail::transition_of<Table>(What);
    static_assert(moves.from.meets(Table::any), "states: an event without a transition");
    static_assert((moves.from.has(Known) && ...), "states: the event does not leave this state");
    SPECVERIFY_ASSERT(moves.from.has(now_), "states: the event does not leave the present state");
    SPECVERIFY_ASSERT(sizeof...(Known) == 0 || ((now_ == Known) || ...), "states: another state than the caller knows");
    now_ = moves.to;
  }

  //! Asserts that a message of this kind counts in the present state.
  constexpr void take([[maybe_unused]] message_kind kind) const noexcept {
    SPECVERIFY_ASSERT(detail::taken_in<Table>(now_).has(kind), "states: no message that counts in this state");
  }

 private:
  state now_ = Table::states[0].state;
};

SPECVERIFY_NAMESPACE_END

#endif
