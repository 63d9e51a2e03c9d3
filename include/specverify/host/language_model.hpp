// SPDX-License-Identifier: Apache-2.0
//! Defines the two things that a host provides to a session: a language model, and a transport for messages.
//!
//! A `language_model` must have `feed`, and `row` or `token`. The other members are optional, and are detected at
//! compile time.
//!   feed(position, tokens, rows) -> status   feeds `tokens`, which begin at `position` (0 begins a new text), and
//!                                            computes rows of logits for the last `rows` tokens; `rows` may be 0
//!   row(i) -> row_view                       the row of the i-th of the last `rows` tokens; valid until the next feed
//!   token(i) -> token_id                     target with the greedy rule, instead of `row`: the token that the engine
//!                                            samples after the i-th of the last `rows` tokens
//!   truncate(position)                       keeps the first `position` positions; for a model without it, use the
//!                                            wrapper `rewinding`
//!   keep_from(position)                      no later truncate goes below this position
//!   transform(i, base) -> row_transform      the transform of row i: `base` with the host's bias and mask
//!   hidden(i), attention(i) -> span          drafter: the hidden state after row i, the attention of the row's query
//!   scores(asked, out) -> status             target, semantic rule: sets out[j] in [0, 1] for the j-th draft that
//!                                            `asked` marks, j < asked.rows
//!   failed() -> status                       error of the last row or token, or of its transform, hidden or attention
//!   save() -> state, load(state)             copies and restores the model's whole state; see `rewinding`
//! Guarantees: `truncate`, `keep_from` and `load` may return nothing or a status.
//! See:        docs/algorithms/host.md, tests/unit/host/language_model_test.cpp
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

//! Takes tokens at a position and returns rows.
template <class Model>
concept row_model = requires(Model& model, std::uint32_t number, std::span<const token_id> tokens) {
  { model.feed(number, tokens, number) } -> std::same_as<status>;
  requires is_row_scalar<typename std::remove_cvref_t<decltype(model.row(number))>::scalar_type>;
};

//! Takes tokens at a position. In place of rows, returns the token that the engine samples after each of these tokens.
template <class Model>
concept token_model =
    !row_model<Model> && requires(Model & model, std::uint32_t number, std::span<const token_id> tokens) {
  { model.feed(number, tokens, number) } -> std::same_as<status>;
  { model.token(number) } -> std::same_as<token_id>;
};

//! A model that a session can use. A drafter must be a `row_model`.
template <class Model>
concept language_model = row_model<Model> || token_model<Model>;

//! A model with a cache that can be truncated.
template <class Model>
concept truncating_model = language_model<Model> && requires(Model& model, std::uint32_t position) {
  model.truncate(position);
};

//! A model with a state that can be copied and restored.
template <class Model>
concept saving_model = language_model<Model> && requires(Model& model) {
  model.load(model.save());
};

//! Transport for messages to and from the peer. It also tells the time.
//!   ordered_and_whole         true: while a connection is open, messages arrive whole, in order and once (TLS, QUIC
//!                             streams, WebSocket, pipes). Wrap any other transport in `delivered`
//!   send(bytes) -> status     sends one message; an error means that the link is lost
//!   receive(until) -> result  returns the next message, valid until the next call, or an empty span after the time
//!                             `until`. Without `until`, it waits. An error means that the link is lost
//!   now() -> session_time     microseconds from any origin; must never decrease
//!   reconnect(until)          optional. Returns ok if the link is back, peer_timeout at the time `until`, or another
//!                             error if the link is lost for good
template <class Link>
concept transport = requires(Link& link, std::span<const std::byte> message, std::optional<session_time> until) {
  { link.send(message) } -> std::same_as<status>;
  { link.receive(until) } -> std::same_as<result<std::span<const std::byte>>>;
  { link.now() } -> std::convertible_to<session_time>;
};

//! A transport that delivers messages whole, in order and once, as `generate` and `serve` require.
template <class Link>
concept ordered_transport = transport<Link> && Link::ordered_and_whole;

//! A transport that can reconnect.
template <class Link>
concept reconnecting_transport = transport<Link> && requires(Link& link, std::optional<session_time> until) {
  { link.reconnect(until) } -> std::same_as<status>;
};

//! The session interface that the functions of host/ require.
template <class Session>
concept host_session = requires(Session& session, std::span<const std::byte> message, session_time now, status why) {
  { session.next() } -> std::same_as<session_output>;
  { session.receive(message, now) } -> std::same_as<status>;
  { session.engine_failed(why) } -> std::same_as<status>;
  { session.has_outputs() } -> std::same_as<bool>;
};

//! A clock whose time is always 0, for sessions without a retry timeout and hosts that do not read round times.
struct no_clock {
  [[nodiscard]] constexpr session_time now() const noexcept { return 0; }
};

//! Ignores every output.
struct no_observer {
  constexpr void operator()(const session_output&) const noexcept {}
};

namespace detail {

//! Makes a call, and returns its status, or ok if it returns nothing.
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
