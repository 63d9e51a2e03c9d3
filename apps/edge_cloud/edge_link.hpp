// SPDX-License-Identifier: Apache-2.0
//! Defines the interface of a connection from an edge's process to the cloud.
#ifndef EDGE_CLOUD_EDGE_LINK_HPP
#define EDGE_CLOUD_EDGE_LINK_HPP

#include "frame.hpp"

#include <asio.hpp>

#include <functional>
#include <memory>
#include <span>

namespace edge_cloud {

//! Callbacks for a link's events. The link reconnects after a loss without help from the host.
struct link_events {
  std::function<void(frame)> on_frame;
  std::function<void()> on_connect;
  std::function<void()> on_loss;
};

class edge_link {
 public:
  virtual ~edge_link() = default;
  //! Sends a message. If there is no connection, the message is lost, as on a real link.
  virtual void send(std::span<const std::byte> message) = 0;
};

//! Function that makes a link and starts to connect it. If it throws, the process ends.
using make_link = std::function<std::unique_ptr<edge_link>(asio::io_context&, link_events)>;

}  // namespace edge_cloud

#endif
