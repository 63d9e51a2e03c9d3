// SPDX-License-Identifier: Apache-2.0
#include "edge_process.hpp"

#include "clock.hpp"
#include "delivered_link.hpp"
#include "edge_host.hpp"
#include "framed_client.hpp"
#include "pace.hpp"
#include "trained_files.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

namespace edge_cloud {

namespace {

//! Sends each frame unchanged over a loopback connection.
class loopback_link final : public edge_link {
 public:
  loopback_link(asio::io_context& io, std::uint16_t port, link_events events)
      : client_(io, {asio::ip::address_v4::loopback(), port}, std::move(events.on_frame), std::move(events.on_connect),
                std::move(events.on_loss)) {}
  void send(std::span<const std::byte> message) override { client_.send(message); }

 private:
  framed_client client_;
};

class edge_process {
 public:
  edge_process(const run_settings& run, const side_model& model, const make_link& link)
      : screen_(stdout),
        deadline_(io_),
        host_(
            run, model, [this](std::span<const std::byte> message) { link_->send(message); },
            [this](token_kind kind, std::string_view piece, bool restored) { show(kind, piece, restored); }),
        link_(link(io_, {[this](const frame& message) { host_.receive(message), after_input(); },
                         [this] { connected(); }, [this] { host_.disconnect(), after_input(); }})) {}

  void run() {
    interrupt_.async_wait([this](asio::error_code error, int) {
      if (!error) stop();
    });
    io_.run();
  }
  //! Saves the current text, even if it is incomplete. If this process has shown no text, it keeps the earlier report.
  void save_report(const std::filesystem::path& file) const {
    const run_report made = host_.report();
    if (host_.finished() || !made.text.empty()) save(made, file);
    if (host_.finished() && host_.has_prior_alone())
      std::fputs("the cloud does not have the table of --prior, so the ids were sent without it\n", stderr);
  }
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

 private:
  void connected() {
    began_ ? host_.reconnect() : host_.begin();
    began_ = true;
    after_input();
  }

  //! Handles Ctrl-C: sends stop, so that the cloud does not keep the session. A second Ctrl-C ends the process
  //! immediately.
  void stop() {
    interrupt_.clear();
    interrupted_ = true;
    if (!host_.stop()) return io_.stop();
    std::fputs("\nCtrl-C: telling the server that the text ends; Ctrl-C again ends this process at once\n", stderr);
    after_input();
  }

  void after_input() {
    if (host_.finished()) return finish();
    deadline_.cancel();
    const std::optional<std::uint64_t> due = host_.deadline();
    if (!due) return;
    deadline_.expires_at(at_microseconds(*due));
    deadline_.async_wait([this](asio::error_code error) {
      if (!error) host_.tick(), after_input();
    });
  }

  //! Waits for 20 ms, so that the last message can be sent.
  void finish() {
    deadline_.expires_after(std::chrono::milliseconds(20));
    deadline_.async_wait([this](asio::error_code error) {
      if (!error) io_.stop();
    });
  }

  void show(token_kind kind, std::string_view piece, bool restored) {
    if (piece.empty()) return;  // the end of the text
    restored ? screen_.note(piece) : screen_.token(kind, piece);
  }

  asio::io_context io_{1};
  live_text screen_;
  asio::steady_timer deadline_;
  asio::signal_set interrupt_{io_, SIGINT};
  edge_host host_;
  std::unique_ptr<edge_link> link_;
  bool began_ = false;
  bool interrupted_ = false;
};

}  // namespace

int run_edge_process(const run_settings& run, const make_link& link) {
  require_files(chosen_system(run.system), run);
  side_model model = load_side(run.models, "drafter.safetensors", run.prior);
  model.pass_seconds = paced(run.pace, paper_edge_pass);
  edge_process process(run, model, link);
  try {
    process.run();
  } catch (const std::exception& error) {
    process.save_report(run.state / "report.json");
    if (!process.interrupted()) throw;
    std::fprintf(stderr, "the server was not told that the text ends: %s\n", error.what());
    return 128 + SIGINT;
  }
  process.save_report(run.state / "report.json");
  return process.interrupted() ? 128 + SIGINT : 0;
}

int run_delivered_edge(run_settings run, const make_link& over) {
  // An edge that stops, or continues on its own, after a lost link must detect the loss quickly, so it retries only
  // once.
  const std::uint32_t retry_ms = run.retry_ms, retry_limit = run.on_link_loss == "wait" ? 8 : 1;
  run.retry_ms *= 8;  // delivery sends lost messages again, so the session can wait longer
  return run_edge_process(run, [&](asio::io_context& io, link_events events) {
    return std::make_unique<delivered_link>(io, retry_ms, retry_limit, std::move(events), over);
  });
}

int run_edge_process(const run_settings& run, std::uint16_t port) {
  return run_delivered_edge(run, [port](asio::io_context& io, link_events events) {
    return std::make_unique<loopback_link>(io, port, std::move(events));
  });
}

}  // namespace edge_cloud
