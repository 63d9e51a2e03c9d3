// SPDX-License-Identifier: Apache-2.0
//! Turns a transport of datagrams into the reliable transport that `generate` and `serve` need: whole messages arrive
//! in order and exactly once.
//!
//! Use it if a thread may block on the link. An event loop should use `delivery` instead.
//! Guarantees: as for `delivery`. The device must be the client. A client's first message, or a `reconnect` after an
//!             error, opens an incarnation (one run of the connection). No allocation after `make`.
//! Cost:       O(bytes).
//! See:        docs/algorithms/delivery.md, tests/unit/delivery/delivered_test.cpp
#ifndef SPECVERIFY_DELIVERY_DELIVERED_HPP
#define SPECVERIFY_DELIVERY_DELIVERED_HPP

#include <specverify/delivery/delivery.hpp>
#include <specverify/host/language_model.hpp>

SPECVERIFY_NAMESPACE_BEGIN

template <transport Link>
class delivered {
 public:
  static constexpr bool ordered_and_whole = true;
  //! `link` must outlive the object. Errors: as for `delivery::make`.
  [[nodiscard]] static result<delivered> make(Link& link, const delivery_options& options) {
    auto made = delivery::make(options);
    if (!made) return made.error();
    return delivered(link, *std::move(made), options.side == delivery_side::client);
  }
  [[nodiscard]] session_time now() { return link_->now(); }
  [[nodiscard]] const delivery_statistics& statistics() const noexcept { return delivery_.statistics(); }

  //! Waits while `delivery_window` messages are in flight. Errors: the link's errors; link_lost (the incarnation is
  //! lost), size_mismatch, peer_timeout (retry_limit retries without progress).
  [[nodiscard]] status send(std::span<const std::byte> message) {
    if (is_client_ && statistics().sent == 0) delivery_.open(now());
    status why = delivery_.send(message, now());
    while (why.code == errc::busy) {
      const auto heard = work(std::nullopt, false);
      why = heard ? delivery_.send(message, now()) : heard.error();
    }
    return why.ok() ? flush() : why;
  }
  //! Returns the next message, valid until the next call; empty if `until` has passed. Errors: the link's errors;
  //! link_lost, peer_timeout (as for `send`).
  [[nodiscard]] result<std::span<const std::byte>> receive(std::optional<session_time> until) {
    delivery_.want_missing();
    for (;;) {
      const auto heard = work(until, true);
      if (!heard || !heard->empty() || has_passed(until)) return heard;
    }
  }
  //! Waits until the other side has every message. Call it before you close the link. Errors: peer_timeout (`until` has
  //! passed); as for `receive`.
  [[nodiscard]] status settle(session_time until) {
    while (!delivery_.settle()) {
      if (has_passed(until)) return {errc::peer_timeout, part::host, 0};
      if (const auto heard = work(until, false); !heard) return heard.error();
    }
    (void)flush();  // the other side may be gone
    return {};
  }
  //! Reconnects the link if it was lost, and opens an incarnation if this side is the client. Errors: peer_timeout
  //! (`until` has passed), link_lost (the transport cannot reconnect); the link's errors.
  [[nodiscard]] status reconnect(std::optional<session_time> until) {
    status why = link_is_lost_ ? status{errc::link_lost, part::host, 0} : status{};
    if constexpr (reconnecting_transport<Link>) why = link_is_lost_ ? link_->reconnect(until) : why;
    if (!why.ok()) return why;
    if (is_client_ && (link_is_lost_ || delivery_.is_closed())) delivery_.open(now());
    link_is_lost_ = false;
    while (is_client_ && !delivery_.is_open()) {
      if (const auto heard = work(until, false); !heard) return heard.error();
      if (!delivery_.is_open() && has_passed(until)) return {errc::peer_timeout, part::host, 0};
    }
    return {};
  }

 private:
  delivered(Link& link, delivery&& made, bool is_client)
      : link_(&link), delivery_(std::move(made)), is_client_(is_client) {}

  [[nodiscard]] bool has_passed(std::optional<session_time> until) { return until && now() >= *until; }
  [[nodiscard]] status flush() {
    for (auto next = delivery_.next_datagram(); !next.empty(); next = delivery_.next_datagram()) {
      const status why = link_->send(next);
      link_is_lost_ = !why.ok();
      if (link_is_lost_) return why;
    }
    return {};
  }
  //! Sends the datagrams that are due, and waits for one datagram. Returns its message, if it has one. Unusable
  //! datagrams are only counted.
  [[nodiscard]] result<std::span<const std::byte>> work(std::optional<session_time> until, bool room) {
    if (const status why = flush(); !why.ok()) return why;
    std::optional<session_time> end = delivery_.deadline();
    if (!end || (until && *until < *end)) end = until;
    const auto datagram = link_->receive(end);
    link_is_lost_ = !datagram;
    if (link_is_lost_) return datagram.error();
    auto heard = datagram;
    if (!datagram->empty()) heard = delivery_.receive(*datagram, now(), room);
    if (!heard && heard.error().code == errc::link_lost) return heard;
    if (const status why = delivery_.tick(now()); !why.ok()) return why;
    return heard ? heard : std::span<const std::byte>{};
  }

  Link* link_;
  delivery delivery_;
  bool is_client_;
  bool link_is_lost_ = false;
};

SPECVERIFY_NAMESPACE_END

#endif
