// SPDX-License-Identifier: Apache-2.0
//! A whole text over a blocking transport: `generate` at the device, `serve` at the cloud.
//!
//! Use them where one thread may wait for the link. Hosts with an event loop, an engine on another thread or many
//! sessions take the levels below: session/drive.hpp.
//! Guarantees: no I/O, no clock, no thread and no allocation of its own; what callbacks throw passes through.
//! See:        docs/algorithms/host.md, docs/session.md, tests/unit/session/host_test.cpp, examples/docs/host.cpp,
//!             examples/quickstart.cpp
#ifndef SPECVERIFY_SESSION_HOST_HPP
#define SPECVERIFY_SESSION_HOST_HPP

#include <specverify/session/drive.hpp>
#include <specverify/session/language_model.hpp>

#include <optional>
#include <span>

SPECVERIFY_NAMESPACE_BEGIN

namespace detail {

//! A link that may be gone: what is sent meanwhile is lost, as on any link.
template <class Link>
struct link_end {
  Link& link;
  status lost{};

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

//! What a host's observer hears, and then the link.
template <class Link, class OnOutput>
[[nodiscard]] auto sending(link_end<Link>& end, OnOutput& on_output) {
  return [&end, &on_output](const session_output& out) -> status {
    if (const status why = status_of([&] { return on_output(out); }); !why.ok()) return why;
    if (out.action == session_action::send) end.send(out.bytes);
    return {};
  };
}

}  // namespace detail

//! Level 3, the device: a session that was started, restored or recovered writes its text. Returns the tokens behind
//! the prompt; they live as long as the session.
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
      } else if (!heard.value().empty()) {
        if (const status why = deliver(cloud, heard.value(), link.now()); !why.ok()) return why;
      }
    } else if (const status why = end.wait(std::nullopt); !why.ok()) {
      using state = decltype(cloud.state());
      if (cloud.state() == state::finished) return {};
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
