// SPDX-License-Identifier: Apache-2.0
//! TLS 1.3 of both sides, and whose certificate it is.
#ifndef EDGE_CLOUD_SERVE_TLS_SETTINGS_HPP
#define EDGE_CLOUD_SERVE_TLS_SETTINGS_HPP

#include "peer_stream.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace edge_cloud {

//! Files in PEM. A server has certificate and key, and `peer_authority` where devices show certificates; a device has
//! `peer_authority`, which signed the server's certificate, and a certificate where the server wants one.
struct tls_settings {
  std::filesystem::path certificate{};     //!< of this side, and those that lead to its authority
  std::filesystem::path key{};             //!< of this side, for its owner's eyes alone (chmod 600)
  std::filesystem::path peer_authority{};  //!< who signs the other side's certificates

  [[nodiscard]] bool wanted() const { return !certificate.empty() || !key.empty() || !peer_authority.empty(); }
};

//! Nothing where TLS is not wanted. TLS 1.3 alone, without resumption. A server refuses certificates of devices without
//! clientAuth. Throws std::runtime_error: a file is missing, is no PEM, does not fit the other one, or may be read by
//! others.
[[nodiscard]] std::shared_ptr<asio::ssl::context> server_tls(const tls_settings& files);
[[nodiscard]] std::shared_ptr<asio::ssl::context> device_tls(const tls_settings& files);

//! What a certificate may be used for (its extended key usage).
enum class tls_usage { server_auth, client_auth };

//! For a verify callback: `trusted`, but false if this is the peer's own certificate and is not for that usage. OpenSSL
//! itself takes a certificate without usages for all of them: a device could then play the server.
[[nodiscard]] bool trusted_for(tls_usage wanted, bool trusted, asio::ssl::verify_context& context);

//! The device whose certificate the peer has shown: its common name in decimal digits.
[[nodiscard]] std::optional<std::uint64_t> certified_device(peer_stream& stream);

}  // namespace edge_cloud

#endif
