// SPDX-License-Identifier: Apache-2.0
//! How an edge's process reaches its cloud.
#ifndef EDGE_CLOUD_EDGE_LINK_HPP
#define EDGE_CLOUD_EDGE_LINK_HPP

#include "frame.hpp"

#include <asio.hpp>

#include <functional>
#include <memory>
#include <span>

namespace edge_cloud {

//! What a link tells its process; it dials again by itself.
struct link_events {
  std::function<void(frame)> on_frame;
  std::function<void()> on_connect;
  std::function<void()> on_loss;
};

class edge_link {
 public:
  virtual ~edge_link() = default;
  //! Gone where nobody is there, as on a real link.
  virtual void send(std::span<const std::byte> message) = 0;
};

//! Begins to dial. What it throws ends the process.
using make_link = std::function<std::unique_ptr<edge_link>(asio::io_context&, link_events)>;

}  // namespace edge_cloud

#endif
