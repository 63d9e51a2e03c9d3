// SPDX-License-Identifier: Apache-2.0
//! One TCP connection that carries frames. It lives on one io_context, on one thread.
#ifndef EDGE_CLOUD_FRAMED_CONNECTION_HPP
#define EDGE_CLOUD_FRAMED_CONNECTION_HPP

#include "frame.hpp"

#include <asio.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace edge_cloud {

class framed_connection : public std::enable_shared_from_this<framed_connection> {
 public:
  struct handlers {
    std::function<void(frame)> on_frame;
    std::function<void()> on_close;  //!< called once, when the peer is gone; never after close()
  };

  explicit framed_connection(asio::ip::tcp::socket socket) : socket_(std::move(socket)) {
    asio::error_code ignored;
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  }

  void start(handlers called) {
    handlers_ = std::move(called);
    read();
  }

  void send(std::span<const std::byte> message) {
    if (!socket_.is_open()) return;
    const frame_prefix prefix = encode_prefix(message.size());
    frame& queued = outgoing_.emplace_back(prefix.begin(), prefix.end());
    queued.insert(queued.end(), message.begin(), message.end());
    if (outgoing_.size() == 1) write_next();
  }

  void close() {
    handlers_ = {};
    asio::error_code ignored;
    socket_.close(ignored);
  }

 private:
  void read() {
    const std::span<std::byte> space = reader_.space();
    asio::async_read(socket_, asio::buffer(space.data(), space.size()),
                     [self = shared_from_this()](asio::error_code error, std::size_t) {
                       if (error) return self->lost();
                       std::optional<frame> whole = self->reader_.filled();
                       if (self->reader_.too_long()) return self->lost();
                       if (whole && self->handlers_.on_frame) self->handlers_.on_frame(*std::move(whole));
                       self->read();
                     });
  }

  void write_next() {
    asio::async_write(socket_, asio::buffer(outgoing_.front()),
                      [self = shared_from_this()](asio::error_code error, std::size_t) {
                        if (error) return self->lost();
                        self->outgoing_.pop_front();
                        if (!self->outgoing_.empty()) self->write_next();
                      });
  }

  void lost() {
    const std::function<void()> on_close = std::move(handlers_.on_close);
    close();
    if (on_close) on_close();
  }

  asio::ip::tcp::socket socket_;
  handlers handlers_;
  frame_reader reader_;
  std::deque<frame> outgoing_;
};

using connection_pointer = std::shared_ptr<framed_connection>;

}  // namespace edge_cloud

#endif
