// SPDX-License-Identifier: Apache-2.0
//! Defines the states of an edge and a cloud, and `enter`, the only function that changes a state.
//!
//! Guarantees: an event without a transition does not compile. Neither does a wrong pair of state and event, if the
//!             state is known at compile time; SPECVERIFY_ASSERT catches other wrong pairs. Without assertions, `enter`
//!             is one store, and a wrong pair leads to the event's target state.
//! Cost:       O(1); no allocation.
//! See:        docs/algorithms/session.md, docs/session/states.md, tests/unit/session/states_test.cpp
#ifndef SPECVERIFY_SESSION_STATES_HPP
#define SPECVERIFY_SESSION_STATES_HPP

#include <specverify/codec/message.hpp>
#include <specverify/session/detail/transitions.hpp>
#include <specverify/session/output.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! Events that change the state of an edge.
enum class edge_event : std::uint8_t {
  start,             //!< the host starts a session, restores its journal, or continues without one
  restore_finished,  //!< a journal is restored, and both sides have its text
  connect,           //!< a connection is open; the edge sends hello
  disconnect,        //!< the connection is lost
  shake_again,       //!< the deadline passed, or the cloud sent `no_handshake`; the edge sends hello again
  send_text,         //!< the cloud has less text
  fetch_text,        //!< the cloud has more text
  draft,             //!< both have the same text, and the draft is not complete
  send_draft,        //!< both have the same text, and the draft is complete
  stream,            //!< both have the same text, and the cloud generates without drafts
  complete,          //!< the text is complete, or the host ends it
  agree,             //!< the cloud has the same text, or no longer has the session
  fail               //!< an error of this side or of the cloud
};

//! Events that change the state of a cloud.
enum class cloud_event : std::uint8_t {
  meet,       //!< a hello begins a session, or a journal is restored
  fill,       //!< the edge has more text
  send_text,  //!< the edge has less text
  in_step,    //!< both have the same text
  draft,      //!< a draft arrives
  request,    //!< hidden states are missing
  supply,     //!< the hidden states arrive
  score,      //!< scores are missing
  decide,     //!< a verdict is made
  abandon,    //!< the round is abandoned; the edge must send its draft again
  stream,     //!< both have the same text, and the cloud generates without drafts
  complete,   //!< the text is complete
  agree,      //!< the edge has the whole text, or its host ended it
  fail        //!< an error of this side, or a message that a correct edge never sends
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

// In both tables the first state is the initial state, and the last two states are final. An event may have several
// rows. The pages take their tables and diagrams from these lines: perl scripts/lint/states.pl --fix

struct edge_table {
  using state = edge_state;
  using event = edge_event;
  using enum edge_state;
  using enum edge_event;
  using kind = message_kind;
  static constexpr auto any = detail::enum_set<state>::all();

  static constexpr detail::state_row<state> states[] = {
      {idle, {}},
      {offline, {}},
      {handshaking, {kind::hello, kind::refuse}},
      {sending_text, {kind::stop, kind::refuse}},
      {fetching_text, {kind::text, kind::refuse}},
      {drafting, {kind::stop, kind::refuse}},
      {waiting, {kind::feedback, kind::request, kind::stop, kind::refuse}},
      {streaming, {kind::text, kind::stop, kind::refuse}},
      {stopping, {kind::stop, kind::refuse}},
      {finished, {}},
      {failed, {}},
  };
  static constexpr detail::transition<event, state> transitions[] = {
      // Without faults:
      {start, {idle}, offline},
      {connect, {offline}, handshaking},
      {draft, {handshaking, waiting}, drafting},
      {send_draft, {drafting}, waiting},
      {stream, {handshaking}, streaming},
      {complete, {drafting, waiting, streaming}, stopping},
      {agree, {stopping}, finished},
      // After a fault, a restart, or an end that the host asks for:
      {restore_finished, {idle}, finished},
      {disconnect, {handshaking, sending_text, fetching_text, drafting, waiting, streaming, stopping}, offline},
      {shake_again, {handshaking, sending_text, fetching_text, drafting, waiting, streaming, stopping}, handshaking},
      {send_text, {handshaking}, sending_text},
      {fetch_text, {handshaking}, fetching_text},
      {draft, {sending_text, fetching_text}, drafting},
      {send_draft, {handshaking, sending_text, fetching_text}, waiting},
      {stream, {sending_text, fetching_text}, streaming},
      {complete, {handshaking, sending_text, fetching_text}, stopping},
      {agree, {handshaking, sending_text, fetching_text, drafting, waiting, streaming}, finished},
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
      {filling, {kind::hello, kind::text, kind::stop, kind::refuse}},
      {sending_text, {kind::hello, kind::stop, kind::refuse}},
      {ready, {kind::hello, kind::draft, kind::stop, kind::refuse}},
      {evaluating, {kind::hello, kind::stop, kind::refuse}},
      {scoring, {kind::hello, kind::stop, kind::refuse}},
      {requesting, {kind::hello, kind::supply, kind::stop, kind::refuse}},
      {streaming, {kind::hello, kind::stop, kind::refuse}},
      {closing, {kind::hello, kind::stop, kind::refuse}},
      {finished, {kind::hello, kind::stop, kind::refuse}},
      {failed, {kind::hello}},
  };
  static constexpr detail::transition<event, state> transitions[] = {
      // Without faults:
      {meet, {blank}, filling},
      {fill, {filling}, filling},
      {in_step, {filling}, ready},
      {draft, {ready}, evaluating},
      {request, {evaluating, scoring}, requesting},
      {supply, {requesting}, evaluating},
      {score, {evaluating}, scoring},
      {decide, {evaluating, scoring}, ready},
      {stream, {filling, streaming}, streaming},
      {complete, {evaluating, scoring, streaming}, closing},
      {agree, {streaming, closing}, finished},
      // After a fault, a restart, or an end that the host asks for:
      {fill, {sending_text, ready, requesting, streaming, closing, finished}, filling},
      {send_text, {filling, sending_text, ready, requesting, streaming, closing, finished}, sending_text},
      {in_step, {sending_text, ready, requesting, finished}, ready},
      {abandon, {evaluating, scoring}, ready},
      {stream, {sending_text, finished}, streaming},
      {complete, {filling, sending_text, closing, finished}, closing},
      {agree, {filling, sending_text, ready, evaluating, scoring, requesting, finished}, finished},
      {fail, any, failed},
  };
};

namespace detail {

static_assert(is_sound<edge_table>() && is_sound<cloud_table>());
static_assert(every_kind_is_taken<edge_table, cloud_table>(), "states: a kind of message that no state takes");

}  // namespace detail

//! The state of one side. Only `enter` changes this state.
template <class Table>
class session_state {
 public:
  using state = typename Table::state;
  using event = typename Table::event;

  [[nodiscard]] constexpr state now() const noexcept { return now_; }
  [[nodiscard]] friend constexpr bool operator==(const session_state& a, state b) noexcept { return a.now_ == b; }

  //! Enters the target state of an event. `Known` lists all possible states at the call, if the caller knows them. Then
  //! a pair of state and event outside the table does not compile.
  template <event What, state... Known>
  constexpr void enter() noexcept {
    constexpr auto moves = detail::transition_of<Table>(What);
    static_assert(moves.from.meets(Table::any), "states: an event without a transition");
    static_assert((moves.from.has(Known) && ...), "states: the event does not leave this state");
    SPECVERIFY_ASSERT(moves.from.has(now_), "states: the event does not leave the present state");
    SPECVERIFY_ASSERT(sizeof...(Known) == 0 || ((now_ == Known) || ...), "states: another state than the caller knows");
    now_ = moves.to;
  }

  //! Asserts that a message of this kind is accepted in the current state.
  constexpr void take([[maybe_unused]] message_kind kind) const noexcept {
    SPECVERIFY_ASSERT(detail::taken_in<Table>(now_).has(kind), "states: no message that counts in this state");
  }

 private:
  state now_ = Table::states[0].state;
};

SPECVERIFY_NAMESPACE_END

#endif
