// SPDX-License-Identifier: Apache-2.0
// Code that must not compile: sessions, their parts, states and secrets.

// === event_of_another_state
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

// === gate_without_perturbation
//! A gate that needs uncertainty has to say how it is measured: the first error names the concept and the member.
// expect-first: skip_policy: perturbation_options perturbation
#include <specverify/session/edge.hpp>

namespace sv = specverify;

struct uncertain_only {
  static constexpr bool needs_uncertainty = true, needs_attention = false, needs_coin = false;
  static constexpr sv::guarantee strength = sv::guarantee::lossy;
#ifndef SPECVERIFY_MUST_FAIL
  sv::perturbation_options perturbation{};
#endif
  bool send(const sv::skip_observation& seen) const noexcept { return seen.disagreements > 0; }
};

bool made() { return sv::make_edge(sv::edge_options{}, uncertain_only{}).ok(); }

// === gate_without_strength
//! A gate that does not say what it leaves of the guarantee: the first error names the concept and the member.
// expect-first: skip_policy: static constexpr guarantee strength
#include <specverify/session/edge.hpp>

namespace sv = specverify;

struct every_other {
  static constexpr bool needs_uncertainty = false, needs_attention = false, needs_coin = false;
#ifndef SPECVERIFY_MUST_FAIL
  static constexpr sv::guarantee strength = sv::guarantee::lossy;
#endif
  bool send(const sv::skip_observation& seen) const noexcept { return seen.position % 2 == 0; }
};

bool made() { return sv::make_edge(sv::edge_options{}, every_other{}).ok(); }

// === model_that_cannot_be_cut
//! A session cuts its model back after a rejection: a model without truncate is wrapped before it is driven.
// expect: wrap a model without truncate in specverify::rewinding
#include <specverify/host/drive.hpp>
#include <specverify/host/rewinding.hpp>
#include <specverify/session/edge.hpp>

struct recurrent {
  specverify::status feed(std::uint32_t, std::span<const specverify::token_id>, std::uint32_t) { return {}; }
  specverify::row_view<float> row(std::uint32_t) { return {}; }
};

specverify::status run(specverify::edge_session& session, recurrent& model) {
#ifdef SPECVERIFY_MUST_FAIL
  return specverify::drive(session, model, specverify::no_observer{});
#else
  auto wrapped = specverify::rewinding<recurrent>::make(model, 64);
  return wrapped.ok() ? specverify::drive(session, *wrapped, specverify::no_observer{}) : wrapped.error();
#endif
}

// === secret_from_a_number
//! A secret is 16 bytes: no number turns into one.
// expect: could not convert|no viable conversion|no known conversion
#include <specverify/session/options.hpp>

specverify::cloud_options made() {
#ifdef SPECVERIFY_MUST_FAIL
  return {.secret = 0xC10D, .salt = 1, .vocab_size = 8};
#else
  return {.secret = specverify::secret_from_hex("c41d08e6a27f5b9330e8d6f17a524cb9"), .salt = 1, .vocab_size = 8};
#endif
}

// === secret_printed
//! A secret does not end in a log by accident: it has no stream operator.
// expect: operator<<|invalid operands
#include <specverify/core/secret.hpp>

#include <ostream>

void log(std::ostream& out, const specverify::session_secret& secret) {
#ifdef SPECVERIFY_MUST_FAIL
  out << secret;
#else
  out << secret.is_missing();
#endif
}

// === sparsifier_without_advance
//! A sparsifier without `advance`: the first error names the concept and the member.
// expect-first: sparsifier: state_type advance(
#include <specverify/session/edge.hpp>

namespace sv = specverify;

struct largest {
  using state_type = sv::no_state;
  sv::top_k widest{4};
  state_type initial_state() const noexcept { return {}; }
  sv::read_request request(state_type, std::uint32_t vocab_size) const noexcept {
    return widest.request({}, vocab_size);
  }
  std::size_t workspace_size(state_type, std::uint32_t vocab_size) const noexcept {
    return widest.workspace_size({}, vocab_size);
  }
  sv::result<sv::support> select(const sv::row_summary& row, state_type, sv::workspace& scratch) const noexcept {
    return widest.select(row, {}, scratch);
  }
#ifndef SPECVERIFY_MUST_FAIL
  state_type advance(state_type, const sv::support&) const noexcept { return {}; }
#endif
};

bool made() { return sv::make_edge(sv::edge_options{}, largest{}).ok(); }

// === state_that_nothing_reaches
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

// === two_windows
//! Two windows for one edge.
// expect-first: make_edge takes one window
#include <specverify/session/edge.hpp>

namespace sv = specverify;

#ifdef SPECVERIFY_MUST_FAIL
using second = sv::fixed_window;
#else
using second = sv::top_k;
#endif

bool made() { return sv::make_edge(sv::edge_options{}, sv::fixed_window{}, second{}).ok(); }

// === window_with_a_throwing_begin
//! A window whose `begin` may throw: the first error names the concept and the member.
// expect-first: window_policy: draft_plan begin(
#include <specverify/session/edge.hpp>

namespace sv = specverify;

#ifdef SPECVERIFY_MUST_FAIL
#define NOEXCEPT
#else
#define NOEXCEPT noexcept
#endif
struct steady {
  sv::draft_plan begin(const sv::observation&) const NOEXCEPT { return {2}; }
  bool proceed(std::uint32_t, const sv::law&, std::uint64_t) const noexcept { return true; }
};

bool made() { return sv::make_edge(sv::edge_options{}, steady{}).ok(); }
