// SPDX-License-Identifier: Apache-2.0
//! Connects a device to a server: TCP or TLS, proof of the key, and reconnection after a loss.
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
  //! Throws std::runtime_error if the server's name is unknown, or a key or certificate file is invalid.
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
  specverify::hello_name hello_{};  // name of the last hello that was sent
  std::shared_ptr<asio::ssl::context> tls_;
  std::string server_;  // address of the server, as the user gave it
  std::string server_name_;
  std::optional<device_key> key_;  // key of this device; none if a certificate identifies it
  std::uint64_t device_ = 0;       // id of this device
  key_opening opening_{};          // of this connection
  bool admitted_ = false;          // whether this connection takes messages of the session
  std::vector<asio::ip::tcp::endpoint> endpoints_;
  asio::ip::tcp::socket dialing_;
  asio::steady_timer redial_, give_up_;
  std::shared_ptr<connection> line_;
  std::chrono::seconds patience_;
  std::chrono::steady_clock::time_point since_;  // time of the last useful connection
  std::string missing_;                          // the last step that the device waited for, or that failed
  std::string distrust_;                         // reason not to trust the server's certificate
  bool noted_ = false;                           // whether the retry of this connection was reported
  bool heard_ = false;                           // whether this connection has received a message
  std::uint32_t failures_ = 0;                   // number of times that the server failed at this text
  bool useful_ = false;                          // whether a useful message has been received
  std::chrono::milliseconds pause_ = first_pause;
};

//! Returns the exit code of the process.
int run_device_process(run_settings run, const device_settings& settings);

}  // namespace edge_cloud

#endif
