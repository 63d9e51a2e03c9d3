// SPDX-License-Identifier: Apache-2.0
//! Connects two threads of one process with a blocking transport, for examples and tests. The edge uses one end and the
//! cloud the other.
//!
//! The pipe has its own clock, in microseconds from 0, which does not advance while a side works. If both sides wait,
//! the clock jumps to the earlier deadline, so timeouts need no sleep and a run is repeatable. If both wait without a
//! deadline, `receive` returns link_lost to both.
//! Guarantees: messages arrive whole, once and in order. If one end is destroyed, the other end first receives the
//!             messages sent before, and then link_lost. `edge` and `cloud` can make the destroyed end again.
//! Cost:       O(bytes); allocates.
//! See:        docs/algorithms/host.md, tests/unit/testing/message_pipe_test.cpp, examples/quickstart.cpp
#ifndef SPECVERIFY_TESTING_MESSAGE_PIPE_HPP
#define SPECVERIFY_TESTING_MESSAGE_PIPE_HPP

#include <specverify/core/status.hpp>
#include <specverify/cpp20.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <specverify/core/foreign_macros_off.def>
SPECVERIFY_NAMESPACE_BEGIN

class message_pipe {
  struct side {
    std::deque<std::vector<std::byte>> arrived;
    std::optional<std::uint64_t> until;  // deadline of the current wait
    bool open = false;
    bool waits = false;
  };

 public:
  //! Transport of one side (host/language_model.hpp). Only one thread may use it at a time, because it stores the last
  //! message. The pipe must outlive this object.
  class end {
   public:
    static constexpr bool ordered_and_whole = true;

    ~end() {
      if (pipe_ != nullptr) pipe_->close(own_);
    }
    end(end&& other) noexcept : pipe_(other.pipe_), own_(other.own_), message_(std::move(other.message_)) {
      other.pipe_ = nullptr;
    }
    end& operator=(end&&) = delete;

    //! Sends a message. Errors: link_lost (the other end is gone).
    [[nodiscard]] status send(std::span<const std::byte> message) { return pipe_->send(own_, message); }
    //! Waits for a message. Returns an empty span if none has arrived by `until`. Errors: link_lost (the other end is
    //! gone, or both ends would wait forever).
    [[nodiscard]] result<std::span<const std::byte>> receive(std::optional<std::uint64_t> until) {
      auto arrived = pipe_->receive(own_, until);
      if (!arrived) return arrived.error();
      message_ = *std::move(arrived);
      return std::span<const std::byte>(message_);
    }
    [[nodiscard]] std::uint64_t now() const { return pipe_->now(); }

   private:
    friend message_pipe;
    end(message_pipe& pipe, std::size_t own) : pipe_(&pipe), own_(own) { pipe.open(own); }

    message_pipe* pipe_;
    std::size_t own_;
    std::vector<std::byte> message_;
  };

  message_pipe() = default;
  message_pipe(const message_pipe&) = delete;
  message_pipe& operator=(const message_pipe&) = delete;

  [[nodiscard]] end edge() { return {*this, 0}; }
  [[nodiscard]] end cloud() { return {*this, 1}; }

 private:
  void open(std::size_t own) {
    const std::lock_guard lock(mutex_);
    sides_[own].open = ever_open_[own] = true;
    changed_.notify_all();
  }
  void close(std::size_t own) {
    const std::lock_guard lock(mutex_);
    sides_[own] = {};  // messages that this end has not read are lost
    changed_.notify_all();
  }
  [[nodiscard]] status send(std::size_t own, std::span<const std::byte> message) {
    const std::lock_guard lock(mutex_);
    side& peer = sides_[1 - own];
    if (is_gone(1 - own)) return lost;
    deadlock_ = false;
    peer.arrived.emplace_back(message.begin(), message.end());
    changed_.notify_all();
    return {};
  }
  [[nodiscard]] result<std::vector<std::byte>> receive(std::size_t own, std::optional<std::uint64_t> until) {
    std::unique_lock lock(mutex_);
    side& mine = sides_[own];
    mine.until = until;
    mine.waits = true;
    result<std::vector<std::byte>> outcome = std::vector<std::byte>{};
    for (;; changed_.wait(lock)) {
      if (!mine.arrived.empty()) {
        outcome = std::move(mine.arrived.front());
        mine.arrived.pop_front();
        break;
      }
      if (until.has_value() && *until <= now_) break;
      if (is_gone(1 - own)) {
        outcome = lost;
        break;
      }
      if (let_time_pass(own)) break;
      if (deadlock_) {
        outcome = lost;
        break;
      }
    }
    mine.waits = false;
    return outcome;
  }
  //! If both ends wait and no message is in flight, advances the time to the earlier deadline. Returns true if this is
  //! the deadline of `own`.
  [[nodiscard]] bool let_time_pass(std::size_t own) {
    const side &mine = sides_[own], &peer = sides_[1 - own];
    if (!peer.waits || !peer.arrived.empty()) return false;
    if (!mine.until.has_value() && !peer.until.has_value()) {
      deadlock_ = true;
    } else {
      now_ = std::max(now_, std::min(mine.until.value_or(~std::uint64_t{0}), peer.until.value_or(~std::uint64_t{0})));
    }
    changed_.notify_all();
    return mine.until.has_value() && *mine.until <= now_;
  }
  //! Returns whether an end was open and is now closed. An end that has never been open may still be opened.
  [[nodiscard]] bool is_gone(std::size_t which) const { return ever_open_[which] && !sides_[which].open; }
  [[nodiscard]] std::uint64_t now() {
    const std::lock_guard lock(mutex_);
    return now_;
  }

  static constexpr status lost{errc::link_lost, part::host, 0};

  std::mutex mutex_;
  std::condition_variable changed_;
  side sides_[2];
  bool ever_open_[2] = {false, false};
  bool deadlock_ = false;
  std::uint64_t now_ = 0;
};

SPECVERIFY_NAMESPACE_END
#include <specverify/core/foreign_macros_on.def>

#endif
