// SPDX-License-Identifier: Apache-2.0
//! Holds the settings of a server and of a device, in addition to the settings of a run.
#ifndef EDGE_CLOUD_SERVE_SERVE_SETTINGS_HPP
#define EDGE_CLOUD_SERVE_SERVE_SETTINGS_HPP

#include <specverify/distribution/draft.hpp>

#include "serve_limits.hpp"
#include "tls_settings.hpp"

#include <optional>
#include <string>

namespace edge_cloud {

struct serve_settings {
  std::uint16_t port = 7002;         //!< 0: a free port, which is written to the state folder's file `port`
  std::string listen = "127.0.0.1";  //!< address of this machine to listen on
  std::string insecure_listen{};     //!< address to listen on without TLS, which may be other than the loopback
  std::filesystem::path devices{};   //!< keys of devices; with certificates: ids of allowed devices, empty for all
  std::filesystem::path secret{};    //!< empty: the state folder's file `secret`
  tls_settings tls{};
  serve_limits limits{};
  specverify::guarantee required = specverify::guarantee::lossy;  //!< minimum guarantee; sessions below it are refused
  //! journal records are synced before messages that depend on them; always on under unconditional
  bool sync = false;
  bool strict_restore = false;  //!< whether to exit if a session cannot be restored, instead of setting it aside
};

struct device_settings {
  std::string server = "127.0.0.1:7002";  //!< host:port
  std::optional<std::uint64_t> device{};  //!< id of this device
  //! empty: the id in the state folder's file `session`, drawn at random
  std::optional<std::uint64_t> session_id{};
  //! file with the key of this device; empty if a certificate identifies the device
  std::filesystem::path key{};
  std::filesystem::path secret{};      //!< empty: the state folder's file `secret`
  std::string server_name{};           //!< expected name in the server's certificate; empty: the host of `server`
  std::uint32_t connect_seconds = 60;  //!< seconds without a useful answer before the device gives up
  bool emulate_link = false;           //!< whether messages go over the run's emulated link
  tls_settings tls{};
};

//! Returns the endpoint to listen on. Throws std::runtime_error with advice if an address is invalid, an address other
//! than the loopback has neither TLS nor --insecure-listen, or devices cannot be authenticated.
[[nodiscard]] asio::ip::tcp::endpoint checked_endpoint(const serve_settings& settings);

//! Throws std::runtime_error with the option's name if the device's identity is missing or given twice, or if an option
//! has no effect.
void check_device(const device_settings& settings);

}  // namespace edge_cloud

#endif
