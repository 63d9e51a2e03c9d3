// SPDX-License-Identifier: Apache-2.0
//! A device's way to its server with the rate, the delay and the losses of an emulated link. Greeting the server by a
//! key or a certificate is no message, and is not lost.
#ifndef EDGE_CLOUD_SERVE_EMULATED_LINK_HPP
#define EDGE_CLOUD_SERVE_EMULATED_LINK_HPP

#include "../edge_link.hpp"
#include "../link_direction.hpp"

#include <memory>
#include <utility>

namespace edge_cloud {

class emulated_link final : public edge_link {
 public:
  emulated_link(asio::io_context& io, const link_settings& settings, link_events events, const make_link& inner)
      : events_(std::move(events)),
        up_(io, {uplink(settings), settings.seed, 0}, [this](const frame& message) { inner_->send(message); }),
        down_(io, {downlink(settings), settings.seed, 1}, [this](const frame& message) { events_.on_frame(message); }),
        inner_(inner(
            io, {[this](frame message) { down_.accept(std::move(message)); }, events_.on_connect, events_.on_loss})) {}
  void send(std::span<const std::byte> message) override { up_.accept(frame(message.begin(), message.end())); }

 private:
  link_events events_;
  link_direction up_, down_;
  std::unique_ptr<edge_link> inner_;
};

}  // namespace edge_cloud

#endif
