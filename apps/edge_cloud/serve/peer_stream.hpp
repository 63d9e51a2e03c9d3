// SPDX-License-Identifier: Apache-2.0
//! Wraps a TCP stream that may be inside TLS in one type, which has the members of a socket.
#ifndef EDGE_CLOUD_SERVE_PEER_STREAM_HPP
#define EDGE_CLOUD_SERVE_PEER_STREAM_HPP

#include "../frame.hpp"

#include <asio.hpp>
#include <asio/ssl.hpp>

#include <openssl/err.h>

#include <memory>
#include <utility>
#include <variant>

namespace edge_cloud {

//! Returns whether a stream without TLS begins like a TLS client: {22, 3, minor version}.
[[nodiscard]] inline bool is_tls_hello(const frame_prefix& prefix) noexcept {
  return prefix[0] == std::byte{22} && prefix[1] == std::byte{3} && prefix[2] <= std::byte{4};
}

//! Returns whether a handshake failed because the first bytes were no TLS record.
[[nodiscard]] inline bool is_no_tls(asio::error_code why) noexcept {
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(why.value()));
  return why.category() == asio::error::get_ssl_category() &&
         (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST);
}

class peer_stream {
 public:
  using socket = asio::ip::tcp::socket;
  using tls = asio::ssl::stream<socket>;
  using executor_type = socket::executor_type;
  using lowest_layer_type = socket::lowest_layer_type;

  explicit peer_stream(socket plain) : stream_(std::move(plain)) {}
  peer_stream(socket inner, std::shared_ptr<asio::ssl::context> context)
      : context_(std::move(context)), stream_(std::make_unique<tls>(std::move(inner), *context_)) {}

  [[nodiscard]] executor_type get_executor() { return lowest_layer().get_executor(); }
  [[nodiscard]] lowest_layer_type& lowest_layer() {
    if (tls* inside = encrypted()) return inside->lowest_layer();
    return std::get<socket>(stream_).lowest_layer();
  }
  //! Returns null on a plain stream.
  [[nodiscard]] tls* encrypted() {
    auto* inside = std::get_if<std::unique_ptr<tls>>(&stream_);
    return inside != nullptr ? inside->get() : nullptr;
  }

  //! Continues without TLS after the handshake has failed and returned.
  void leave_tls() {
    if (tls* inside = encrypted()) stream_ = socket(std::move(inside->next_layer()));
  }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (tls* inside = encrypted()) return inside->async_read_some(buffers, std::forward<Handler>(handler));
    std::get<socket>(stream_).async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls* inside = encrypted()) return inside->async_write_some(buffers, std::forward<Handler>(handler));
    std::get<socket>(stream_).async_write_some(buffers, std::forward<Handler>(handler));
  }

  template <class Option>
  void set_option(const Option& option, asio::error_code& error) {
    lowest_layer().set_option(option, error);
  }
  [[nodiscard]] bool is_open() { return lowest_layer().is_open(); }
  //! Closes the stream without the closing message of TLS, because frames already show whether a message is complete.
  void close(asio::error_code& error) { lowest_layer().close(error); }

 private:
  std::shared_ptr<asio::ssl::context> context_{};  // the verify callback needs it until the handshake is over
  std::variant<socket, std::unique_ptr<tls>> stream_;
};

}  // namespace edge_cloud

#endif
