// SPDX-License-Identifier: Apache-2.0
#include "tls_settings.hpp"

#include "../whole_number.hpp"
#include "private_file.hpp"

#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <stdexcept>
#include <string_view>

namespace edge_cloud {

namespace {

template <class Load>
void load(const char* option, const std::filesystem::path& file, Load&& load_file) {
  of_option(option, [&] { check_unchanged_by_others(file); });
  try {
    load_file(file.string());
  } catch (const asio::system_error& error) {
    throw std::runtime_error(std::string(option) + " " + file.string() + ": " + error.code().message());
  }
}

std::shared_ptr<asio::ssl::context> context_of(const tls_settings& files, asio::ssl::context::method method,
                                               const char* authority_option) {
  auto made = std::make_shared<asio::ssl::context>(method);
  SSL_CTX* const native = made->native_handle();
  if (SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION) != 1) throw std::runtime_error("OpenSSL has no TLS 1.3");
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 0);
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS);  // an idle connection keeps no buffers
  if (files.certificate.empty() != files.key.empty())
    throw std::runtime_error("--tls-certificate and --tls-key must be given together");
  if (!files.certificate.empty()) {
    const secret_text key = of_option("--tls-key", [&] { return private_text(files.key); });
    load("--tls-certificate", files.certificate, [&](const std::string& f) { made->use_certificate_chain_file(f); });
    load("--tls-key", files.key, [&](const std::string&) {
      const std::string_view text = key;
      made->use_private_key(asio::buffer(text.data(), text.size()), asio::ssl::context::pem);
    });
  }
  if (!files.peer_authority.empty())
    load(authority_option, files.peer_authority, [&](const std::string& f) { made->load_verify_file(f); });
  return made;
}

}  // namespace

std::shared_ptr<asio::ssl::context> server_tls(const tls_settings& files) {
  if (!files.wanted()) return nullptr;
  if (files.certificate.empty()) throw std::runtime_error("TLS needs --tls-certificate and --tls-key of the server");
  auto made = context_of(files, asio::ssl::context::tls_server, "--tls-client-ca");
  if (!files.peer_authority.empty()) {
    made->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    made->set_verify_callback([](bool trusted, asio::ssl::verify_context& context) {
      return trusted_for(tls_usage::client_auth, trusted, context);
    });
  }
  return made;
}

std::shared_ptr<asio::ssl::context> device_tls(const tls_settings& files) {
  if (!files.wanted()) return nullptr;
  if (files.peer_authority.empty()) throw std::runtime_error("TLS needs --tls-ca, the CA of the server's certificate");
  auto made = context_of(files, asio::ssl::context::tls_client, "--tls-ca");
  made->set_verify_mode(asio::ssl::verify_peer);
  return made;
}

bool trusted_for(tls_usage wanted, bool trusted, asio::ssl::verify_context& context) {
  X509_STORE_CTX* const chain = context.native_handle();
  if (!trusted || X509_STORE_CTX_get_error_depth(chain) != 0) return trusted;
  X509* const own = X509_STORE_CTX_get_current_cert(chain);
  const bool stated = (X509_get_extension_flags(own) & EXFLAG_XKUSAGE) != 0;
  const std::uint32_t usage = wanted == tls_usage::server_auth ? XKU_SSL_SERVER : XKU_SSL_CLIENT;
  if (stated && (X509_get_extended_key_usage(own) & usage) != 0) return true;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_INVALID_PURPOSE);
  return false;
}

std::optional<std::uint64_t> certified_device(peer_stream& stream) {
  if (stream.encrypted() == nullptr) return std::nullopt;
  const std::unique_ptr<X509, decltype(&X509_free)> shown(
      SSL_get1_peer_certificate(stream.encrypted()->native_handle()), &X509_free);
  if (!shown) return std::nullopt;
  X509_NAME* const subject = X509_get_subject_name(shown.get());
  const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) return std::nullopt;
  std::array<char, 32> name{};
  const int size = X509_NAME_get_text_by_NID(subject, NID_commonName, name.data(), static_cast<int>(name.size()));
  if (size <= 0 || size >= static_cast<int>(name.size()) - 1) return std::nullopt;
  return whole_number_from(std::string_view(name.data(), static_cast<std::size_t>(size)));
}

}  // namespace edge_cloud
