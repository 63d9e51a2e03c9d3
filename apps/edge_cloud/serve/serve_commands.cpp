// SPDX-License-Identifier: Apache-2.0
#include "serve_commands.hpp"

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
  limit(app, "--sessions", limits.sessions, 1u, many, "sessions kept at once");
  limit(app, "--sessions-of-device", limits.sessions_of_device, 1u, many, "of them, of one device");
  limit(app, "--connections", limits.connections, 1u, many, "connections of known devices");
  limit(app, "--connections-of-device", limits.connections_of_device, 1u, many, "of them, of one device");
  limit(app, "--half-open", limits.half_open, 1u, many, "connections whose device is not known yet");
  limit(app, "--half-open-of-address", limits.half_open_of_address, 1u, many, "of them, of one address");
  limit(app, "--first-frame-seconds", limits.first_frame_seconds, 1u, day, "until the device has to be known");
  limit(app, "--idle-connection-seconds", limits.idle_connection_seconds, 1u, day, "without a whole frame");
  limit(app, "--idle-session-seconds", limits.idle_session_seconds, 1u, 365 * day, "without a message");
  limit(app, "--frame-bytes", limits.frame_bytes, 1u << 10, 1u << 22, "of a frame");
  limit(app, "--unsent-bytes", limits.unsent_bytes, 1u << 15, 1u << 30, "that wait for a connection");
  limit(app, "--unsent-in-all", limits.unsent_in_all, 1u << 15, 1u << 30, "that wait for all of them");
  limit(app, "--useless-frames", limits.useless_frames, 0u, many, "of a connection");
  limit(app, "--handshakes-of-device", limits.handshakes_of_device, 1u, many,
        "connections and hellos of one device per second");
  limit(app, "--written-of-device", limits.written_of_device, std::uint64_t{1} << 12, std::uint64_t{1} << 40,
        "bytes of journals of one device per second");
  limit(app, "--draft-length", limits.draft_length, 1u, most_drafts, "drafts of a message");
  limit(app, "--journal-bytes", limits.journal_bytes, 1u << 10, 1u << 30, "of a session, on disk");
  limit(app, "--disk-bytes", limits.disk_bytes, std::uint64_t{1} << 14, std::uint64_t{1} << 50, "of all, on disk");
  limit(app, "--damaged-bytes", limits.damaged_bytes, std::uint64_t{0}, std::uint64_t{1} << 50, "of damaged journals");
  limit(app, "--engines", limits.engines, 1u, many, "caches of the model");
}

void add_tls(CLI::App& app, tls_settings& tls, const char* authority, const char* help) {
  app.add_option("--tls-certificate", tls.certificate, "of this side, PEM")->group("TLS 1.3");
  app.add_option("--tls-key", tls.key, "of that certificate, PEM; for its owner alone (chmod 600)")->group("TLS 1.3");
  app.add_option(authority, tls.peer_authority, help)->group("TLS 1.3");
}

void add_state(CLI::App& app, run_settings& run, std::filesystem::path& secret, bool& end_with_parent) {
  app.add_option("--state-dir", run.state, "secret, journals and report; started again with it, the process resumes")
      ->required();
  app.add_option("--secret-file", secret, "32 hex digits; default: the state folder's `secret`, made at random");
  app.add_flag("--end-with-parent", end_with_parent, "end when the process that started this one ends");
}

void add_serve(CLI::App& app, run_settings& run, serve_settings& server, bool& end_with_parent) {
  CLI::App& serve = *app.add_subcommand("serve", "the large model, for devices that nobody knows");
  add_model_options(serve, run);
  add_salt_option(serve, run);
  add_state(serve, run, server.secret, end_with_parent);
  serve.add_option("--port", server.port, "to listen on; 0: a free one")
      ->capture_default_str()
      ->check(CLI::Range(0, 65535));
  serve.add_option("--listen", server.listen, "address to listen on; with TLS it may be any")->capture_default_str();
  serve.add_option("--insecure-listen", server.insecure_listen, "any address, without TLS: everybody on the way reads");
  serve.add_option("--devices", server.devices,
                   "file of lines `DEVICE-ID KEY`, a key of 64 hex digits; with --tls-client-ca `DEVICE-ID`");
  add_tls(serve, server.tls, "--tls-client-ca",
          "who signs certificates of devices; --devices then lists which of them may speak");
  const std::map<std::string, specverify::guarantee> guarantees{
      {"lossy", specverify::guarantee::lossy},
      {"honest_drafter", specverify::guarantee::honest_drafter},
      {"unconditional", specverify::guarantee::unconditional}};
  serve
      .add_option_function<std::string>(
          "--required", [&server, guarantees](const std::string& name) { server.required = guarantees.at(name); },
          "weakest guarantee that a session may have; unconditional implies --sync")
      ->default_str("lossy")
      ->check(CLI::IsMember(guarantees));
  serve.add_flag("--sync", server.sync, "journal records are on the disk before the messages that follow from them");
  serve.add_flag("--strict-restore", server.strict_restore,
                 "end if a session cannot be restored; default: set it aside and start");
  add_limits(serve, server.limits);
}

void add_device(CLI::App& app, run_settings& run, device_settings& device, bool& end_with_parent) {
  CLI::App& command = *app.add_subcommand("device", "the small model, on a device of such a server");
  add_model_options(command, run);
  add_tokens_option(command, run);
  // Asking again detects a peer that has become silent.
  add_retry_option(command, run)->check(CLI::Range(1u, 86'400'000u));
  add_state(command, run, device.secret, end_with_parent);
  command.add_option("--connect", device.server, "HOST:PORT of the server")->capture_default_str();
  add_system_option(command, run);
  command.add_option("--prompt", run.prompt, "text to continue")->capture_default_str();
  add_stop_option(command, run.stop_strings);
  command
      .add_option("--session-id", device.session_id,
                  "one id, one text; default: a random one, which the state folder keeps")
      ->check(whole_number());
  command.add_option("--device-id", device.device, "of this device, with --device-key-file")->check(whole_number());
  command.add_option("--device-key-file", device.key, "64 hex digits; not needed where the certificate says who it is");
  command.add_option("--connect-seconds", device.connect_seconds, "gives up after so long without an answer of use")
      ->capture_default_str()
      ->check(CLI::Range(1u, 365u * 86'400u));
  command.add_option("--pad-to", run.pad_to, "messages of both sides are padded to a multiple of so many bytes")
      ->capture_default_str()
      ->check(CLI::Range(1u, 4096u));
  command.add_option("--tls-name", device.server_name, "name in the server's certificate; default: the host");
  command.add_flag("--emulate-link", device.emulate_link, "messages go over the link that these options describe");
  add_link_options(command, run.link);
  add_tls(command, device.tls, "--tls-ca", "who signed the server's certificate, PEM");
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
  return run_device_process(run, options_->device);
}

}  // namespace edge_cloud
