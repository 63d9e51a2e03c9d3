// SPDX-License-Identifier: Apache-2.0
//! Runs a session for a whole text over a blocking transport: `generate` on the device, `serve` in the cloud.
//!
//! Use it if a thread may block on the link. If your program has an event loop, an engine on another thread or many
//! sessions, use host/drive.hpp instead, because its functions do not wait.
//! Guarantees: no I/O, no thread and no allocation except in callbacks; exceptions of callbacks pass through.
//! Cost:       O(tokens), plus the time of the engine and of the link.
//! See:        docs/algorithms/host.md, docs/session.md, tests/unit/host/host_test.cpp, examples/quickstart.cpp
#ifndef SPECVERIFY_HOST_HOST_HPP
#define SPECVERIFY_HOST_HOST_HPP

#include <specverify/host/drive.hpp>
#include <specverify/host/language_model.hpp>

#include <optional>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! A link that can be lost. While the link is lost, messages to send are dropped.
template <class Link>
struct link_end {
  Link& link;
  status lost{};
  status ended{};  // the observer's error that ends the text

  void send(std::span<const std::byte> message) {
    if (lost.ok()) lost = link.send(message);
  }
  //! Waits until the link is back. Errors: peer_timeout (`until` has passed); the link's error, if it cannot reconnect.
  [[nodiscard]] status wait(std::optional<session_time> until) {
    status back = lost;
    if constexpr (reconnecting_transport<Link>) back = link.reconnect(until);
    if (back.ok()) lost = {};
    return back;
  }
};

//! Returns an observer that passes outputs to `on_output` and also sends the messages. After `on_output` has ended the
//! text, the observer passes only journal records to it.
template <class Link, class OnOutput>
[[nodiscard]] auto sending(link_end<Link>& end, OnOutput& on_output) {
  return [&end, &on_output](const session_output& out) -> status {
    const bool hears = end.ended.ok() || out.action == session_action::journal;
    if (const status why = hears ? status_of([&] { return on_output(out); }) : status{}; !why.ok()) return why;
    if (out.action == session_action::send) end.send(out.bytes);
    return {};
  };
}

//! Returns whether a run ended because the observer returned an error for text. `work` is the result of `run`.
[[nodiscard]] inline bool refuses_text(const session_work& work) noexcept {
  const session_action at = work.asked.action;
  const bool is_text =
      at == session_action::committed || at == session_action::tentative || at == session_action::retracted;
  return work.wait == session_wait::over && !work.reason.ok() && is_text;
}

}  // namespace detail

//! Level 3, for the device. The session must be started, restored or recovered. Returns the tokens after the prompt.
//! The span is valid as long as the session exists.
//!
//! If `on_output` returns an error for text (committed, tentative or retracted), the call ends the text with
//! `edge.stop` and waits for the cloud's response; `on_output` then receives only journal records. If it returns an
//! error for a journal record or a message, the call ends immediately, and the host must restore the session.
//!
//! If the link is lost and cannot reconnect, the call returns the link's error. You can then `reconnect` the session
//! and call `generate` again. After the error unverified_text, the text can continue in a new session with another
//! session id and the rest of the budget: `generate(another, edge.text(), model, link)`.
//! Errors: the reason why the session failed; errors of `on_output`; the link's error.
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
      // errors of an input are in the session's outputs
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
//! Starts a new session with the prompt, then generates like the overload above. Errors: also the errors of `start`.
template <execution_policy Policy, host_session Session, language_model Model, transport Link,
          class OnOutput = no_observer>
[[nodiscard]] result<std::span<const token_id>> generate(Policy policy, Session& edge, std::span<const token_id> prompt,
                                                         Model& model, Link& link, OnOutput&& on_output = OnOutput{}) {
  detail::work_over<Link>(edge);  // must come before hello
  if (const status why = edge.start(prompt, link.now()); !why.ok()) return why;
  return generate(policy, edge, model, link, on_output);
}
template <host_session Session, language_model Model, transport Link, class OnOutput = no_observer>
[[nodiscard]] result<std::span<const token_id>> generate(Session& edge, std::span<const token_id> prompt, Model& model,
                                                         Link& link, OnOutput&& on_output = OnOutput{}) {
  return generate(exec::simd, edge, prompt, model, link, on_output);
}

//! Level 3, the cloud. Serves one edge until the edge reports the end of the text. Returns ok if the text is complete,
//! even if the link is then lost.
//! Errors: the reason why the session failed; errors of `on_output`; the link's error if the link is lost and cannot
//! reconnect. If the last hello was refused or the edge has failed, returns the reason of the refusal instead.
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
