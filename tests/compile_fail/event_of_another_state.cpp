// SPDX-License-Identifier: Apache-2.0
//! An event does not happen in a state that it cannot leave, if the caller knows the state.
// expect: states: the event does not leave this state
#include <specverify/session/states.hpp>

#ifdef SPECVERIFY_MUST_FAIL
constexpr auto known = specverify::edge_state::waiting;
#else
constexpr auto known = specverify::edge_state::idle;
#endif

void begin(specverify::session_state<specverify::edge_table>& state) {
  state.enter<specverify::edge_event::start, known>();
}
