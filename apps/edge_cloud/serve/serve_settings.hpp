// SPDX-License-Identifier: Apache-2.0
//! What a server and a device of strangers are started with, beyond what a run has.
#ifndef EDGE_CLOUD_SERVE_SERVE_SETTINGS_HPP
#define EDGE_CLOUD_SERVE_SERVE_SETTINGS_HPP

#include <specverify/distribution/draft.hpp>

#include "serve_limits.hpp"
#include "tls_settings.hpp"

#include <optional>
#include <string>

namespace edge_cloud {

struct serve_settings {
  std::uint16_t port = 7002;         //!< 0: a free one, which the state folder's file `port` says
  std::string listen = "127.0.0.1";  //!< an address of this machine
  std::string insecure_listen{};     //!< one without TLS that is not the loopback
  std::filesystem::path devices{};   //!< their keys; where they show certificates, their ids: empty takes all
  std::filesystem::path secret{};    //!< empty: the state folder's file `secret`
  tls_settings tls{};
  serve_limits limits{};
  specverify::guarantee required = specverify::guarantee::lossy;  //!< refuses sessions with a weaker guarantee
  //! journal records are on the disk before the messages that follow from them; under unconditional always
  bool sync = false;
  bool strict_restore = false;  //!< ends if a session cannot be restored, instead of setting it aside
};

struct device_settings {
  std::string server = "127.0.0.1:7002";  //!< host:port
  std::optional<std::uint64_t> device{};  //!< this device's id
  //! none: the state folder's file `session`, drawn at random
  std::optional<std::uint64_t> session_id{};
  std::filesystem::path key{};         //!< of this device; empty where its certificate says who it is
  std::filesystem::path secret{};      //!< empty: the state folder's file `secret`
  std::string server_name{};           //!< in the server's certificate; empty: the host
  std::uint32_t connect_seconds = 60;  //!< gives up after so long without an answer of use
  bool emulate_link = false;           //!< messages go over the run's link
  tls_settings tls{};
};

//! Where to listen. Throws std::runtime_error that says what to do: an address is none, one that is not the loopback
//! has neither TLS nor --insecure-listen, or nobody could be told from a stranger.
[[nodiscard]] asio::ip::tcp::endpoint checked_endpoint(const serve_settings& settings);

//! Throws std::runtime_error that names the option: it is not said who the device is, it is said twice, or an option
//! has no effect.
void check_device(const device_settings& settings);

}  // namespace edge_cloud

#endif
