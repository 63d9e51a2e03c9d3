// SPDX-License-Identifier: Apache-2.0
// A session over a link that loses every third message: both ends are wrapped, and nothing else changes.
#include <random>
#include <specverify/all.hpp>
#include <specverify/testing/message_pipe.hpp>
#include <thread>
using namespace specverify;
struct datagrams {  // your socket has these three
  message_pipe::end link;
  int sent = 0;
  status send(std::span<const std::byte> bytes) { return ++sent % 3 == 0 ? status{} : link.send(bytes); }
  result<std::span<const std::byte>> receive(std::optional<session_time> until) { return link.receive(until); }
  session_time now() { return link.now(); }
};
struct flat_model {  // every token is as likely as any other
  std::array<float, 8> logits{};
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  row_view<float> row(std::uint32_t) { return logits_row<float>(logits); }
  void truncate(std::uint32_t) {}
} drafter, target;
int main() {
  std::random_device random;
  auto edge = make_edge({.secret = secret_from(random), .vocab_size = 8, .token_budget = 20}, top_k{3});
  auto cloud = make_cloud({.secret = secret_from(random), .salt = salt_from(random), .vocab_size = 8});
  message_pipe pipe;
  const std::jthread server([&cloud, down = datagrams{pipe.cloud()}, salt = salt_from(random)]() mutable {
    auto link = delivered<datagrams>::make(down, {.side = delivery_side::server, .salt = salt});
    if (serve(*cloud, target, *link).ok()) (void)link->settle(link->now() + 1000000);
  });
  datagrams up{pipe.edge()};
  auto link = delivered<datagrams>::make(up, {.salt = salt_from(random)});
  const auto text = generate(*edge, std::array<token_id, 1>{0}, drafter, *link);
  return text && text->size() == 20 && link->settle(link->now() + 1000000).ok() ? 0 : 1;
}
