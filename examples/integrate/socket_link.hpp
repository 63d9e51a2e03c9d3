// SPDX-License-Identifier: Apache-2.0
// Whole messages over a Unix socket that keeps message boundaries. Over TCP or TLS, write the length before each
// message.
#pragma once
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <specverify/all.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>

class socket_link {
 public:
  static constexpr bool ordered_and_whole = true;
  explicit socket_link(int file) : file_(file), room_(1 << 16) {}

  specverify::status send(std::span<const std::byte> message) {
    ssize_t sent = -1;
    do sent = ::send(file_, message.data(), message.size(), MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);  // a signal; nothing is lost
    return sent == static_cast<ssize_t>(message.size()) ? specverify::status{} : lost();
  }
  specverify::result<std::span<const std::byte>> receive(std::optional<specverify::session_time> until) {
    while (true) {
      const specverify::session_time at = now();
      const int wait = !until ? -1 : *until <= at ? 0 : static_cast<int>((*until - at + 999) / 1000);
      pollfd asked{file_, POLLIN, 0};
      const int ready = ::poll(&asked, 1, wait);
      if (ready == 0) return std::span<const std::byte>{};  // the time is over
      const ssize_t got = ready < 0 ? -1 : ::recv(file_, room_.data(), room_.size(), 0);
      if (got > 0) return std::span<const std::byte>(room_).first(static_cast<std::size_t>(got));
      if (got == 0 || errno != EINTR) return lost();  // after a signal it waits again
    }
  }
  specverify::session_time now() const {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<specverify::session_time>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  }

  static sockaddr_un address(const char* path) {
    sockaddr_un made{};
    made.sun_family = AF_UNIX;
    std::strncpy(made.sun_path, path, sizeof(made.sun_path) - 1);
    return made;
  }

 private:
  static specverify::status lost() {
    return {specverify::errc::link_lost, specverify::part::host, static_cast<std::uint32_t>(errno)};
  }
  int file_;
  std::vector<std::byte> room_;
};
