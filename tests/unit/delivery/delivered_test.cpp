// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/delivery/delivered.hpp>
#include <specverify/host/host.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/testing/message_pipe.hpp>

#include <support/secret_of.hpp>

#include <random>
#include <thread>

using namespace specverify;

namespace {

//! Loses some messages and copies others.
template <class Link>
struct lossy {
  Link& link;
  std::mt19937 random;
  int one_in = 4;
  int lost = 0;

  status send(std::span<const std::byte> message) {
    const auto drawn = random() % static_cast<unsigned>(one_in);
    lost += drawn == 0 ? 1 : 0;
    if (drawn == 0) return {};
    if (drawn == 1 && !link.send(message).ok()) return {errc::link_lost, part::host, 0};
    return link.send(message);
  }
  result<std::span<const std::byte>> receive(std::optional<session_time> until) { return link.receive(until); }
  session_time now() { return link.now(); }
};

struct flat_model {
  std::array<float, 8> logits{};
  status feed(std::uint32_t, std::span<const token_id>, std::uint32_t) { return {}; }
  row_view<float> row(std::uint32_t) { return logits_row<float>(logits); }
  void truncate(std::uint32_t) {}
};

delivery_options options_of(delivery_side side, std::uint64_t salt) {
  delivery_options made;
  made.side = side;
  made.salt = salt;
  made.retry_timeout = 1000;
  return made;
}

}  // namespace

TEST_CASE("delivered: a session without timers writes over a link that loses and copies") {
  for (const session_mode mode : {session_mode::draft, session_mode::stream}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      CAPTURE(seed);
      edge_options device;
      device.secret = specverify_test::secret_of(1);
      device.vocab_size = 8;
      device.token_budget = 40;
      device.mode = mode;
      if (mode == session_mode::stream) device.format = law_format::token_only;
      cloud_options service;
      service.secret = specverify_test::secret_of(2);
      service.salt = 3;
      service.vocab_size = 8;
      auto edge = make_edge(device);
      auto cloud = make_cloud(service);
      REQUIRE(edge.ok());
      REQUIRE(cloud.ok());
      message_pipe pipe;
      flat_model small, large;
      status served;
      int lost_down = 0;
      std::thread server([&, end = pipe.cloud()]() mutable {
        lossy<message_pipe::end> link{end, std::mt19937(seed + 100)};
        auto down = delivered<lossy<message_pipe::end>>::make(link, options_of(delivery_side::server, 5));
        served = serve(*cloud, large, *down);
        (void)down->settle(down->now() + 100'000);
        lost_down = link.lost;
      });
      std::size_t written = 0;
      int lost_up = 0;
      {
        auto end = pipe.edge();
        lossy<message_pipe::end> link{end, std::mt19937(seed)};
        auto up = delivered<lossy<message_pipe::end>>::make(link, options_of(delivery_side::client, 4));
        const auto text = generate(*edge, std::array<token_id, 1>{0}, small, *up);
        REQUIRE(text.ok());
        written = text->size();
        CHECK(up->settle(up->now() + 100'000).ok());
        lost_up = link.lost;
        CHECK(up->statistics().incarnations == 1);
        CHECK(up->statistics().lost == 0);
      }
      server.join();
      CHECK(written == 40);
      CHECK(served.ok());
      CHECK(lost_up + lost_down > 0);
      CHECK(edge->statistics().stale + edge->statistics().corrupt == 0);
      CHECK(cloud->statistics().stale + cloud->statistics().corrupt == 0);
    }
  }
}

TEST_CASE("delivered: a lost link, and one that is back") {
  struct switched {
    bool works = true;
    int connects = 0;
    std::vector<std::vector<std::byte>> sent{};
    session_time time = 0;
    std::vector<std::byte> answer{};
    status send(std::span<const std::byte> message) {
      if (!works) return {errc::link_lost, part::host, 7};
      sent.emplace_back(message.begin(), message.end());
      return {};
    }
    result<std::span<const std::byte>> receive(std::optional<session_time> until) {
      if (!works) return status{errc::link_lost, part::host, 8};
      time = until.value_or(time);
      return std::span<const std::byte>{};
    }
    session_time now() { return time; }
    status reconnect(std::optional<session_time>) {
      ++connects;
      works = true;
      return {};
    }
  };
  switched link;
  auto up = delivered<switched>::make(link, options_of(delivery_side::client, 4));
  const std::array<std::byte, 3> message{};
  CHECK(up->send(message).ok());  // waits for nothing: the incarnation is being opened
  CHECK(link.sent.size() == 1);
  link.works = false;
  CHECK(up->receive(5000).error().where == 8);
  CHECK(up->reconnect(link.time + 3000).code == errc::peer_timeout);  // there is no server
  CHECK(link.connects == 1);
  CHECK(link.sent.size() > 2);
  link.works = false;
  CHECK(up->receive(link.time + 10).error().code == errc::link_lost);
  link.works = true;
  CHECK(up->reconnect(link.time + 1).code == errc::peer_timeout);
  CHECK(link.connects == 2);
}

TEST_CASE("delivered: a link full of noise does not keep a client from asking, nor from giving up") {
  struct noisy {
    std::array<std::byte, 9> noise{};
    session_time time = 0;
    int sent = 0;
    status send(std::span<const std::byte>) {
      ++sent;
      return {};
    }
    result<std::span<const std::byte>> receive(std::optional<session_time>) {
      time += 100;
      return std::span<const std::byte>(noise);
    }
    session_time now() { return time; }
  };
  noisy link;
  auto up = delivered<noisy>::make(link, options_of(delivery_side::client, 4));
  CHECK(up->send(std::array<std::byte, 3>{}).ok());
  CHECK(up->receive(std::nullopt).error().code == errc::peer_timeout);
  CHECK(link.sent == 1 + 64);
}

TEST_CASE("delivered: sending to a side that reads nothing ends") {
  struct full {  // the other side has said too much itself to take anything
    delivery server = *delivery::make(options_of(delivery_side::server, 5));
    std::array<std::byte, 20> space{};
    session_time time = 0;
    status send(std::span<const std::byte> datagram) {
      (void)server.receive(datagram, time, false);
      return {};
    }
    result<std::span<const std::byte>> receive(std::optional<session_time> until) {
      const auto next = server.next_datagram();
      std::copy(next.begin(), next.end(), space.begin());
      if (next.empty()) time = until.value_or(time);
      return std::span<const std::byte>(space).first(next.size());
    }
    session_time now() { return time; }
  };
  full link;
  auto up = delivered<full>::make(link, options_of(delivery_side::client, 4));
  const std::array<std::byte, 3> message{};
  for (int i = 0; i < 4; ++i) CHECK(up->send(message).ok());
  CHECK(up->send(message).code == errc::peer_timeout);
  CHECK(up->statistics().incarnations == 1);
}
