// SPDX-License-Identifier: Apache-2.0
#include "cloud_process.hpp"

#include "cloud_host.hpp"
#include "delivered_end.hpp"
#include "framed_server.hpp"
#include "pace.hpp"

namespace edge_cloud {

namespace {

class cloud_process {
 public:
  cloud_process(const run_settings& run, const side_model& model, std::uint16_t port)
      : end_(io_, SIGTERM, SIGINT),
        host_(run, model, [this](std::span<const std::byte> message) { delivered_.send(message); }),
        delivered_(io_, specverify::delivery_side::server, 0, 1,
                   {[this](std::span<const std::byte> datagram) { link_.send(datagram); },
                    [this](const frame& message) { host_.receive(message), work_later(); }}),
        link_(io_, port, [this](const frame& datagram) { delivered_.receive(datagram); }) {
    end_.async_wait([this](asio::error_code, int) { io_.stop(); });
  }

  run_report run() {
    io_.run();
    return host_.report();
  }

 private:
  //! Runs one step of the engine per call, so that pending messages are sent before the next step.
  void work_later() {
    if (!host_.has_work() || planned_) return;
    planned_ = true;
    asio::post(io_, [this] {
      planned_ = false;
      if (host_.has_work()) host_.work();
      work_later();
    });
  }

  asio::io_context io_{1};
  asio::signal_set end_;
  cloud_host host_;
  delivered_end delivered_;
  framed_server link_;
  bool planned_ = false;
};

}  // namespace

int run_cloud_process(const run_settings& run, std::uint16_t port) {
  side_model model = load_side(run.models, "target.safetensors", run.prior);
  model.pass_seconds = paced(run.pace, paper_cloud_pass);
  cloud_process process(run, model, port);
  save(process.run(), run.state / "report.json");
  return 0;
}

}  // namespace edge_cloud
