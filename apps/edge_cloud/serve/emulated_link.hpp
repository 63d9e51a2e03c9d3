// SPDX-License-Identifier: Apache-2.0
//! Connects a device to a server with the rate, delay and losses of an emulated link. The link is in the device's
//! process: its far end passes whole messages to the real connection. Authentication frames do not cross the link, so
//! they are never lost.
#ifndef EDGE_CLOUD_SERVE_EMULATED_LINK_HPP
#define EDGE_CLOUD_SERVE_EMULATED_LINK_HPP

#include "../delivered_end.hpp"
#include "../edge_link.hpp"
#include "../link_direction.hpp"

#include <memory>
#include <utility>

namespace edge_cloud {

//! Takes and delivers datagrams.
class emulated_link final : public edge_link {
 public:
  emulated_link(asio::io_context& io, const link_settings& settings, link_events events, const make_link& inner)
      : events_(std::move(events)),
        up_(io, {uplink(settings), settings.seed, 0}, [this](const frame& datagram) { far_end_.receive(datagram); }),
        down_(io, {downlink(settings), settings.seed, 1},
              [this](const frame& datagram) { events_.on_frame(datagram); }),
        far_end_(
            io, specverify::delivery_side::server, 0, 1,
            {[this](std::span<const std::byte> datagram) { down_.accept(frame(datagram.begin(), datagram.end())); },
             [this](const frame& message) { inner_->send(message); }}),
        inner_(inner(
            io, {[this](const frame& message) { far_end_.send(message); }, events_.on_connect, events_.on_loss})) {}
  void send(std::span<const std::byte> datagram) override { up_.accept(frame(datagram.begin(), datagram.end())); }

 private:
  link_events events_;
  link_direction up_, down_;
  delivered_end far_end_;
  std::unique_ptr<edge_link> inner_;
};

}  // namespace edge_cloud

#endif
