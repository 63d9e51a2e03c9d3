// SPDX-License-Identifier: Apache-2.0
//! The loop of a host: does what `next()` asks for, in order, until the session waits for its peer.
//!
//! Use it at the highest level that fits:
//!   3. `generate` at the device and `serve` at the cloud (host/host.hpp): a whole text over a blocking transport.
//!   2. `drive`: after each input, until the peer is awaited. The host has its own transport and timers.
//!   1. `take_outputs`, and `supply` when the rows stand ready: engines that work elsewhere, batches over sessions.
//! `on_output` hears of every output but work for the engine and (from level 2) `rollback`: messages to send, journal
//! records, tokens, the end. It may return a status; one that is not ok ends the run, and the outputs behind it, which
//! may depend on it, are not handed out. It never calls a function of a session that takes an input: queue the message
//! and `deliver` it afterwards.
//! Guarantees: no I/O, no clock, no thread and no allocation of its own; what callbacks throw passes through.
//! See:        docs/algorithms/host.md, docs/session.md, tests/unit/host/drive_test.cpp, examples/docs/host.cpp
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

//! What a session waits for when all outputs are taken.
enum class session_wait : std::uint8_t {
  peer,    //!< a message, or time
  rows,    //!< the engine: feed `asked.tokens` at `asked.position`, then `supply`
  scores,  //!< the host's scorer: `asked` names the drafts (session_action::score)
  over     //!< nothing; `reason` is ok where the text is complete
};

struct session_work {
  session_wait wait = session_wait::peer;
  session_output asked{};  //!< rows, scores: the output; its spans live until the next call of the session
  status reason{};         //!< over: why. peer: not ok where the session did not take what `drive` supplied
};

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! Level 1. Hands out every output but work for the engine, `rollback` included, and says what the session waits for.
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

//! `receive` for hosts. A message that the session has no use for is counted in its statistics, one that ends it is
//! heard of as `failed`; both are ok here.
//! Errors: busy (outputs wait, or the engine works on a row that is written ahead: deliver the message again after the
//!         next `take_outputs`).
template <host_session Session>
[[nodiscard]] status deliver(Session& session, std::span<const std::byte> message, session_time now) {
  const status why = session.receive(message, now);
  if (why.code != errc::busy) return {};
  SPECVERIFY_ASSERT(!session.has_outputs(),
                    "a message while outputs wait: take them first, and call no session from on_output");
  return why;
}

//! What `on_committed` makes.
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

//! An observer that hears of committed tokens alone: f(const session_output&), which may return a status. A const one
//! can be called where f can be called const.
template <class OnOutput>
[[nodiscard]] constexpr committed_observer<OnOutput> on_committed(OnOutput f) {
  return committed_observer<OnOutput>(std::move(f));
}

namespace detail {

//! Rows of a model as the rules of a cloud ask for them.
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

}  // namespace detail

//! Level 1. Hands the rows over for which the model was fed, with hidden states, attention and transforms where it has
//! them. Errors: what `failed` of the model says (the session has failed); those of the session's `supply_row` or
//! `supply_rows`.
template <execution_policy Policy, host_session Session, language_model Model>
[[nodiscard]] status supply(Policy policy, Session& session, Model& model, session_time now) {
  const row_transform base = session.transform();
  const detail::model_rows<Model> rows{model, base};
  if constexpr (detail::takes_one_row<Session, Policy, Model>) {
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

//! Tells a session what carries its messages. A clock that is a transport does.
template <class Link, class Session>
constexpr void work_over(Session& session) noexcept {
  if constexpr (transport<Link>) {
    static_assert(ordered_transport<Link>,
                  "a transport that is not ordered_and_whole is wrapped in specverify::delivered");
    session.set_ordered_and_whole(true);
  }
}

//! What became of a session's work. A model that cannot do it ends the session.
struct work_done {
  status model{};
  status session{};  //!< whether the session took it
};

//! Does the work that a session asks for.
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

//! `drive`, which also says whether the session is over.
template <class Policy, class Session, class Model, class OnOutput, class Clock>
[[nodiscard]] session_work run(Policy policy, Session& session, Model& model, OnOutput& on_output, Clock& clock) {
  static_assert(truncating_model<Model>, "a model without truncate is wrapped in specverify::rewinding");
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

//! Level 2. Feeds the model and supplies its rows until the peer is awaited or the session is over. A model that fails
//! ends the session: the peer gets a refusal, and the status is the model's.
//! Errors: why the session failed; what `on_output` returned.
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
