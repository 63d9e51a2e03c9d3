// SPDX-License-Identifier: Apache-2.0
// A host for both sides over two pipes, which keep messages whole. Both texts are the same at the end.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>
#include "toy_model.hpp"

struct pipe_link {
  static constexpr bool ordered_and_whole = true;
  int in, out;
  std::array<std::byte, 4096> packet{};
  static constexpr sv::status lost{sv::errc::link_lost, sv::part::host, 0};
  sv::session_time now() const {
    return static_cast<sv::session_time>(std::chrono::steady_clock::now().time_since_epoch().count() / 1000);
  }
  sv::status send(std::span<const std::byte> message) {
    auto written = ::write(out, message.data(), message.size());
    while (written < 0 && errno == EINTR) written = ::write(out, message.data(), message.size());
    return written == std::ssize(message) ? sv::status{} : lost;
  }
  sv::result<std::span<const std::byte>> receive(std::optional<sv::session_time> until) {
    while (true) {
      pollfd ready{in, POLLIN, 0};
      const sv::session_time time = now();
      const int wait = !until ? -1 : *until <= time ? 0 : static_cast<int>((*until - time) / 1000 + 1);
      const int waited = ::poll(&ready, 1, wait);
      if (waited == 0) return std::span<const std::byte>{};
      const auto size = waited < 0 ? -1 : ::read(in, packet.data(), packet.size());
      if (size > 0) return std::span<const std::byte>(packet).first(static_cast<std::size_t>(size));
      if (size == 0 || errno != EINTR) return lost;
    }
  }
};

int main() {
  int up[2], down[2];
  std::random_device random;
  auto edge = sv::make_edge({.secret = sv::secret_from(random), .vocab_size = 50, .token_budget = 80}, sv::top_k{8});
  auto cloud = sv::make_cloud({.secret = sv::secret_from(random), .salt = sv::salt_from(random), .vocab_size = 50});
  if (!edge || !cloud || ::pipe2(up, O_DIRECT) != 0 || ::pipe2(down, O_DIRECT) != 0) return 1;
  std::vector<sv::token_id> heard;  // by the cloud: prompt and text
  auto keep = sv::on_committed([&](const sv::session_output& out) {
    heard.insert(heard.begin() + out.position, out.tokens.begin(), out.tokens.end());
  });
  pipe_link device{down[0], up[1]}, server{up[0], down[1]};
  toy_model small{0.7f}, large{1.0f};
  std::jthread serving([&] { (void)sv::serve(*cloud, large, server, keep); });
  const auto text = sv::generate(*edge, std::array<sv::token_id, 1>{1}, small, device);
  ::close(up[1]);  // the server ends, whatever the device met
  serving.join();
  return text && text->size() == 80 && std::equal(text->begin(), text->end(), heard.begin() + 1, heard.end()) ? 0 : 2;
}
