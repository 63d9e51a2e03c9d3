// SPDX-License-Identifier: Apache-2.0
#include "device_link.hpp"

#include "../edge_process.hpp"
#include "../session_failure.hpp"
#include "../systems.hpp"
#include "../whole_number.hpp"
#include "device_keys.hpp"
#include "emulated_link.hpp"
#include "private_file.hpp"
#include "refusal_text.hpp"
#include "state_folder.hpp"

#include <specverify/codec/message.hpp>

#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <stdexcept>

namespace edge_cloud {

namespace {

struct host_and_port {
  std::string host, port;
};

//! Splits the text at its last colon, because an IPv6 address such as [::1]:7002 has several colons.
host_and_port parted(const std::string& server) {
  const std::size_t colon = server.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == server.size())
    throw std::runtime_error("--connect " + server + ": give HOST:PORT");
  host_and_port made{server.substr(0, colon), server.substr(colon + 1)};
  const auto port = whole_number_from(made.port);
  if (!port || *port == 0 || *port > 65535)
    throw std::runtime_error("--connect " + server + ": a port is a number from 1 to 65535");
  if (made.host.front() == '[' && made.host.back() == ']') made.host = made.host.substr(1, made.host.size() - 2);
  return made;
}

//! Returns the refusal if the message is a refusal of the connection or of this hello.
std::optional<refusal> refused(std::span<const std::byte> message, const specverify::hello_name& hello) {
  for (const specverify::hello_name& answered : {specverify::hello_name{}, hello}) {
    const auto read = specverify::decode_refuse(answered, message);
    if (!read) continue;
    if (const auto own = host_refusal(read->reason)) return own;
  }
  return std::nullopt;
}

//! Returns whether a message shows that the server serves the session. An answer to hello is not enough, because a
//! server that does not serve the session also answers.
bool is_useful(std::span<const std::byte> message) {
  using specverify::message_kind;
  const auto kind = specverify::kind_of(message);
  return kind && *kind != message_kind::hello && *kind != message_kind::refuse;
}

std::string other_name(const std::string& name) {
  return "the server's certificate is not for " + name + "; give its name with --tls-name";
}

std::string distrusted(asio::ssl::verify_context& context) {
  const int why = X509_STORE_CTX_get_error(context.native_handle());
  return std::string("the server's certificate is not trusted (") + X509_verify_cert_error_string(why) +
         "); check --tls-ca";
}

//! Returns whether a TLS alert is about a certificate. Such an alert can arrive after this side has finished the
//! handshake.
bool is_about_certificate(asio::error_code why) {
  if (why.category() != asio::error::get_ssl_category()) return false;
  const int reason = ERR_GET_REASON(static_cast<unsigned long>(why.value()));
  constexpr int alerts[] = {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,      SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
                            SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,  SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
                            SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,  SSL_R_TLSV1_ALERT_UNKNOWN_CA,
                            SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED};
  return std::find(std::begin(alerts), std::end(alerts), reason) != std::end(alerts);
}

//! Returns whether the server sent a TLS alert, which proves that it uses TLS. Other handshake failures can also come
//! from a server without TLS.
bool is_alert(asio::error_code why) {
  return why.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(why.value())) >= SSL_AD_REASON_OFFSET;
}
constexpr const char* perhaps_plain = "; does the server speak TLS? If not, leave out --tls-ca";
constexpr const char* perhaps_tls = "; does the server speak TLS? Then give --tls-ca";

//! Returns whether the server may accept the device later.
bool may_pass(refusal why) {
  return why == refusal::connections || why == refusal::connections_of_device || why == refusal::half_open ||
         why == refusal::half_open_of_address || why == refusal::first_frame_late || why == refusal::sessions ||
         why == refusal::useless_frames || why == refusal::idle_connection || why == refusal::descriptors ||
         why == refusal::handshakes_of_device || why == refusal::written_of_device;
}
//! Returns whether the server has lost the session, so that the device can begin the session again with the current
//! text (under --required unconditional only with a prompt).
bool may_begin_again(refusal why) { return why == refusal::host_failed || why == refusal::disk_failed; }

}  // namespace

device_link::device_link(asio::io_context& io, const device_settings& settings, link_events events)
    : io_(io),
      events_(std::move(events)),
      tls_(device_tls(settings.tls)),
      server_(settings.server),
      dialing_(io),
      redial_(io),
      give_up_(io),
      patience_(settings.connect_seconds),
      since_(std::chrono::steady_clock::now()) {
  const host_and_port server = parted(settings.server);
  server_name_ = settings.server_name.empty() ? server.host : settings.server_name;
  if (!settings.key.empty()) {
    key_ = of_option("--device-key-file", [&] { return load_device_key(settings.key); });
    device_ = settings.device.value();
  }
  asio::ip::tcp::resolver resolver(io);
  asio::error_code error;
  for (const auto& found : resolver.resolve(server.host, server.port, error)) endpoints_.push_back(found.endpoint());
  if (error || endpoints_.empty()) throw std::runtime_error("--connect " + settings.server + ": " + error.message());
  dial();
}

device_link::~device_link() {
  if (line_) line_->close();
}

void device_link::send(std::span<const std::byte> message) {
  if (const auto name = specverify::name_of(message)) hello_ = *name;
  if (line_ && admitted_) line_->send(message);
}

void device_link::dial() {
  give_up_later();
  asio::async_connect(dialing_, endpoints_, [this](asio::error_code error, const asio::ip::tcp::endpoint&) {
    if (error == asio::error::operation_aborted) return;
    if (error) return dial_later(error.message());
    auto line =
        std::make_shared<connection>(tls_ ? peer_stream(std::move(dialing_), tls_) : peer_stream(std::move(dialing_)));
    dialing_ = asio::ip::tcp::socket(io_);
    secure(std::move(line));
  });
}

//! Gives up after a while, whatever the connection waits for, because a server may accept a connection and send
//! nothing.
void device_link::give_up_later() {
  if (missing_.empty()) missing_ = "no connection";
  give_up_.expires_at(since_ + patience_);
  give_up_.async_wait([this](asio::error_code error) {
    if (error || useful_) return;
    throw std::runtime_error("--connect " + server_ + ": no useful answer for " + std::to_string(patience_.count()) +
                             " seconds (--connect-seconds): " + missing_);
  });
}

void device_link::secure(std::shared_ptr<connection> line) {
  peer_stream::tls* const inside = line->stream().encrypted();
  if (inside == nullptr) return begin(std::move(line));
  const auto named = asio::ssl::host_name_verification(server_name_);
  inside->set_verify_callback([this, named](bool trusted, asio::ssl::verify_context& context) {
    if (!trusted_for(tls_usage::server_auth, trusted, context)) {
      distrust_ = distrusted(context);
      return false;
    }
    if (!named(true, context)) {
      distrust_ = other_name(server_name_);
      return false;
    }
    return true;
  });
  missing_ = std::string("the server does not answer the TLS handshake") + perhaps_plain;
  SSL_set_tlsext_host_name(inside->native_handle(), server_name_.c_str());
  inside->async_handshake(asio::ssl::stream_base::client, [this, line](asio::error_code error) {
    if (error == asio::error::operation_aborted) return;
    if (!distrust_.empty()) throw std::runtime_error(distrust_);
    if (is_no_tls(error)) throw std::runtime_error("--connect " + server_ + ": " + told_to_device(refusal::tls_client));
    error ? dial_later("TLS: " + error.message() + (is_alert(error) ? "" : perhaps_plain)) : begin(line);
  });
}

void device_link::begin(std::shared_ptr<connection> line) {
  line_ = std::move(line);
  heard_ = false;
  missing_ = "the server does not answer";
  line_->start({[this](frame message) { take(std::move(message)); }, [this] { lost(line_->error()); }});
  admitted_ = false;
  if (!key_) return admit();
  opening_ = {device_, random_bytes<key_nonce>()};
  line_->send(opening_frame(opening_));
}

void device_link::admit() {
  admitted_ = true;
  events_.on_connect();
}

//! Proves the device's key only after the server has proven that it has the key. The device sends no message before
//! that.
void device_link::prove(const frame& challenge) {
  const auto answer = answer_to(challenge, opening_, *key_);
  if (!answer)
    throw std::runtime_error("--connect " + server_ +
                             ": the server does not prove that it has this device's key; check --device-id and "
                             "--device-key-file, and whether --connect is the right server");
  line_->send(*answer);
  admit();
}

//! Takes a message. If the server refuses the session, the device prints the reason and ends, unless the refusal may be
//! temporary.
void device_link::take(frame message) {
  heard_ = true;
  const std::optional<refusal> why = refused(message, hello_);
  if (!why && !admitted_) return prove(message);
  if (!why) {
    useful_ = useful_ || is_useful(message);
    if (useful_) give_up_.cancel();
    missing_ = "the server answers only hellos";
    return events_.on_frame(std::move(message));
  }
  const std::string said = "the server refuses " + told_to_device(*why);
  const bool again = may_begin_again(*why) && ++failures_ <= most_failures;
  if (!again && !may_pass(*why)) throw std::runtime_error(said);
  std::fprintf(stderr, "%s\n", said.c_str());
  pause_ = std::max(pause_, std::chrono::milliseconds(1000));
}

void device_link::lost(asio::error_code why) {
  if (is_about_certificate(why))
    throw std::runtime_error("the server does not accept this device's certificate (" + why.message() +
                             "); check --tls-certificate");
  line_.reset();
  if (useful_) {
    since_ = std::chrono::steady_clock::now();
    pause_ = first_pause;
    noted_ = false;
  }
  useful_ = false;
  dial_later(std::string("the server closed the connection") + (heard_ || tls_ ? "" : perhaps_tls));
  events_.on_loss();
}

void device_link::dial_later(const std::string& why) {
  missing_ = why;
  if (!noted_) std::fprintf(stderr, "--connect %s: %s; trying again\n", server_.c_str(), why.c_str());
  noted_ = true;
  asio::error_code ignored;
  dialing_.close(ignored);
  redial_.expires_after(pause_);
  pause_ = std::min(2 * pause_, std::chrono::milliseconds(2000));
  redial_.async_wait([this](asio::error_code error) {
    if (!error) dial();
  });
}

int run_device_process(run_settings run, const device_settings& settings) {
  const specverify::system_info needed = chosen_system(run.system).info();
  if (needed.needs_head || needed.needs_network)
    throw std::runtime_error("--system " + run.system +
                             " needs trained files that the server does not have; choose another system");
  check_device(settings);
  const state_folder folder(run.state);
  run.session_id = folder.session_id(settings.session_id);
  run.edge_secret = folder.secret(settings.secret);
  const make_link dial = [&settings](asio::io_context& io, link_events events) {
    return std::make_unique<device_link>(io, settings, std::move(events));
  };
  const make_link slow = [&](asio::io_context& io, link_events events) {
    return std::make_unique<emulated_link>(io, run.link, std::move(events), dial);
  };
  try {
    return settings.emulate_link ? run_delivered_edge(run, slow) : run_edge_process(run, dial);
  } catch (const session_failure& failure) {
    if (failure.refusal().ok()) throw;
    throw std::runtime_error("the server refuses " + told_to_device(failure.refusal()));
  }
}

}  // namespace edge_cloud
