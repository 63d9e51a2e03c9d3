// SPDX-License-Identifier: Apache-2.0
//! Each state of a table is reached from the first one by its events.
// expect: states: no event leads to this state
#include <specverify/session/states.hpp>

enum class lamp_state { off, on, broken, melted };
enum class lamp_event { press, drop };

struct lamp_table {
  using state = lamp_state;
  using event = lamp_event;
  static constexpr auto any = specverify::detail::enum_set<state>::all();
  static constexpr specverify::detail::state_row<state> states[] = {
      {state::off, {}},
#ifdef SPECVERIFY_MUST_FAIL
      {state::melted, {}},
#endif
      {state::on, {}},
      {state::broken, {}},
  };
  static constexpr specverify::detail::transition<event, state> transitions[] = {
      {event::press, {state::off, state::melted}, state::on},
      {event::drop, any, state::broken},
  };
};
static_assert(specverify::detail::is_sound<lamp_table>());
