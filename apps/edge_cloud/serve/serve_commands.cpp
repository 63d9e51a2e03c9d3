// SPDX-License-Identifier: Apache-2.0
#include "serve_commands.hpp"

#include "../prior_option.hpp"
#include "../side_options.hpp"
#include "../stop_option.hpp"
#include "../systems.hpp"
#include "device_link.hpp"
#include "serve_process.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <map>
#include <string>

#include <sys/prctl.h>

namespace edge_cloud {

struct serve_commands::options {
  run_settings server_run, device_run;
  serve_settings server;
  device_settings device;
  bool end_with_parent = false;
};

namespace {

template <class Number>
void limit(CLI::App& app, const char* name, Number& value, Number least, Number most, const char* help) {
  app.add_option(name, value, help)->capture_default_str()->check(CLI::Range(least, most))->group("Limits");
}

void add_limits(CLI::App& app, serve_limits& limits) {
  constexpr std::uint32_t many = 1u << 20, day = 86400;
  limit(app, "--sessions", limits.sessions, 1u, many, "maximum number of sessions across all devices");
  limit(app, "--sessions-of-device", limits.sessions_of_device, 1u, many, "maximum number of sessions per device");
  limit(app, "--connections", limits.connections, 1u, many,
        "maximum number of authenticated connections across all devices");
  limit(app, "--connections-of-device", limits.connections_of_device, 1u, many,
        "maximum number of authenticated connections per device");
  limit(app, "--half-open", limits.half_open, 1u, many, "maximum number of unauthenticated connections");
  limit(app, "--half-open-of-address", limits.half_open_of_address, 1u, many,
        "maximum number of unauthenticated connections per network address");
  limit(app, "--first-frame-seconds", limits.first_frame_seconds, 1u, day,
        "seconds after which a connection is closed if the device has not authenticated");
  limit(app, "--idle-connection-seconds", limits.idle_connection_seconds, 1u, day,
        "seconds after which a connection is closed if no complete frame arrives");
  limit(app, "--idle-session-seconds", limits.idle_session_seconds, 1u, 365 * day,
        "seconds after which the server deletes a session whose device sends no message");
  limit(app, "--frame-bytes", limits.frame_bytes, 1u << 10, 1u << 22, "maximum size of a frame in bytes");
  limit(app, "--unsent-bytes", limits.unsent_bytes, 1u << 15, 1u << 30,
        "maximum number of unsent bytes per connection");
  limit(app, "--unsent-in-all", limits.unsent_in_all, 1u << 15, 1u << 30,
        "maximum number of unsent bytes across all connections");
  limit(app, "--useless-frames", limits.useless_frames, 0u, many,
        "maximum number of invalid or refused frames per connection");
  limit(app, "--handshakes-of-device", limits.handshakes_of_device, 1u, many,
        "maximum number of new connections and hello messages per device per second");
  limit(app, "--written-of-device", limits.written_of_device, std::uint64_t{1} << 12, std::uint64_t{1} << 40,
        "maximum bytes written to journals per device per second");
  limit(app, "--draft-length", limits.draft_length, 1u, most_drafts, "maximum number of draft tokens per message");
  limit(app, "--journal-bytes", limits.journal_bytes, 1u << 10, 1u << 30, "maximum size of a session's files in bytes");
  limit(app, "--disk-bytes", limits.disk_bytes, std::uint64_t{1} << 14, std::uint64_t{1} << 50,
        "maximum disk space across all sessions, in bytes");
  limit(app, "--damaged-bytes", limits.damaged_bytes, std::uint64_t{0}, std::uint64_t{1} << 50,
        "maximum disk space of damaged journals, in bytes; the oldest is deleted first");
  limit(app, "--engines", limits.engines, 1u, many, "number of key-value caches that sessions share");
}

void add_tls(CLI::App& app, tls_settings& tls, const char* authority, const char* help) {
  app.add_option("--tls-certificate", tls.certificate, "PEM file with the certificate of this program")
      ->group("TLS 1.3");
  app.add_option("--tls-key", tls.key,
                 "PEM file with the private key of the certificate; only its owner may read the file (chmod 600)")
      ->group("TLS 1.3");
  app.add_option(authority, tls.peer_authority, help)->group("TLS 1.3");
}

void add_state(CLI::App& app, run_settings& run, std::filesystem::path& secret, bool& end_with_parent) {
  app.add_option("--state-dir", run.state,
                 "folder for the secret, the journals and the report; to resume, restart with the same folder")
      ->required();
  app.add_option(
      "--secret-file", secret,
      "file with the secret key of this program, as 32 hex digits; default: the file `secret` in the state folder; "
      "if that is missing, it is created with a random key");
  app.add_flag("--end-with-parent", end_with_parent, "exit when the parent process exits");
}

void add_serve(CLI::App& app, run_settings& run, serve_settings& server, bool& end_with_parent) {
  CLI::App& serve = *app.add_subcommand("serve", "run the large model as a server for many devices");
  add_model_options(serve, run);
  add_prior_option(serve, run.prior, "used for devices with the same table");
  add_salt_option(serve, run);
  add_state(serve, run, server.secret, end_with_parent);
  serve.add_option("--port", server.port, "TCP port to listen on; 0: any free port")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  serve
      .add_option("--listen", server.listen, "IP address to listen on; an address other than the loopback requires TLS")
      ->capture_default_str();
  serve.add_option("--insecure-listen", server.insecure_listen,
                   "IP address to listen on without TLS; anybody on the network path can read and change the texts");
  serve.add_option("--devices", server.devices,
                   "file with one device per line: `DEVICE-ID KEY` (KEY has 64 hex digits), or only `DEVICE-ID` with "
                   "--tls-client-ca");
  add_tls(serve, server.tls, "--tls-client-ca",
          "PEM file with the certificate of the authority that signs device certificates; without --devices, every "
          "device with such a certificate is accepted");
  const std::map<std::string, specverify::guarantee> guarantees{
      {"lossy", specverify::guarantee::lossy},
      {"honest_drafter", specverify::guarantee::honest_drafter},
      {"unconditional", specverify::guarantee::unconditional}};
  serve
      .add_option_function<std::string>(
          "--required", [&server, guarantees](const std::string& name) { server.required = guarantees.at(name); },
          "refuse sessions with a weaker guarantee than this; unconditional implies --sync")
      ->default_str("lossy")
      ->check(CLI::IsMember(guarantees));
  serve.add_flag("--sync", server.sync,
                 "sync each journal record to disk before a message that depends on the record is sent");
  serve.add_flag("--strict-restore", server.strict_restore,
                 "exit if a journal cannot be restored; default: move the journal to the folder `damaged` and start");
  add_limits(serve, server.limits);
}

void add_device(CLI::App& app, run_settings& run, device_settings& device, bool& end_with_parent) {
  CLI::App& command = *app.add_subcommand("device", "run the small model as a device, which connects to `serve`");
  add_model_options(command, run);
  add_prior_option(command, run.prior, "the server needs the same table");
  add_tokens_option(command, run);
  // If the device never asked again, it could not detect a peer that has become silent, so 0 is not allowed.
  add_retry_option(command, run)->check(CLI::Range(1u, 86'400'000u));
  add_state(command, run, device.secret, end_with_parent);
  command.add_option("--connect", device.server, "address of the server, as HOST:PORT")->capture_default_str();
  add_system_option(command, run);
  command.add_option("--prompt", run.prompt, "text to continue")->capture_default_str();
  add_stop_option(command, run.stop_strings);
  command.add_option("--session-id", device.session_id, "session id; default: random, stored in the state folder")
      ->check(whole_number());
  command
      .add_option("--device-id", device.device,
                  "id of this device in the server's --devices file; required with --device-key-file")
      ->check(whole_number());
  command.add_option(
      "--device-key-file", device.key,
      "file with the key of this device, as 64 hex digits; give either this option or --tls-certificate");
  command
      .add_option("--connect-seconds", device.connect_seconds,
                  "seconds after which the device exits if it gets no valid answer from the server")
      ->capture_default_str()
      ->check(CLI::Range(1u, 365u * 86'400u));
  command.add_option("--pad-to", run.pad_to, "pad messages to a multiple of this many bytes; 1: no padding")
      ->capture_default_str()
      ->check(CLI::Range(1u, 4096u));
  command.add_option("--tls-name", device.server_name,
                     "name that the server's certificate must contain; default: the host of --connect");
  command.add_flag("--emulate-link", device.emulate_link,
                   "delay and drop messages as a slow link does; --up-kbit, --rtt-ms and so on set its properties");
  add_link_options(command, run.link);
  add_tls(command, device.tls, "--tls-ca",
          "PEM file with the certificate of the authority that signs the server's certificate; required for TLS");
}

}  // namespace

serve_commands::serve_commands() : options_(std::make_unique<options>()) {}
serve_commands::~serve_commands() = default;

void serve_commands::add_to(CLI::App& app) {
  add_serve(app, options_->server_run, options_->server, options_->end_with_parent);
  add_device(app, options_->device_run, options_->device, options_->end_with_parent);
}

std::optional<int> serve_commands::run(const CLI::App& app) {
  const bool serves = app.got_subcommand("serve");
  if (!serves && !app.got_subcommand("device")) return std::nullopt;
  if (options_->end_with_parent) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (serves) return run_serve_process(options_->server_run, options_->server);
  run_settings& run = options_->device_run;
  run.system = with_settings({run.system}, run.set).front();
  check_prior_use(run.prior, {&run.system, 1});
  return run_device_process(run, options_->device);
}

}  // namespace edge_cloud
