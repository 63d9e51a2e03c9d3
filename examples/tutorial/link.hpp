// SPDX-License-Identifier: Apache-2.0
// Step 3: a transport. Here a local socket that keeps messages whole; over TCP put a length in front of each.
#pragma once

#include <specverify/all.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>

struct socket_link {
  static constexpr bool ordered_and_whole = true;
  int socket;
  std::array<std::byte, 65536> buffer{};
  static constexpr specverify::status lost{specverify::errc::link_lost, specverify::part::host, 0};

  specverify::session_time now() const {  // microseconds from any origin
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<specverify::session_time>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  }
  specverify::status send(std::span<const std::byte> message) {
    ssize_t sent = -1;
    do sent = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);  // a signal of the process: nothing is lost
    return sent == static_cast<ssize_t>(message.size()) ? specverify::status{} : lost;
  }
  // The next message; empty when `until` has passed. Without `until` it waits as long as it takes.
  specverify::result<std::span<const std::byte>> receive(std::optional<specverify::session_time> until) {
    while (true) {
      const specverify::session_time time = now();
      const int wait = !until ? -1 : *until <= time ? 0 : static_cast<int>((*until - time) / 1000 + 1);
      pollfd ready{socket, POLLIN, 0};
      const int waited = ::poll(&ready, 1, wait);
      if (waited == 0) return std::span<const std::byte>{};
      const ssize_t size = waited < 0 ? -1 : ::recv(socket, buffer.data(), buffer.size(), 0);
      if (size > 0) return std::span<const std::byte>(buffer).first(static_cast<std::size_t>(size));
      if (size == 0 || errno != EINTR) return lost;  // after a signal the wait goes on
    }
  }
};
