// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/session/states.hpp>

#include <support/aborts.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace specverify;

namespace {

// In the order of the enumerators.
constexpr const char* edge_states[] = {"idle",          "offline",  "handshaking", "sending_text",
                                       "fetching_text", "drafting", "waiting",     "streaming",
                                       "stopping",      "finished", "failed"};
constexpr const char* cloud_states[] = {"blank",      "filling",   "sending_text", "ready",    "evaluating", "scoring",
                                        "requesting", "streaming", "closing",      "finished", "failed"};
constexpr const char* edge_events[] = {
    "start", "restore_finished", "connect", "disconnect", "shake_again", "send_text", "fetch_text",
    "draft", "send_draft",       "stream",  "complete",   "agree",       "fail"};
constexpr const char* cloud_events[] = {"meet",  "fill",   "send_text", "in_step", "draft",    "request", "supply",
                                        "score", "decide", "abandon",   "stream",  "complete", "agree",   "fail"};
constexpr const char* kinds[] = {"",         "hello", "draft", "request", "supply",
                                 "feedback", "",      "text",  "refuse",  "stop"};  // 6 is no kind

template <class Value>
std::size_t number(Value value) {
  return static_cast<std::size_t>(value);
}

std::string quoted(const std::string& name) { return "`" + name + "`"; }

//! A session that took the event of row `Row`.
template <class Table, std::size_t... Row>
session_state<Table> after(session_state<Table> state, std::size_t row, std::index_sequence<Row...>) {
  (void)((Row == row && (state.template enter<Table::transitions[Row].event>(), true)) || ...);
  return state;
}

//! All states that real sessions get into, by breadth-first search over what `enter` does.
template <class Table>
std::vector<typename Table::state> visited() {
  std::vector<session_state<Table>> open{session_state<Table>{}};
  std::vector<typename Table::state> seen{open[0].now()};
  for (std::size_t at = 0; at < open.size(); ++at) {
    for (std::size_t row = 0; row < std::size(Table::transitions); ++row) {
      if (!Table::transitions[row].from.has(open[at].now())) continue;
      const auto next = after(open[at], row, std::make_index_sequence<std::size(Table::transitions)>());
      CHECK(next == Table::transitions[row].to);
      if (std::find(seen.begin(), seen.end(), next.now()) != seen.end()) continue;
      seen.push_back(next.now());
      open.push_back(next);
    }
  }
  return seen;
}

//! Which states lead to which in any number of steps, by Warshall's algorithm; without a step through the last state.
template <class Table, std::size_t Count>
auto closure() {
  std::array<std::array<bool, Count>, Count> leads{};
  const std::size_t last = number(Table::states[Count - 1].state);
  for (std::size_t from = 0; from < Count; ++from) {
    leads[from][from] = true;
    for (const auto& each : Table::transitions)
      if (from != last && each.from.has(static_cast<typename Table::state>(from))) leads[from][number(each.to)] = true;
  }
  for (std::size_t by = 0; by < Count; ++by)
    for (std::size_t from = 0; from < Count; ++from)
      for (std::size_t to = 0; to < Count; ++to)
        leads[from][to] = leads[from][to] || (leads[from][by] && leads[by][to]);
  return leads;
}

//! The rows of a table as docs/session/states.md prints them.
template <class Table, class States, class Events>
std::string printed(const States& states, const Events& events) {
  std::string text;
  for (const auto& each : Table::states) {
    std::string taken;
    for (std::size_t kind = 1; kind < std::size(kinds); ++kind)
      if (*kinds[kind] != '\0' && each.takes.has(static_cast<message_kind>(kind))) taken += quoted(kinds[kind]) + " ";
    text += quoted(states[number(each.state)]) + ": " + taken + "\n";
  }
  std::vector<std::string> lines;
  for (std::size_t event = 0; event < std::size(events); ++event) {
    std::string line, to;
    bool any = false;
    for (const auto& state : Table::states) {
      bool leaves = false;
      for (const auto& row : Table::transitions) {
        if (number(row.event) != event) continue;
        to = quoted(states[number(row.to)]);
        leaves = leaves || row.from.has(state.state);
        any = any || row.from == Table::any;
      }
      if (leaves) line += quoted(states[number(state.state)]) + " ";
    }
    lines.push_back(quoted(events[event]) + ": " + (any ? "any " : line) + "-> " + to + "\n");
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) text += line;
  return text;
}

//! The same from the page.
std::string from_page(const std::string& side) {
  std::ifstream file("docs/session/states.md");
  std::string line, text;
  std::vector<std::string> lines;
  while (std::getline(file, line) && line != "<!-- states: " + side + " -->") continue;
  while (std::getline(file, line) && line != "<!-- end of states: " + side + " -->") {
    if (line.rfind("| `", 0) != 0) continue;
    std::vector<std::string> cells;
    std::istringstream in(line.substr(2));
    for (std::string cell; std::getline(in, cell, '|');) {
      cell.erase(std::remove(cell.begin(), cell.end(), ','), cell.end());
      cells.push_back(cell[0] == ' ' ? cell.substr(1) : cell);
      cells.back().erase(cells.back().find_last_not_of(' ') + 1);
    }
    if (cells.size() == 3) {
      std::string taken;  // in the order of the kinds
      for (const char* kind : kinds)
        if (*kind != '\0' && cells[1].find(quoted(kind)) != std::string::npos) taken += quoted(kind) + " ";
      text += cells[0] + ": " + taken + "\n";
    } else if (cells.size() == 4) {
      lines.push_back(cells[0] + ": " + cells[2] + " -> " + cells[3] + "\n");
    }
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& each : lines) text += each;
  return text;
}

template <class Table, std::size_t Count, class States>
void check_ways(const States& names) {
  static_assert(std::size(Table::states) == Count);
  const auto seen = visited<Table>();
  const auto leads = closure<Table, Count>();
  const std::size_t first = number(Table::states[0].state), end = number(Table::states[Count - 2].state);
  for (std::size_t state = 0; state < Count; ++state) {
    CAPTURE(names[state]);
    CHECK(std::count(seen.begin(), seen.end(), static_cast<typename Table::state>(state)) == 1);
    CHECK(leads[first][state]);
    if (state != number(Table::states[Count - 1].state)) CHECK(leads[state][end]);
  }
}

// A machine with an island (`lost`), and with a state that only an accident ends (`stuck`).
enum class lamp_state : std::uint8_t { off, on, stuck, lost, sold, broken };
enum class lamp_event : std::uint8_t { press, jam, repair, sell, drop };
struct lamp_table {
  using state = lamp_state;
  using event = lamp_event;
  using enum lamp_state;
  static constexpr auto any = detail::enum_set<state>::all();
  static constexpr detail::state_row<state> states[] = {{off, {}},  {on, {}},   {stuck, {}},
                                                        {lost, {}}, {sold, {}}, {broken, {}}};
  static constexpr detail::transition<event, state> transitions[] = {
      {event::press, {off}, on},      {event::press, {on}, on},
      {event::jam, {on}, stuck},      {event::sell, {off, on, lost}, sold},
      {event::repair, {broken}, off}, {event::drop, any, broken}};
};

}  // namespace

TEST_CASE("states: sessions get into each state, and from each to the end") {
  check_ways<edge_table, std::size(edge_states)>(edge_states);
  check_ways<cloud_table, std::size(cloud_states)>(cloud_states);
}

TEST_CASE("states: the checks of a table see an island, a trap and a missing message") {
  const auto reached = detail::reached_states<lamp_table>();
  const auto ending = detail::ending_states<lamp_table>();
  const auto leads = closure<lamp_table, 6>();
  for (std::size_t state = 0; state < 6; ++state) {
    CAPTURE(state);
    CHECK(reached.has(static_cast<lamp_state>(state)) == (state != 3));
    CHECK(ending.has(static_cast<lamp_state>(state)) == (state != 2 && state != 5));
    CHECK(ending.has(static_cast<lamp_state>(state)) == leads[state][4]);
  }
  CHECK(detail::has_one_target_each<lamp_table>());
  CHECK(detail::lists_all_targets<lamp_table>());
  constexpr auto press = detail::transition_of<lamp_table>(lamp_event::press);  // clang 14 loses it at run time
  CHECK(press.from == detail::enum_set{lamp_state::off, lamp_state::on});
  CHECK(!detail::every_kind_is_taken<edge_table>());   // no draft
  CHECK(!detail::every_kind_is_taken<cloud_table>());  // no feedback
}

TEST_CASE("states: docs/session.md has the tables") {
  CHECK(from_page("edge") == printed<edge_table>(edge_states, edge_events));
  CHECK(from_page("cloud") == printed<cloud_table>(cloud_states, cloud_events));
}

TEST_CASE("states: an event in a state that it does not leave is a broken promise, and ends in its own target") {
  static_assert(std::is_trivially_copyable_v<session_state<edge_table>> && sizeof(session_state<edge_table>) == 1);
  static_assert(!std::is_constructible_v<session_state<edge_table>, edge_state>);
  static_assert(!std::is_assignable_v<session_state<edge_table>&, edge_state>);
  const auto run = [] {
    session_state<edge_table> state;
    state.enter<edge_event::agree>();  // nobody has started it
    return state.now();
  };
#ifdef NDEBUG
  CHECK(run() == edge_state::finished);
#elif defined(__unix__)
  CHECK(specverify_test::aborts(run));
#endif
}
