// SPDX-License-Identifier: Apache-2.0
//! Connects an edge to a cloud over a link that loses frames, with the library's `delivery` on top.
#ifndef EDGE_CLOUD_DELIVERED_LINK_HPP
#define EDGE_CLOUD_DELIVERED_LINK_HPP

#include "delivered_end.hpp"
#include "edge_link.hpp"

#include <memory>
#include <utility>

namespace edge_cloud {

class delivered_link final : public edge_link {
 public:
  delivered_link(asio::io_context& io, std::uint32_t retry_ms, std::uint32_t retry_limit, link_events events,
                 const make_link& inner)
      : end_(io, specverify::delivery_side::client, retry_ms, retry_limit,
             {[this](std::span<const std::byte> datagram) { inner_->send(datagram); }, std::move(events.on_frame),
              std::move(events.on_connect), std::move(events.on_loss)}),
        inner_(inner(io, {[this](const frame& datagram) { end_.receive(datagram); }, [this] { end_.open(); },
                          [this] { end_.close(); }})) {}
  void send(std::span<const std::byte> message) override { end_.send(message); }

 private:
  delivered_end end_;
  std::unique_ptr<edge_link> inner_;
};

}  // namespace edge_cloud

#endif
