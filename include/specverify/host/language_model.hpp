// SPDX-License-Identifier: Apache-2.0
//! What a host has to bring: a language model that works for a session, and a transport that carries its messages.
//!
//! A `language_model` has two members, and optional ones that `drive` finds by itself:
//!   feed(position, tokens, rows) -> status   the tokens are at `position`..., 0 begins a new text; rows of the last
//!                                            `rows` of them are wanted, which may be none
//!   row(i) -> row_view                       the i-th wanted row, 0 <= i < rows; lives until the next feed
//!   truncate(position)                       keeps that many positions. A model that cannot is wrapped in `rewinding`
//!   keep_from(position)                      from now on nothing is truncated below this position
//!   transform(i, base) -> row_transform      what makes row i final: `base` with the bias and mask of the host
//!   hidden(i), attention(i) -> span          drafter: the hidden state behind row i, the attention of its query
//!   scores(asked, out) -> status             target, semantic rule: out[j] in [0, 1] for the j-th draft that `asked`
//!                                            names, j < asked.rows
//!   failed() -> status                       why a row, or what belongs to it, could not be had; asked after them
//!   save() -> state, load(state)             a copy of all that it knows, and back to one; see `rewinding`
//! Guarantees: concepts alone. `truncate`, `keep_from` and `load` return nothing or a status.
//! See:        docs/algorithms/host.md, tests/unit/host/language_model_test.cpp, examples/docs/host.cpp
#ifndef SPECVERIFY_HOST_LANGUAGE_MODEL_HPP
#define SPECVERIFY_HOST_LANGUAGE_MODEL_HPP

#include <specverify/core/views.hpp>
#include <specverify/session/output.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! Tokens in at a position, rows out.
template <class Model>
concept language_model = requires(Model& model, std::uint32_t number, std::span<const token_id> tokens) {
  { model.feed(number, tokens, number) } -> std::same_as<status>;
  requires is_row_scalar<typename std::remove_cvref_t<decltype(model.row(number))>::scalar_type>;
};

//! A model whose cache can be cut.
template <class Model>
concept truncating_model = language_model<Model> && requires(Model& model, std::uint32_t position) {
  model.truncate(position);
};

//! A model that can be copied and set back to the copy.
template <class Model>
concept saving_model = language_model<Model> && requires(Model& model) {
  model.load(model.save());
};

//! Messages to the peer and from it, and the time.
//!   ordered_and_whole         true: the messages of a connection arrive whole, in order and each once, until it is
//!                             lost: TLS, QUIC streams, WebSocket, pipes. Any other transport is wrapped in `delivered`
//!   send(bytes) -> status     hands one message over; not ok: the link is lost
//!   receive(until) -> result  the next message, which lives until the next call; an empty span when `until` has passed
//!                             (none: waits as long as it takes). An error says that the link is lost
//!   now() -> session_time     microseconds from any origin; never goes back
//!   reconnect(until)          optional; ok: the link is back; peer_timeout: `until` has passed; else it never will
template <class Link>
concept transport = requires(Link& link, std::span<const std::byte> message, std::optional<session_time> until) {
  { link.send(message) } -> std::same_as<status>;
  { link.receive(until) } -> std::same_as<result<std::span<const std::byte>>>;
  { link.now() } -> std::convertible_to<session_time>;
};

//! What a session can work over.
template <class Link>
concept ordered_transport = transport<Link> && Link::ordered_and_whole;

//! A transport that can be set up again.
template <class Link>
concept reconnecting_transport = transport<Link> && requires(Link& link, std::optional<session_time> until) {
  { link.reconnect(until) } -> std::same_as<status>;
};

//! What every session has: outputs one by one, messages in, and an end that the host can put to it.
template <class Session>
concept host_session = requires(Session& session, std::span<const std::byte> message, session_time now, status why) {
  { session.next() } -> std::same_as<session_output>;
  { session.receive(message, now) } -> std::same_as<status>;
  { session.engine_failed(why) } -> std::same_as<status>;
  { session.has_outputs() } -> std::same_as<bool>;
};

//! The clock of sessions that need none: no retry timeout, no times in the records.
struct no_clock {
  [[nodiscard]] constexpr session_time now() const noexcept { return 0; }
};

//! Hears every output and does nothing.
struct no_observer {
  constexpr void operator()(const session_output&) const noexcept {}
};

namespace detail {

//! The status of a call that may return nothing.
template <class Call>
[[nodiscard]] constexpr status status_of(Call&& call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return {};
  } else {
    return call();
  }
}

}  // namespace detail
SPECVERIFY_NAMESPACE_END

#endif
