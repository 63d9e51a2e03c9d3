// SPDX-License-Identifier: Apache-2.0
#include "serve_process.hpp"

#include "../clock.hpp"
#include "../pace.hpp"
#include "open_files.hpp"
#include "private_file.hpp"
#include "serve_guests.hpp"
#include "state_folder.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>

namespace edge_cloud {

namespace {

known_devices devices_of(const serve_settings& settings) {
  if (settings.devices.empty()) return {};
  return of_option("--devices", [&]() -> known_devices {
    if (settings.tls.peer_authority.empty()) return {load_device_keys(settings.devices), std::nullopt};
    return {std::nullopt, load_device_list(settings.devices)};
  });
}

//! Throws std::runtime_error with the option's name if the port is in use or the address is not one of this machine.
asio::ip::tcp::acceptor listening(asio::io_context& io, const serve_settings& settings) {
  const asio::ip::tcp::endpoint where = checked_endpoint(settings);
  try {
    return {io, where};
  } catch (const asio::system_error& error) {
    const std::string place = where.address().to_string() + ", --port " + std::to_string(where.port()) + ": ";
    const char* const option = settings.insecure_listen.empty() ? "--listen " : "--insecure-listen ";
    std::string why = error.code().message();
    if (error.code() == asio::error::address_in_use) why = "another process listens there; give another --port";
    if (error.code().value() == EADDRNOTAVAIL) why = "this machine does not have the address";
    throw std::runtime_error(option + place + why);
  }
}

class serve_process {
 public:
  serve_process(const run_settings& run, const serve_settings& settings, const side_model& model)
      : run_(run),
        settings_(settings),
        known_(devices_of(settings)),
        engines_(model, settings.limits.engines),
        rates_(settings.limits),
        parts_{run_,         model, settings.limits, engines_, rates_, settings.strict_restore, settings.required,
               settings.sync},
        sessions_(parts_, log_, microseconds_now()),
        guests_(settings.limits, known_, server_tls(settings.tls), rates_, log_,
                [this](const std::shared_ptr<visitor>& from, const frame& message) { return take(from, message); }),
        end_(io_, SIGTERM, SIGINT),
        reload_(io_, SIGHUP),
        acceptor_(listening(io_, settings)),
        tick_(io_) {
    end_.async_wait([this](asio::error_code, int) { io_.stop(); });
  }

  void run() {
    const std::uint16_t port = acceptor_.local_endpoint().port();
    log_.event("listens on " + acceptor_.local_endpoint().address().to_string() + " port " + std::to_string(port) +
                   (settings_.tls.wanted() ? ", TLS 1.3" : ", without TLS"),
               microseconds_now());
    warn_of_open_files();
    write(run_.state / "port.new", std::to_string(port));
    std::filesystem::rename(run_.state / "port.new", run_.state / "port");
    accept();
    tick();
    reload_later();
    work_later();
    io_.run();
    guests_.close_all();
    log_.summarize(microseconds_now() + 1'000'000);  // the sum includes the current second
    save_report();
  }

 private:
  void accept() {
    accepting_ = true;
    acceptor_.async_accept([this](asio::error_code error, asio::ip::tcp::socket socket) {
      accepting_ = false;
      if (error) return log_.refused(refusal::descriptors, error.message(), microseconds_now());  // the tick continues
      try {
        guests_.adopt(std::move(socket), microseconds_now());
      } catch (const std::exception& failure) {  // the error concerns only this connection
        log_.failure(std::string("a connection was not accepted: ") + failure.what(), microseconds_now());
      }
      accept();
    });
  }

  void tick() {
    tick_.expires_after(std::chrono::milliseconds(500));
    tick_.async_wait([this](asio::error_code error) {
      if (error) return;
      const std::uint64_t now = microseconds_now();
      guests_.sweep(now);
      sessions_.sweep(now);
      rates_.sweep(now);
      log_.summarize(now);
      if (!accepting_) accept();
      work_later();  // a turn may be over because the session has been idle
      tick();
    });
  }

  //! Reloads the list of devices and the TLS certificates. If a file cannot be read, nothing changes.
  void reload() {
    const std::uint64_t now = microseconds_now();
    try {
      known_devices known = devices_of(settings_);
      std::shared_ptr<asio::ssl::context> tls = server_tls(settings_.tls);
      std::swap(known_, known);
      guests_.change(known, std::move(tls));
      log_.event("SIGHUP: devices and certificates are read again", now);
    } catch (const std::exception& error) {
      log_.failure(std::string("SIGHUP: ") + error.what() + "; the previous devices and certificates stay in use", now);
    }
  }

  void reload_later() {
    reload_.async_wait([this](asio::error_code error, int) {
      if (error) return;
      reload();
      reload_later();
    });
  }

  refusal take(const std::shared_ptr<visitor>& from, const frame& message) {
    const refusal why = sessions_.receive(from, message, microseconds_now());
    work_later();
    return why;
  }

  //! Posts one engine pass if none is posted, so that new messages are handled before the next pass.
  void work_later() {
    if (planned_ || !sessions_.has_work(microseconds_now())) return;
    planned_ = true;
    asio::post(io_, [this] {
      planned_ = false;
      if (const std::uint64_t now = microseconds_now(); sessions_.has_work(now)) sessions_.work(now);
      work_later();
    });
  }

  void warn_of_open_files() {
    const serve_limits& limits = parts_.limits;
    const std::uint64_t most =
        std::max<std::uint64_t>(limits.sessions, std::uint64_t{limits.connections} + limits.half_open);
    if (most <= limits.open_files) return;
    log_.event("the operating system allows " + std::to_string(limits.open_files) +
                   " connections and as many sessions, less than other limits; raise it with ulimit -n",
               microseconds_now());
  }

  void save_report() {
    nlohmann::ordered_json report;
    report["peak_sessions"] = sessions_.peak();
    report["peak_connections"] = guests_.peak_connections();
    report["peak_unsent"] = guests_.peak_unsent();
    report["peak_unsent_in_all"] = guests_.peak_unsent_in_all();
    report["peak_disk"] = sessions_.disk().peak;
    report["engines"] = engines_.made();
    report["tokens_fed"] = engines_.fed();
    for (std::size_t i = 1; i < refusal_table.size(); ++i)
      report["refused"][std::string(refusal_table[i].name)] = log_.count(static_cast<refusal>(i));
    write(run_.state / "report.json", report.dump(2));
  }

  void write(const std::filesystem::path& file, const std::string& text) const {
    std::ofstream out(file);
    out << text << '\n' << std::flush;
    if (!out) throw std::runtime_error("--state-dir: cannot write " + file.string());
  }

  run_settings run_;
  serve_settings settings_;
  known_devices known_;
  asio::io_context io_{1};
  serve_log log_;
  engine_pool engines_;
  device_rates rates_;
  serve_parts parts_;
  served_sessions sessions_;
  serve_guests guests_;
  asio::signal_set end_, reload_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer tick_;
  bool accepting_ = false;
  bool planned_ = false;
};

}  // namespace

int run_serve_process(run_settings run, serve_settings settings) {
  (void)checked_endpoint(settings);  // checked first, because loading the model takes time
  settings.limits.open_files = share_of_open_files(raised_open_files());
  // If the log's pipe is broken, or a file reaches the system's limit, a write must return an error and must not end
  // the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const state_folder folder(run.state);
  std::filesystem::remove(run.state / "port");
  run.cloud_secret = folder.secret(settings.secret);
  side_model model = load_side(run.models, "target.safetensors", run.prior);
  model.pass_seconds = paced(run.pace, paper_cloud_pass);
  serve_process(run, settings, model).run();
  return 0;
}

}  // namespace edge_cloud
