// SPDX-License-Identifier: Apache-2.0
//! Delivers the frames in flight in one direction of an emulated link.
#ifndef EDGE_CLOUD_LINK_DIRECTION_HPP
#define EDGE_CLOUD_LINK_DIRECTION_HPP

#include "frame.hpp"
#include "link_lane.hpp"

#include <asio.hpp>

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace edge_cloud {

//! Delivers each frame when its last bit arrives, unless the frame is lost. `accept` must be called on the context's
//! thread.
class link_direction {
 public:
  link_direction(asio::io_context& io, link_lane lane, std::function<void(const frame&)> deliver)
      : lane_(std::move(lane)), timer_(io), deliver_(std::move(deliver)) {}

  void accept(frame message) {
    const passage way = schedule(framed_bytes(message.size()));
    if (way.lost) return;
    flying_.push_back({way.arrival, std::move(message)});
    if (flying_.size() == 1) wait();
  }

  void begin_trace(std::uint64_t origin) {
    const std::lock_guard lock(guard_);
    lane_.begin_trace(origin);
  }

  [[nodiscard]] lane_counters counters() const {
    const std::lock_guard lock(guard_);
    return lane_.counters();
  }

 private:
  struct flight {
    time_point arrival;
    frame message;
  };

  passage schedule(std::uint64_t bytes) {
    const std::lock_guard lock(guard_);
    return lane_.send(std::chrono::steady_clock::now(), bytes);
  }

  void wait() {
    timer_.expires_at(flying_.front().arrival);
    timer_.async_wait([this](asio::error_code error) {
      if (error) return;
      while (!flying_.empty() && flying_.front().arrival <= std::chrono::steady_clock::now()) {
        deliver_(flying_.front().message);
        flying_.pop_front();
      }
      if (!flying_.empty()) wait();
    });
  }

  mutable std::mutex guard_;
  link_lane lane_;
  asio::steady_timer timer_;
  std::function<void(const frame&)> deliver_;
  std::deque<flight> flying_;
};

}  // namespace edge_cloud

#endif
