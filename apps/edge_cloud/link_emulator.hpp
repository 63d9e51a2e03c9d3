// SPDX-License-Identifier: Apache-2.0
//! Emulates a slow link between the edge and the cloud with a proxy on the loopback interface: a rate for each
//! direction, round-trip time, jitter and loss. The edge connects to the emulator, and the emulator connects to the
//! cloud. The emulator runs on its own thread; both peers may disconnect and return.
#ifndef EDGE_CLOUD_LINK_EMULATOR_HPP
#define EDGE_CLOUD_LINK_EMULATOR_HPP

#include "framed_client.hpp"
#include "framed_server.hpp"
#include "link_direction.hpp"

#include <atomic>
#include <thread>

namespace edge_cloud {

class link_emulator {
 public:
  //! Listens on `listen_port` (0: a free port) and forwards to the cloud on `cloud_port`, both on the loopback.
  link_emulator(const link_settings& settings, std::uint16_t cloud_port, std::uint16_t listen_port = 0)
      : up_(io_, {uplink(settings), settings.seed, 0}, [this](const frame& message) { cloud_.send(message); }),
        down_(io_, {downlink(settings), settings.seed, 1}, [this](const frame& message) { edge_.send(message); }),
        edge_(io_, listen_port, [this](frame message) { up_.accept(std::move(message)); }),
        cloud_(
            io_, {asio::ip::address_v4::loopback(), cloud_port},
            [this](frame message) { down_.accept(std::move(message)); }, [this] { reached_cloud_ = true; }),
        port_(edge_.port()),
        thread_([this] { io_.run(); }) {}

  ~link_emulator() {
    io_.stop();
    thread_.join();
  }
  link_emulator(const link_emulator&) = delete;
  link_emulator& operator=(const link_emulator&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  //! Returns whether the cloud has accepted a connection at least once.
  [[nodiscard]] bool reached_cloud() const noexcept { return reached_cloud_; }
  //! If the link follows a trace, the first step begins at this time of the steady clock, in microseconds.
  void begin_trace(std::uint64_t origin) {
    up_.begin_trace(origin);
    down_.begin_trace(origin);
  }
  [[nodiscard]] lane_counters up() const { return up_.counters(); }
  [[nodiscard]] lane_counters down() const { return down_.counters(); }

 private:
  asio::io_context io_{1};
  link_direction up_;
  link_direction down_;
  std::atomic<bool> reached_cloud_{false};
  framed_server edge_;
  framed_client cloud_;
  std::uint16_t port_;
  std::thread thread_;
};

}  // namespace edge_cloud

#endif
