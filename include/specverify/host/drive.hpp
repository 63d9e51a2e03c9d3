// SPDX-License-Identifier: Apache-2.0
//! Runs the loop of a host: takes the outputs of a session, runs the engine on request, and returns when the session
//! waits for the peer.
//!
//! There are three levels. Use the highest one that suits your program.
//! - Level 3: `generate` and `serve` (host/host.hpp) run a whole text over a blocking transport.
//! - Level 2: `drive`, called after each input, feeds the model. Your program has its own transport.
//! - Level 1: `take_outputs` and `supply` are for engines on other threads, and for batches of sessions.
//!
//! The callback `on_output` receives messages, journal records, tokens and the end of the text; at level 1 also
//! `rollback`. If it returns an error, the call ends. Because it must not call an input function of a session, queue a
//! message and `deliver` it afterwards.
//! Guarantees: no I/O, no thread and no allocation except in callbacks; exceptions of callbacks pass through.
//! Cost:       O(outputs), plus the time of the engine and of `on_output`.
//! See:        docs/algorithms/host.md, docs/session.md, tests/unit/host/drive_test.cpp
#ifndef SPECVERIFY_HOST_DRIVE_HPP
#define SPECVERIFY_HOST_DRIVE_HPP

#include <specverify/codec/message.hpp>
#include <specverify/core/execution.hpp>
#include <specverify/host/language_model.hpp>
#include <specverify/row/transform.hpp>
#include <specverify/session/output.hpp>

#include <array>
#include <concepts>
#include <utility>

SPECVERIFY_TYPES_BEGIN

//! Reasons why a session waits after the host has taken all outputs.
enum class session_wait : std::uint8_t {
  peer,    //!< waits for a message or for the deadline
  rows,    //!< waits for the engine: feed `asked.tokens` at `asked.position`, then call `supply`
  scores,  //!< waits for the host's scorer: `asked` marks the drafts (session_action::score)
  over     //!< the session is over; `reason` is ok if the text is complete
};

struct session_work {
  session_wait wait = session_wait::peer;
  session_output asked{};  //!< rows, scores: the request; its spans are valid until the next call of the session
  status reason{};         //!< over: ok if the text is complete. peer: not ok if the session rejected rows
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Level 1. Passes outputs to `on_output`, including `rollback`, until the session requests work from the engine or
//! waits. Returns the reason why it waits. If `on_output` returns an error, the result is `over` with this error.
template <class Session, class OnOutput>
[[nodiscard]] session_work take_outputs(Session& session, OnOutput&& on_output) {
  session_work work;
  for (session_output out = session.next(); out.action != session_action::none; out = session.next()) {
    // Work for the engine is the last output of an input.
    if (out.action == session_action::evaluate) return {session_wait::rows, out, {}};
    if (out.action == session_action::score) return {session_wait::scores, out, {}};
    if (const status why = detail::status_of([&] { return on_output(out); }); !why.ok())
      return {session_wait::over, out, why};
    if (out.action == session_action::finished) work.wait = session_wait::over;
    if (out.action == session_action::failed) work = {session_wait::over, out, out.reason};
  }
  return work;
}

//! Passes a message to the session's `receive`. Take all outputs first. An unusable message is only counted, so the
//! call returns ok. If a message ends the session, the call also returns ok, because the output `failed` has the
//! reason.
//! Errors: busy (outputs wait, or the engine computes a row for a token that is not yet verified); in the second case,
//! deliver the message again after the next `take_outputs`.
template <host_session Session>
[[nodiscard]] status deliver(Session& session, std::span<const std::byte> message, session_time now) {
  const status why = session.receive(message, now);
  if (why.code != errc::busy) return {};
  SPECVERIFY_ASSERT(!session.has_outputs(),
                    "a message while outputs wait: take them first, and call no session from on_output");
  return why;
}

//! An observer that passes on only committed tokens; `on_committed` makes it.
template <class OnOutput>
class committed_observer {
 public:
  constexpr explicit committed_observer(OnOutput on_output) : on_output_(std::move(on_output)) {}

  [[nodiscard]] constexpr status operator()(const session_output& out) { return tell(on_output_, out); }
  [[nodiscard]] constexpr status operator()(
      const session_output& out) const requires std::invocable<const OnOutput&, const session_output&> {
    return tell(on_output_, out);
  }

 private:
  template <class Callable>
  [[nodiscard]] static constexpr status tell(Callable&& on_output, const session_output& out) {
    if (out.action != session_action::committed) return {};
    return detail::status_of([&] { return on_output(out); });
  }
  OnOutput on_output_;
};

//! Returns an observer that receives only committed tokens: f(const session_output&), which may return a status. If `f`
//! can be called const, so can the observer.
template <class OnOutput>
[[nodiscard]] constexpr committed_observer<OnOutput> on_committed(OnOutput f) {
  return committed_observer<OnOutput>(std::move(f));
}

namespace detail {

//! Rows of a model with their transforms, in the form that a cloud's rules need.
template <class Model>
struct model_rows {
  Model& model;
  const row_transform& base;

  [[nodiscard]] auto operator()(std::uint32_t i) const { return model.row(i); }
  [[nodiscard]] row_transform transform(std::uint32_t i) const {
    if constexpr (requires { model.transform(i, base); }) {
      return model.transform(i, base);
    } else {
      return base;
    }
  }
  [[nodiscard]] status failed() const requires requires(Model& its) {
    { its.failed() } -> std::same_as<status>;
  }
  { return model.failed(); }
};

template <class Session, class Policy, class Model>
concept takes_one_row = requires(Session& session, Policy policy, Model& model, const row_transform& transform,
                                 session_time now) {
  session.supply_row(policy, model.row(0), transform, {}, now);
};

//! Supplies the model's tokens in place of rows. If the session rejects the tokens, the session fails.
template <class Session, class Model>
[[nodiscard]] status supply_tokens_of(Session& session, Model& model, session_time now) {
  std::array<token_id, max_wire_draft_length + 1> space;
  const std::span<token_id> tokens = std::span<token_id>(space).first(session.wanted_rows());
  for (std::uint32_t i = 0; i < tokens.size(); ++i) tokens[i] = model.token(i);
  if constexpr (requires { model.failed(); }) {
    if (const status why = model.failed(); !why.ok()) return session.engine_failed(why);
  }
  const status why = session.supply_tokens(tokens, now);
  const bool unusable = why.code == errc::rows_required || why.code == errc::token_out_of_range;
  return unusable ? session.engine_failed(why) : why;
}

}  // namespace detail

//! Level 1. Supplies the rows of the last feed, with the hidden states, attention and transforms that the model
//! provides. A model with `token` instead of `row` supplies tokens.
//! Errors: the model's `failed` (the session has failed); errors of the session's `supply_row`, `supply_rows` or
//! `supply_tokens`.
template <execution_policy Policy, host_session Session, language_model Model>
[[nodiscard]] status supply(Policy policy, Session& session, Model& model, session_time now) {
  const row_transform base = session.transform();
  const detail::model_rows<Model> rows{model, base};
  if constexpr (token_model<Model>) {
    static_assert(
        requires { session.wanted_rows(); }, "a drafter must return rows: only a target may return tokens");
    return detail::supply_tokens_of(session, model, now);
  } else if constexpr (detail::takes_one_row<Session, Policy, Model>) {
    std::span<const float> hidden{}, attention{};
    if constexpr (requires { model.hidden(0); }) hidden = model.hidden(0);
    if constexpr (requires { model.attention(0); }) attention = model.attention(0);
    const auto row = rows(0);
    const row_transform transform = rows.transform(0);
    if constexpr (requires { rows.failed(); }) {
      if (const status why = rows.failed(); !why.ok()) return session.engine_failed(why);
    }
    return session.supply_row(policy, row, transform, {hidden, attention}, now);
  } else {
    return session.supply_rows(policy, rows, now);
  }
}
template <host_session Session, language_model Model>
[[nodiscard]] status supply(Session& session, Model& model, session_time now) {
  return supply(exec::simd, session, model, now);
}

namespace detail {

//! Configures the session for a transport that delivers messages in order and undamaged. Does nothing if `Link` is only
//! a clock. A transport without this property does not compile.
template <class Link, class Session>
constexpr void work_over(Session& session) noexcept {
  if constexpr (transport<Link>) {
    static_assert(ordered_transport<Link>, "wrap a transport that is not ordered_and_whole in specverify::delivered");
    session.set_ordered_and_whole(true);
  }
}

//! Result of the work that a session requested. If `model` is an error, the session must end.
struct work_done {
  status model{};
  status session{};  //!< the error of the call that supplied the results to the session
};

//! Feeds the model or scores drafts, as the session requested, and supplies the results.
template <class Policy, class Session, class Model, class Clock>
[[nodiscard]] work_done do_work(Policy policy, Session& session, Model& model, const session_work& work, Clock& clock) {
  const session_output& asked = work.asked;
  if (work.wait == session_wait::rows) {
    if constexpr (requires { model.keep_from(asked.position); }) {
      if (const status why = status_of([&] { return model.keep_from(session.keep_from()); }); !why.ok()) return {why};
    }
    if (const status why = model.feed(asked.position, asked.tokens, asked.rows); !why.ok()) return {why};
    return {{}, supply(policy, session, model, clock.now())};
  }
  if constexpr (requires(std::span<double> out) {
                  model.scores(asked, out);
                  session.supply_scores(out, session_time{});
                }) {
    std::array<double, max_wire_draft_length> space;
    const std::span<double> scores = std::span<double>(space).first(asked.rows);
    if (const status why = model.scores(asked, scores); !why.ok()) return {why};
    return {{}, session.supply_scores(scores, clock.now())};
  } else {
    return {status{errc::unsupported, part::host, asked.position}};
  }
}

//! Like `drive`, but returns the `session_work`, which shows whether the session is over.
template <class Policy, class Session, class Model, class OnOutput, class Clock>
[[nodiscard]] session_work run(Policy policy, Session& session, Model& model, OnOutput& on_output, Clock& clock) {
  static_assert(truncating_model<Model>, "wrap a model without truncate in specverify::rewinding");
  work_over<Clock>(session);
  status supplied{};
  for (;;) {
    status cut{};
    session_work work = take_outputs(session, [&](const session_output& out) -> status {
      if (out.action != session_action::rollback) return status_of([&] { return on_output(out); });
      if (cut.ok()) cut = status_of([&] { return model.truncate(out.position); });
      return {};
    });
    if (work.wait == session_wait::over) return work;
    if (work.wait == session_wait::peer && cut.ok()) {
      work.reason = supplied;
      return work;
    }
    const work_done done = cut.ok() ? do_work(policy, session, model, work, clock) : work_done{cut};
    supplied = done.model.ok() ? done.session : session.engine_failed(done.model);
  }
}

}  // namespace detail

//! Level 2. Feeds the model and supplies its rows until the session waits for the peer or is over. If the model fails,
//! the session ends and sends the peer a refusal, and the call returns the model's error.
//! Errors: the reason why the session failed; the reason why the session rejected rows; errors of `on_output`.
template <execution_policy Policy, host_session Session, language_model Model, class OnOutput, class Clock = no_clock>
[[nodiscard]] status drive(Policy policy, Session& session, Model& model, OnOutput&& on_output,
                           Clock&& clock = Clock{}) {
  return detail::run(policy, session, model, on_output, clock).reason;
}
template <host_session Session, language_model Model, class OnOutput, class Clock = no_clock>
[[nodiscard]] status drive(Session& session, Model& model, OnOutput&& on_output, Clock&& clock = Clock{}) {
  return detail::run(exec::simd, session, model, on_output, clock).reason;
}

SPECVERIFY_NAMESPACE_END

#endif
