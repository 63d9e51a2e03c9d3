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
                             ": this is no address; give one like 127.0.0.1 or ::1");
  if (!address.is_loopback() && !tls && !insecure)
    throw std::runtime_error("--listen " + text +
                             ": everybody on the way could read and change messages. Give --tls-certificate and "
                             "--tls-key, or --insecure-listen " +
                             text + " where the network is yours alone");
  if (insecure && tls) throw std::runtime_error("--insecure-listen goes without TLS; with TLS give --listen");
  const bool certified = tls && !settings.tls.peer_authority.empty();
  if (!certified && settings.devices.empty())
    throw std::runtime_error("nobody is known: give --devices FILE, or --tls-client-ca for devices with certificates");
  return {address, settings.port};
}

void check_device(const device_settings& settings) {
  const bool keyed = !settings.key.empty(), certified = !settings.tls.certificate.empty();
  if (!keyed && !certified)
    throw std::runtime_error("give --device-key-file, or --tls-certificate of this device: the server knows it by one");
  if (keyed && certified)
    throw std::runtime_error("--device-key-file and --tls-certificate are two ways to be known; give one of them");
  if (keyed && !settings.device)
    throw std::runtime_error("--device-key-file needs --device-id, under which the server has the key");
  if (certified && settings.device)
    throw std::runtime_error("--device-id goes with --device-key-file; a certificate's common name is the id itself");
  if (!settings.server_name.empty() && !settings.tls.wanted())
    throw std::runtime_error("--tls-name goes with --tls-ca: there is no TLS without it");
}

}  // namespace edge_cloud
