// SPDX-License-Identifier: Apache-2.0
//! Sets up TLS 1.3 for both sides, and returns the identity in a certificate.
#ifndef EDGE_CLOUD_SERVE_TLS_SETTINGS_HPP
#define EDGE_CLOUD_SERVE_TLS_SETTINGS_HPP

#include "peer_stream.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace edge_cloud {

//! Files in PEM. A server needs certificate and key, and `peer_authority` if devices use certificates. A device needs
//! `peer_authority`, which signed the server's certificate, and a certificate if the server requires one.
struct tls_settings {
  std::filesystem::path certificate{};     //!< certificate of this side, with the chain up to its authority
  std::filesystem::path key{};             //!< private key of this side; only the owner may read the file (chmod 600)
  std::filesystem::path peer_authority{};  //!< authority that signs the other side's certificates

  [[nodiscard]] bool wanted() const { return !certificate.empty() || !key.empty() || !peer_authority.empty(); }
};

//! Return null if TLS is off. Only TLS 1.3 is allowed, without resumption. A server refuses device certificates without
//! clientAuth. Throws std::runtime_error if a file is missing, is not PEM, does not match the other file, or may be
//! read by others.
[[nodiscard]] std::shared_ptr<asio::ssl::context> server_tls(const tls_settings& files);
[[nodiscard]] std::shared_ptr<asio::ssl::context> device_tls(const tls_settings& files);

//! Permitted use of a certificate (its extended key usage).
enum class tls_usage { server_auth, client_auth };

//! For a verify callback. Returns `trusted`, but returns false if the certificate is the peer's own and does not allow
//! the usage `wanted`. The check is needed because OpenSSL accepts a certificate without usages for every usage, so a
//! device could pose as the server.
[[nodiscard]] bool trusted_for(tls_usage wanted, bool trusted, asio::ssl::verify_context& context);

//! Returns the device in the peer's certificate: the common name in decimal digits.
[[nodiscard]] std::optional<std::uint64_t> certified_device(peer_stream& stream);

}  // namespace edge_cloud

#endif
