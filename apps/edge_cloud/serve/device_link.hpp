// SPDX-License-Identifier: Apache-2.0
//! A device's way to a server of strangers: TCP or TLS, the proof of its key, and again when it was lost.
#ifndef EDGE_CLOUD_SERVE_DEVICE_LINK_HPP
#define EDGE_CLOUD_SERVE_DEVICE_LINK_HPP

#include "../edge_link.hpp"
#include "../framed_connection.hpp"
#include "../run_settings.hpp"
#include "key_challenge.hpp"
#include "serve_settings.hpp"

#include <specverify/codec/message_types.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace edge_cloud {

class device_link final : public edge_link {
 public:
  //! Throws std::runtime_error: the server's name is not known, a file of key or certificate is not what it must be.
  device_link(asio::io_context& io, const device_settings& settings, link_events events);
  ~device_link() override;
  device_link(const device_link&) = delete;
  device_link& operator=(const device_link&) = delete;

  void send(std::span<const std::byte> message) override;

 private:
  using connection = basic_framed_connection<peer_stream>;

  static constexpr std::chrono::milliseconds first_pause{50};
  static constexpr std::uint32_t most_failures = 8;

  void dial();
  void give_up_later();
  void dial_later(const std::string& why);
  void secure(std::shared_ptr<connection> line);
  void begin(std::shared_ptr<connection> line);
  void take(frame message);
  void prove(const frame& challenge);
  void admit();
  void lost(asio::error_code why);

  asio::io_context& io_;
  link_events events_;
  specverify::hello_name hello_{};  // the last one that was sent
  std::shared_ptr<asio::ssl::context> tls_;
  std::string server_;  // as it was given
  std::string server_name_;
  std::optional<device_key> key_;  // none where the certificate says who it is
  std::uint64_t device_ = 0;       // whose key it is
  key_opening opening_{};          // of this connection
  bool admitted_ = false;          // this connection takes messages of the session
  std::vector<asio::ip::tcp::endpoint> endpoints_;
  asio::ip::tcp::socket dialing_;
  asio::steady_timer redial_, give_up_;
  std::shared_ptr<connection> line_;
  std::chrono::seconds patience_;
  std::chrono::steady_clock::time_point since_;  // the last connection on which it was useful
  std::string missing_;                          // what was waited for last, or went wrong
  std::string distrust_;                         // of the server's certificate
  bool noted_ = false;                           // that this connection is tried again
  bool heard_ = false;                           // a message on this one
  std::uint32_t failures_ = 0;                   // of the server, at this text
  bool useful_ = false;                          // one of use
  std::chrono::milliseconds pause_ = first_pause;
};

//! The exit code of the process.
int run_device_process(run_settings run, const device_settings& settings);

}  // namespace edge_cloud

#endif
