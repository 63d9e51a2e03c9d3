// SPDX-License-Identifier: Apache-2.0
#include "edge_process.hpp"

#include "clock.hpp"
#include "edge_host.hpp"
#include "framed_client.hpp"
#include "pace.hpp"
#include "trained_files.hpp"

#include <string>

namespace edge_cloud {

namespace {

class edge_process {
 public:
  edge_process(const run_settings& run, const side_model& model, std::uint16_t port)
      : screen_(stdout),
        deadline_(io_),
        host_(
            run, model, [this](std::span<const std::byte> message) { link_.send(message); },
            [this](token_kind kind, std::string_view piece, bool restored) { show(kind, piece, restored); }),
        link_(
            io_, {asio::ip::address_v4::loopback(), port},
            [this](const frame& message) { host_.receive(message), after_input(); }, [this] { connected(); },
            [this] { host_.disconnect(), after_input(); }) {}

  run_report run() {
    io_.run();
    return host_.report();
  }

 private:
  void connected() {
    began_ ? host_.reconnect() : host_.begin();
    began_ = true;
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

  //! The last message (stop) gets a moment to leave.
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
  edge_host host_;
  framed_client link_;
  bool began_ = false;
};

}  // namespace

int run_edge_process(const run_settings& run, std::uint16_t port) {
  require_files(system_named(run.system), run);
  side_model model = load_side(run.models, "drafter.safetensors");
  model.pass_seconds = paced(run.pace, paper_edge_pass);
  edge_process process(run, model, port);
  save(process.run(), run.state / "report.json");
  return 0;
}

}  // namespace edge_cloud
