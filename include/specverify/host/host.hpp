// SPDX-License-Identifier: Apache-2.0
//! A whole text over a blocking transport: `generate` at the device, `serve` at the cloud.
//!
//! Use them where one thread may wait for the link. Hosts with an event loop, an engine on another thread or many
//! sessions take the levels below: host/drive.hpp.
//! Guarantees: no I/O, no clock, no thread and no allocation of its own; what callbacks throw passes through.
//! See:        docs/algorithms/host.md, docs/session.md, tests/unit/host/host_test.cpp, examples/docs/host.cpp,
//!             examples/quickstart.cpp
#ifndef SPECVERIFY_HOST_HOST_HPP
#define SPECVERIFY_HOST_HOST_HPP

#include <specverify/host/drive.hpp>
#include <specverify/host/language_model.hpp>

#include <optional>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! A link that may be gone: what is sent meanwhile is lost, as on any link.
template <class Link>
struct link_end {
  Link& link;
  status lost{};
  status ended{};  // why the observer wants no more text

  void send(std::span<const std::byte> message) {
    if (lost.ok()) lost = link.send(message);
  }
  //! Waits for the link. peer_timeout: `until` has passed.
  [[nodiscard]] status wait(std::optional<session_time> until) {
    status back = lost;
    if constexpr (reconnecting_transport<Link>) back = link.reconnect(until);
    if (back.ok()) lost = {};
    return back;
  }
};

//! What a host's observer hears, and then the link. An observer that wants no more text gets records only.
template <class Link, class OnOutput>
[[nodiscard]] auto sending(link_end<Link>& end, OnOutput& on_output) {
  return [&end, &on_output](const session_output& out) -> status {
    const bool hears = end.ended.ok() || out.action == session_action::journal;
    if (const status why = hears ? status_of([&] { return on_output(out); }) : status{}; !why.ok()) return why;
    if (out.action == session_action::send) end.send(out.bytes);
    return {};
  };
}

//! Whether the observer ended the run at an output that is text. `work`: of `run`.
[[nodiscard]] inline bool refuses_text(const session_work& work) noexcept {
  const session_action at = work.asked.action;
  const bool is_text =
      at == session_action::committed || at == session_action::tentative || at == session_action::retracted;
  return work.wait == session_wait::over && !work.reason.ok() && is_text;
}

}  // namespace detail

//! Level 3, the device: a session that was started, restored or recovered writes its text. Returns the tokens behind
//! the prompt; they live as long as the session.
//! An `on_output` that refuses text (committed, tentative or retracted) ends it: `edge.stop` tells the cloud, which
//! frees the session's place. Its answer is awaited unless the link is lost; until then `on_output` gets records only.
//! If `on_output` refuses a record, the cloud is told nothing: the next run restores the session.
//! Errors: why the session failed; what `on_output` returned; what the link said when it was lost and cannot be set up
//!         again. The session then still stands: `reconnect` it, and generate on. After unverified_text the text can
//!         begin anew: `generate(another, edge.text(), model, link)`, where `another` has another session id and the
//!         rest of the budget.
template <execution_policy Policy, host_session Session, language_model Model, transport Link,
          class OnOutput = no_observer>
[[nodiscard]] result<std::span<const token_id>> generate(Policy policy, Session& edge, Model& model, Link& link,
                                                         OnOutput&& on_output = OnOutput{}) {
  detail::link_end<Link> end{link};
  auto observer = detail::sending(end, on_output);
  for (bool connected = true;;) {
    const session_work work = detail::run(policy, edge, model, observer, link);
    if (end.ended.ok() && detail::refuses_text(work)) {
      end.ended = work.reason;
      (void)take_outputs(edge, observer);
      if (edge.stop(stop_cause::cancelled, link.now()).ok()) continue;
    }
    if (!end.ended.ok() && (work.wait == session_wait::over || !work.reason.ok() || !end.lost.ok())) return end.ended;
    if (!work.reason.ok()) return work.reason;
    if (work.wait == session_wait::over) return edge.text().subspan(edge.prompt_length());
    if (end.lost.ok()) {
      const result<std::span<const std::byte>> heard = link.receive(edge.deadline());
      // What the session makes of an input it says in its outputs.
      if (!heard.ok()) {
        end.lost = heard.error();
      } else if (const status why =
                     heard.value().empty() ? edge.tick(link.now()) : deliver(edge, heard.value(), link.now());
                 why.code == errc::busy) {
        return why;
      }
    } else if (connected) {
      connected = false;
      (void)edge.disconnect(link.now());
    } else if (const status why = end.wait(edge.deadline()); why.ok()) {
      connected = true;
      (void)edge.reconnect(link.now());
    } else if (why.code == errc::peer_timeout && edge.deadline().has_value()) {
      (void)edge.tick(link.now());
    } else {
      return why;
    }
  }
}
template <host_session Session, language_model Model, transport Link, class OnOutput = no_observer>
[[nodiscard]] result<std::span<const token_id>> generate(Session& edge, Model& model, Link& link,
                                                         OnOutput&& on_output = OnOutput{}) {
  return generate(exec::simd, edge, model, link, on_output);
}
//! The same for a new session: starts it with the prompt. Errors: also those of `start`.
template <execution_policy Policy, host_session Session, language_model Model, transport Link,
          class OnOutput = no_observer>
[[nodiscard]] result<std::span<const token_id>> generate(Policy policy, Session& edge, std::span<const token_id> prompt,
                                                         Model& model, Link& link, OnOutput&& on_output = OnOutput{}) {
  detail::work_over<Link>(edge);  // before its hello
  if (const status why = edge.start(prompt, link.now()); !why.ok()) return why;
  return generate(policy, edge, model, link, on_output);
}
template <host_session Session, language_model Model, transport Link, class OnOutput = no_observer>
[[nodiscard]] result<std::span<const token_id>> generate(Session& edge, std::span<const token_id> prompt, Model& model,
                                                         Link& link, OnOutput&& on_output = OnOutput{}) {
  return generate(exec::simd, edge, prompt, model, link, on_output);
}

//! Level 3, the cloud: answers one edge until that says that the text is complete. A link that is lost after the last
//! token was sent is no error. Errors: as `generate`; why the edge was refused, where nothing more came from it.
template <execution_policy Policy, host_session Session, language_model Model, transport Link,
          class OnOutput = no_observer>
[[nodiscard]] status serve(Policy policy, Session& cloud, Model& model, Link& link, OnOutput&& on_output = OnOutput{}) {
  detail::link_end<Link> end{link};
  auto observer = detail::sending(end, on_output);
  for (;;) {
    const session_work work = detail::run(policy, cloud, model, observer, link);
    if (!work.reason.ok() || work.wait == session_wait::over) return work.reason;
    if (end.lost.ok()) {
      const result<std::span<const std::byte>> heard = link.receive(std::nullopt);
      if (!heard.ok()) {
        end.lost = heard.error();
        cloud.disconnect();
      } else if (!heard.value().empty()) {
        if (const status why = deliver(cloud, heard.value(), link.now()); !why.ok()) return why;
      }
    } else if (const status why = end.wait(std::nullopt); !why.ok()) {
      using state = decltype(cloud.state());
      if (cloud.state() == state::finished || cloud.state() == state::closing) return {};
      return cloud.refusal().ok() ? why : cloud.refusal();
    }
  }
}
template <host_session Session, language_model Model, transport Link, class OnOutput = no_observer>
[[nodiscard]] status serve(Session& cloud, Model& model, Link& link, OnOutput&& on_output = OnOutput{}) {
  return serve(exec::simd, cloud, model, link, on_output);
}

SPECVERIFY_NAMESPACE_END

#endif
