// SPDX-License-Identifier: Apache-2.0
#include "serve_settings.hpp"

#include <stdexcept>

namespace edge_cloud {

asio::ip::tcp::endpoint checked_endpoint(const serve_settings& settings) {
  const bool tls = settings.tls.wanted(), insecure = !settings.insecure_listen.empty();
  const std::string& text = insecure ? settings.insecure_listen : settings.listen;
  asio::error_code error;
  const asio::ip::address address = asio::ip::make_address(text, error);
  if (error)
    throw std::runtime_error((insecure ? "--insecure-listen " : "--listen ") + text +
                             ": not an address; give one like 127.0.0.1 or ::1");
  if (!address.is_loopback() && !tls && !insecure)
    throw std::runtime_error("--listen " + text +
                             ": everybody on the path could read and change messages; give --tls-certificate and "
                             "--tls-key, or in a private network --insecure-listen " +
                             text);
  if (insecure && tls) throw std::runtime_error("--insecure-listen excludes TLS; with TLS give --listen");
  const bool certified = tls && !settings.tls.peer_authority.empty();
  if (!certified && settings.devices.empty())
    throw std::runtime_error(
        "no device is known; give --devices FILE, or --tls-client-ca for devices with certificates");
  return {address, settings.port};
}

void check_device(const device_settings& settings) {
  const bool keyed = !settings.key.empty(), certified = !settings.tls.certificate.empty();
  if (!keyed && !certified)
    throw std::runtime_error("the server cannot identify this device; give --device-key-file or --tls-certificate");
  if (keyed && certified)
    throw std::runtime_error("--device-key-file and --tls-certificate both identify the device; give only one");
  if (keyed && !settings.device) throw std::runtime_error("--device-key-file needs --device-id, the id of the key");
  if (certified && settings.device)
    throw std::runtime_error("--device-id is only for --device-key-file; a certificate has the id as its common name");
  if (!settings.server_name.empty() && !settings.tls.wanted())
    throw std::runtime_error("--tls-name needs --tls-ca, because there is no TLS without it");
}

}  // namespace edge_cloud
