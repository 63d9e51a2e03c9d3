// SPDX-License-Identifier: Apache-2.0
//! Emulates the demo's link between two threads in real time, with the rates, round trip and jitter of
//! edge_cloud/link_lane.hpp.
#ifndef LLAMA_PAIR_EMULATED_PIPE_HPP
#define LLAMA_PAIR_EMULATED_PIPE_HPP

#include <specverify/core/status.hpp>

#include "edge_cloud/link_lane.hpp"

#include <array>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace llama_pair {

class emulated_pipe {
  using bytes = std::vector<std::byte>;
  struct arriving {
    edge_cloud::time_point at;
    bytes message;
  };

 public:
  //! A transport (host/language_model.hpp). `change` may alter a message. If it makes the message empty, the message is
  //! lost.
  class end {
   public:
    static constexpr bool ordered_and_whole = true;  // the link's settings have no loss

    end(emulated_pipe& pipe, std::size_t own) : pipe_(pipe), own_(own) {}
    end(const end&) = delete;
    end& operator=(const end&) = delete;

    [[nodiscard]] specverify::status send(std::span<const std::byte> message) {
      bytes copy(message.begin(), message.end());
      if (change) change(copy);
      const std::lock_guard lock(pipe_.mutex_);
      if (pipe_.closed_) return lost;
      if (copy.empty()) return {};
      const auto passage = pipe_.lanes_[own_].send(std::chrono::steady_clock::now(), copy.size() + 3);
      if (!passage.lost) pipe_.queues_[1 - own_].push_back({passage.arrival, std::move(copy)});
      pipe_.changed_.notify_all();
      return {};
    }
    [[nodiscard]] specverify::result<std::span<const std::byte>> receive(std::optional<std::uint64_t> until) {
      std::unique_lock lock(pipe_.mutex_);
      auto& queue = pipe_.queues_[own_];
      for (;;) {
        const auto now = std::chrono::steady_clock::now();
        if (!queue.empty() && queue.front().at <= now) break;
        if (pipe_.closed_ && queue.empty()) return lost;
        if (until && time_of(*until) <= now) return std::span<const std::byte>{};
        auto next = now + std::chrono::hours(1);
        if (until) next = std::min(next, time_of(*until));
        if (!queue.empty()) next = std::min(next, queue.front().at);
        pipe_.changed_.wait_until(lock, next);
      }
      heard_ = std::move(queue.front().message);
      queue.pop_front();
      return std::span<const std::byte>(heard_);
    }
    [[nodiscard]] std::uint64_t now() const {
      return static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
              .count());
    }

    std::function<void(bytes&)> change{};

   private:
    static constexpr specverify::status lost{specverify::errc::link_lost, specverify::part::host, 0};
    static edge_cloud::time_point time_of(std::uint64_t microseconds) {
      return edge_cloud::time_point(std::chrono::microseconds(microseconds));
    }
    emulated_pipe& pipe_;
    std::size_t own_;
    bytes heard_;
  };

  explicit emulated_pipe(const edge_cloud::link_settings& link)
      : lanes_{edge_cloud::link_lane(uplink(link), link.seed, 0), edge_cloud::link_lane(downlink(link), link.seed, 1)} {
  }

  //! Closes the pipe. Both sides receive the messages in flight, then link_lost.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  [[nodiscard]] std::uint64_t bytes_up() const { return lanes_[0].counters().bytes; }
  [[nodiscard]] std::uint64_t bytes_down() const { return lanes_[1].counters().bytes; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<edge_cloud::link_lane, 2> lanes_;
  std::array<std::deque<arriving>, 2> queues_;
  bool closed_ = false;
};

}  // namespace llama_pair

#endif
