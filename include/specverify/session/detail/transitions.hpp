// SPDX-License-Identifier: Apache-2.0
//! Provides building blocks for a table of states and transitions, and checks that reject a wrong table at compile
//! time.
#ifndef SPECVERIFY_SESSION_DETAIL_TRANSITIONS_HPP
#define SPECVERIFY_SESSION_DETAIL_TRANSITIONS_HPP

#include <specverify/codec/message.hpp>
#include <specverify/core/detail/enum_set.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! A state, and the kinds of messages that are accepted in it.
template <class State>
struct state_row {
  State state;
  enum_set<message_kind> takes;
};

template <class Event, class State>
struct transition {
  Event event;
  enum_set<State> from;
  State to;
};

//! Returns all rows of an event as one transition. If the event has no row, `from` is empty.
template <class Table>
[[nodiscard]] consteval auto transition_of(typename Table::event what) noexcept {
  transition<typename Table::event, typename Table::state> found{what, {}, Table::states[0].state};
  for (const auto& each : Table::transitions) {
    if (each.event != what) continue;
    found.from.add(each.from);
    found.to = each.to;
  }
  return found;
}

//! Returns the kinds of messages that are accepted in a state.
template <class Table>
[[nodiscard]] constexpr enum_set<message_kind> taken_in(typename Table::state now) noexcept {
  enum_set<message_kind> taken;
  for (const auto& each : Table::states) {
    if (each.state == now) taken = each.takes;
  }
  return taken;
}

//! Returns the first state and all states that are reachable from it.
template <class Table>
[[nodiscard]] consteval auto reached_states() noexcept {
  enum_set<typename Table::state> reached{Table::states[0].state};
  for (std::size_t step = 0; step < std::size(Table::states); ++step) {
    for (const auto& each : Table::transitions) {
      if (each.from.meets(reached)) reached.add(each.to);
    }
  }
  return reached;
}

//! Returns the states from which the second-to-last state is reachable without passing through the last state (a
//! failure).
template <class Table>
[[nodiscard]] consteval auto ending_states() noexcept {
  constexpr std::size_t count = std::size(Table::states);
  constexpr auto failed = Table::states[count - 1].state;
  enum_set<typename Table::state> ending{Table::states[count - 2].state};
  for (std::size_t step = 0; step < count; ++step) {
    for (const auto& each : Table::transitions) {
      if (each.to != failed && ending.has(each.to)) ending.add(each.from);
    }
  }
  ending.remove(failed);
  return ending;
}

template <class Table, std::size_t Index>
struct checked_state {
  static_assert(reached_states<Table>().has(Table::states[Index].state), "states: no event leads to this state");
  static_assert(Index + 2 >= std::size(Table::states) || ending_states<Table>().has(Table::states[Index].state),
                "states: this state has no way to the end");
  static constexpr bool is_sound = true;
};

template <class Table>
[[nodiscard]] consteval bool has_one_target_each() noexcept {
  for (const auto& each : Table::transitions) {
    if (transition_of<Table>(each.event).to != each.to) return false;
  }
  return true;
}

template <class Table>
[[nodiscard]] consteval bool lists_all_targets() noexcept {
  enum_set<typename Table::state> listed;
  for (const auto& each : Table::states) listed.add(each.state);
  for (const auto& each : Table::transitions) {
    if (!listed.has(each.to)) return false;
  }
  return true;
}

template <class Table, std::size_t... Index>
[[nodiscard]] consteval bool all_sound(std::index_sequence<Index...>) noexcept {
  return (checked_state<Table, Index>::is_sound && ...);
}

//! Rejects a wrong table at compile time. The compiler's message contains the index of the state in the table.
template <class Table>
[[nodiscard]] consteval bool is_sound() noexcept {
  static_assert(has_one_target_each<Table>(), "states: an event with two targets");
  static_assert(lists_all_targets<Table>(), "states: an event leads to a state that the table does not list");
  return all_sound<Table>(std::make_index_sequence<std::size(Table::states)>());
}

//! Returns whether each kind of message is accepted in some state of one of the tables.
template <class... Tables>
[[nodiscard]] consteval bool every_kind_is_taken() noexcept {
  enum_set<message_kind> taken;
  const auto add = [&](const auto& states) {
    for (const auto& each : states) taken.add(each.takes);
  };
  (add(Tables::states), ...);
  bool all = true;
  for (unsigned kind = 0; kind <= static_cast<unsigned>(message_kind::stop); ++kind)
    all = all && (!is_message_kind(kind) || taken.has(static_cast<message_kind>(kind)));
  return all;
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
