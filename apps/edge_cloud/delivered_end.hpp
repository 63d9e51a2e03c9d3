// SPDX-License-Identifier: Apache-2.0
//! Makes one end of a connection that loses frames reliable. The library's `delivery` delivers whole messages in order,
//! each exactly once.
#ifndef EDGE_CLOUD_DELIVERED_END_HPP
#define EDGE_CLOUD_DELIVERED_END_HPP

#include <specverify/core/secret.hpp>
#include <specverify/delivery/delivery.hpp>

#include "clock.hpp"
#include "frame.hpp"

#include <asio.hpp>

#include <deque>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>

namespace edge_cloud {

struct delivered_events {
  std::function<void(std::span<const std::byte>)> send;  //!< sends a frame, which may be lost
  std::function<void(frame)> on_message;
  // These callbacks are called only for a client, as in link_events.
  std::function<void()> on_connect = {};
  std::function<void()> on_loss = {};
};

class delivered_end {
 public:
  //! `retry_ms`: milliseconds until a client sends again (0: never). After `retry_limit` attempts the messages are
  //! considered lost.
  delivered_end(asio::io_context& io, specverify::delivery_side side, std::uint32_t retry_ms, std::uint32_t retry_limit,
                delivered_events events)
      : delivery_(made(side, retry_ms, retry_limit)),
        is_client_(side == specverify::delivery_side::client),
        deadline_(io),
        events_(std::move(events)) {}

  //! Tells a client that the connection is up.
  void open() {
    way_ = way::there;
    connect();
    events_.on_connect();
  }
  //! Tells a client that the connection is down.
  void close() {
    if (std::exchange(way_, way::gone) == way::there) events_.on_loss();
  }
  void send(std::span<const std::byte> message) {
    waiting_.emplace_back(message.begin(), message.end());
    work();
  }
  void receive(std::span<const std::byte> datagram) {
    const std::uint64_t before = delivery_.statistics().incarnations;
    const auto heard = delivery_.receive(datagram, microseconds_now());
    // these messages belong to an earlier incarnation
    if (!is_client_ && delivery_.statistics().incarnations != before) waiting_.clear();
    if (way_ == way::lost && delivery_.is_open()) {
      way_ = way::there;
      events_.on_connect();
    }
    if (heard && !heard->empty()) events_.on_message(frame(heard->begin(), heard->end()));
    after(heard.error());
  }

 private:
  // gone: no connection; there: connected; lost: the other end does not answer, or no longer has this incarnation
  enum class way { gone, there, lost };

  static specverify::delivery made(specverify::delivery_side side, std::uint32_t retry_ms, std::uint32_t retry_limit) {
    specverify::delivery_options options;
    options.side = side;
    options.salt = specverify::salt_from(std::random_device{});
    options.max_message_bytes = 1u << 17;
    options.check_bytes = delivery_check_bytes;
    options.retry_timeout = std::uint64_t{retry_ms} * 1000;
    options.retry_limit = retry_limit;
    auto its = specverify::delivery::make(options);
    if (!its) throw std::runtime_error(std::string("delivery: ") + specverify::message(its.error().code));
    return *std::move(its);
  }

  void connect() {
    waiting_.clear();
    delivery_.open(microseconds_now());
    work();
  }
  //! Handles a status of `delivery`. A client whose incarnation is lost begins a new incarnation.
  void after(specverify::status why) {
    if (why.code == specverify::errc::link_lost || why.code == specverify::errc::peer_timeout) {
      connect();
      const bool was_there = way_ == way::there;
      if (was_there) way_ = way::lost;
      if (was_there) events_.on_loss();
    }
    work();
  }
  void work() {
    while (!waiting_.empty()) {
      const specverify::status why = delivery_.send(waiting_.front(), microseconds_now());
      if (why.code == specverify::errc::busy) break;
      if (why.code == specverify::errc::size_mismatch) throw std::runtime_error("a message is too long for the link");
      waiting_.pop_front();  // the message is in flight, or there is no connection
    }
    for (auto next = delivery_.next_datagram(); !next.empty(); next = delivery_.next_datagram()) events_.send(next);
    const auto due = delivery_.deadline();
    if (!due) return void(deadline_.cancel());
    deadline_.expires_at(at_microseconds(*due));
    deadline_.async_wait([this](asio::error_code error) {
      if (!error) after(delivery_.tick(microseconds_now()));
    });
  }

  specverify::delivery delivery_;
  bool is_client_;
  asio::steady_timer deadline_;
  delivered_events events_;
  std::deque<frame> waiting_;  // messages that wait until delivery accepts them
  way way_ = way::gone;
};

}  // namespace edge_cloud

#endif
