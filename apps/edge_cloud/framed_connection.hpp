// SPDX-License-Identifier: Apache-2.0
//! Sends and receives frames on one TCP connection. The connection belongs to one io_context and one thread.
#ifndef EDGE_CLOUD_FRAMED_CONNECTION_HPP
#define EDGE_CLOUD_FRAMED_CONNECTION_HPP

#include "frame.hpp"

#include <asio.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace edge_cloud {

//! `Stream` must be a TCP socket or a type with the same members (serve/peer_stream.hpp).
template <class Stream>
class basic_framed_connection : public std::enable_shared_from_this<basic_framed_connection<Stream>> {
 public:
  struct handlers {
    std::function<void(frame)> on_frame;  //!< must not call close()
    std::function<void()> on_close;       //!< called once, when the peer has disconnected; never after close()
    //! Called when the peer announces a frame above the limit. on_close follows, unless this callback calls finish().
    std::function<void()> on_too_long = {};
  };

  explicit basic_framed_connection(Stream stream) : stream_(std::move(stream)) {
    asio::error_code ignored;
    stream_.set_option(asio::ip::tcp::no_delay(true), ignored);
  }

  [[nodiscard]] Stream& stream() noexcept { return stream_; }
  //! Sets the maximum size of the next frames, as frame_reader::accept_up_to does.
  void accept_up_to(std::size_t bytes) noexcept { reader_.accept_up_to(bytes); }
  //! Returns the last three bytes that were read as a length, as frame_reader::last_prefix does.
  [[nodiscard]] const frame_prefix& last_prefix() const noexcept { return reader_.last_prefix(); }
  //! Returns the number of bytes, including length prefixes, that the operating system has not accepted yet.
  [[nodiscard]] std::size_t unsent() const noexcept { return queued_.size() + writing_.size(); }

  //! Returns the error of the system or of TLS that led to on_close, if there is one.
  [[nodiscard]] asio::error_code error() const noexcept { return error_; }

  void start(handlers called) {
    handlers_ = std::move(called);
    read();
  }

  void send(std::span<const std::byte> message) {
    if (!stream_.is_open() || finishing_) return;
    const frame_prefix prefix = encode_prefix(message.size());
    queued_.insert(queued_.end(), prefix.begin(), prefix.end());
    queued_.insert(queued_.end(), message.begin(), message.end());
    if (writing_.empty()) write_next();
  }

  //! Sends the waiting bytes, then discards input until the peer closes, because closing a socket with unread bytes
  //! would discard sent data. If the peer does not close, the owner must call close().
  void finish() {
    finishing_ = true;
    if (unsent() == 0) stop_sending();
  }

  void close() {
    handlers_ = {};
    asio::error_code ignored;
    stream_.close(ignored);
  }

 private:
  void read() {
    if (finishing_) return discard();
    const std::span<std::byte> space = reader_.space();
    asio::async_read(stream_, asio::buffer(space.data(), space.size()),
                     [self = this->shared_from_this()](asio::error_code error, std::size_t) { self->take(error); });
  }

  void take(asio::error_code error) {
    if (error) return lost(error);
    std::optional<frame> whole = reader_.filled();
    if (reader_.too_long()) {
      if (handlers_.on_too_long) handlers_.on_too_long();
      if (!finishing_) return lost();
    } else if (whole && !finishing_ && handlers_.on_frame) {
      handlers_.on_frame(*std::move(whole));
    }
    if (stream_.is_open()) read();
  }

  void discard() {
    waste_.resize(4096);
    stream_.async_read_some(asio::buffer(waste_),
                            [self = this->shared_from_this()](asio::error_code error, std::size_t) {
                              error ? self->lost(error) : self->discard();
                            });
  }

  void write_next() {
    writing_ = std::exchange(queued_, {});
    asio::async_write(stream_, asio::buffer(writing_),
                      [self = this->shared_from_this()](asio::error_code error, std::size_t) {
                        self->writing_ = {};
                        if (error) return self->lost(error);
                        if (!self->queued_.empty()) return self->write_next();
                        if (self->finishing_) self->stop_sending();
                      });
  }

  void stop_sending() {
    asio::error_code ignored;
    stream_.lowest_layer().shutdown(asio::socket_base::shutdown_send, ignored);
  }

  void lost(asio::error_code why = {}) {
    error_ = why;
    const std::function<void()> on_close = std::move(handlers_.on_close);
    close();
    if (on_close) on_close();
  }

  Stream stream_;
  handlers handlers_;
  frame_reader reader_;
  frame queued_, writing_, waste_;
  asio::error_code error_;
  bool finishing_ = false;
};

using framed_connection = basic_framed_connection<asio::ip::tcp::socket>;
using connection_pointer = std::shared_ptr<framed_connection>;

}  // namespace edge_cloud

#endif
