// SPDX-License-Identifier: Apache-2.0
//! Listens on the loopback interface for one peer at a time. A newer connection replaces the older one, because the
//! peer may have restarted.
#ifndef EDGE_CLOUD_FRAMED_SERVER_HPP
#define EDGE_CLOUD_FRAMED_SERVER_HPP

#include "framed_connection.hpp"

namespace edge_cloud {

class framed_server {
 public:
  //! Port 0 takes a free port. Throws if the port is in use.
  framed_server(asio::io_context& io, std::uint16_t port, std::function<void(frame)> on_frame)
      : acceptor_(io, {asio::ip::address_v4::loopback(), port}), on_frame_(std::move(on_frame)) {
    accept();
  }
  ~framed_server() {
    if (peer_) peer_->close();
  }
  framed_server(const framed_server&) = delete;
  framed_server& operator=(const framed_server&) = delete;

  [[nodiscard]] std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] bool connected() const noexcept { return peer_ != nullptr; }

  //! Returns false if there is no connection; the message is then lost, as on a real link.
  bool send(std::span<const std::byte> message) {
    if (peer_) peer_->send(message);
    return peer_ != nullptr;
  }

 private:
  void accept() {
    acceptor_.async_accept([this](asio::error_code error, asio::ip::tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) adopt(std::move(socket));
      accept();
    });
  }

  void adopt(asio::ip::tcp::socket socket) {
    if (peer_) peer_->close();
    peer_ = std::make_shared<framed_connection>(std::move(socket));
    peer_->start({[this](frame message) { on_frame_(std::move(message)); }, [this] { peer_.reset(); }});
  }

  asio::ip::tcp::acceptor acceptor_;
  std::function<void(frame)> on_frame_;
  connection_pointer peer_;
};

}  // namespace edge_cloud

#endif
