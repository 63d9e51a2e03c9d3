// SPDX-License-Identifier: Apache-2.0
//! Connects to a peer, and reconnects after each loss, because the peer may start later or restart.
#ifndef EDGE_CLOUD_FRAMED_CLIENT_HPP
#define EDGE_CLOUD_FRAMED_CLIENT_HPP

#include "framed_connection.hpp"

#include <chrono>

namespace edge_cloud {

class framed_client {
 public:
  framed_client(asio::io_context& io, asio::ip::tcp::endpoint peer, std::function<void(frame)> on_frame,
                std::function<void()> on_connect = {}, std::function<void()> on_loss = {})
      : endpoint_(std::move(peer)),
        dialing_(io),
        redial_(io),
        on_frame_(std::move(on_frame)),
        on_connect_(std::move(on_connect)),
        on_loss_(std::move(on_loss)) {
    dial();
  }
  ~framed_client() {
    if (peer_) peer_->close();
  }
  framed_client(const framed_client&) = delete;
  framed_client& operator=(const framed_client&) = delete;

  [[nodiscard]] bool connected() const noexcept { return peer_ != nullptr; }

  //! Returns false if there is no connection; the message is then lost, as on a real link.
  bool send(std::span<const std::byte> message) {
    if (peer_) peer_->send(message);
    return peer_ != nullptr;
  }

 private:
  static constexpr std::chrono::milliseconds redial_interval{50};

  void dial() {
    dialing_.async_connect(endpoint_, [this](asio::error_code error) {
      if (error == asio::error::operation_aborted) return;
      if (error) return dial_later();
      peer_ = std::make_shared<framed_connection>(std::move(dialing_));
      peer_->start({[this](frame message) { on_frame_(std::move(message)); },
                    [this] {
                      peer_.reset();
                      dial_later();
                      if (on_loss_) on_loss_();
                    }});
      if (on_connect_) on_connect_();
    });
  }

  void dial_later() {
    asio::error_code ignored;
    dialing_.close(ignored);
    redial_.expires_after(redial_interval);
    redial_.async_wait([this](asio::error_code error) {
      if (!error) dial();
    });
  }

  asio::ip::tcp::endpoint endpoint_;
  asio::ip::tcp::socket dialing_;
  asio::steady_timer redial_;
  std::function<void(frame)> on_frame_;
  std::function<void()> on_connect_;
  std::function<void()> on_loss_;
  connection_pointer peer_;
};

}  // namespace edge_cloud

#endif
