// SPDX-License-Identifier: Apache-2.0
// The blocking transport: order, time that passes while both wait, ends that go away.
#include <doctest/doctest.h>

#include <specverify/testing/message_pipe.hpp>

#include <array>
#include <thread>

using namespace specverify;

namespace {
std::array<std::byte, 1> one(int value) { return {static_cast<std::byte>(value)}; }
}  // namespace

TEST_CASE("message_pipe: messages arrive whole and in order, also those sent before the peer was there") {
  message_pipe pipe;
  auto edge = pipe.edge();
  CHECK(edge.send(one(1)).ok());
  CHECK(edge.send(one(2)).ok());
  auto cloud = pipe.cloud();
  CHECK(cloud.receive(std::nullopt).value()[0] == std::byte{1});
  CHECK(cloud.receive(std::nullopt).value()[0] == std::byte{2});
  const auto nothing = cloud.receive(0);  // a look, no wait
  CHECK(nothing.value().empty());
  CHECK(cloud.now() == 0);
}

TEST_CASE("message_pipe: time passes while both wait, up to the earlier deadline") {
  message_pipe pipe;
  auto edge = pipe.edge();
  auto cloud = pipe.cloud();
  std::uint64_t woken = 0;
  std::byte heard{};
  std::thread other([&] {
    const auto late = edge.receive(50);
    woken = edge.now();
    if (late.ok() && late.value().empty()) (void)edge.send(one(7));
  });
  heard = cloud.receive(900).value()[0];
  other.join();
  CHECK(woken == 50);
  CHECK(heard == std::byte{7});
  CHECK(cloud.now() == 50);
}

TEST_CASE("message_pipe: an end that is gone is a lost link, behind what it sent") {
  message_pipe pipe;
  auto cloud = pipe.cloud();
  {
    auto edge = pipe.edge();
    CHECK(edge.send(one(3)).ok());
    auto moved = std::move(edge);
    CHECK(moved.send(one(4)).ok());
  }
  CHECK(cloud.receive(std::nullopt).value()[0] == std::byte{3});
  CHECK(cloud.receive(std::nullopt).value()[0] == std::byte{4});
  CHECK(cloud.receive(std::nullopt).error().code == errc::link_lost);
  CHECK(cloud.send(one(5)).code == errc::link_lost);
  auto again = pipe.edge();  // a new end: the link stands, what was sent meanwhile is lost
  CHECK(cloud.send(one(6)).ok());
  CHECK(again.receive(std::nullopt).value()[0] == std::byte{6});
}

TEST_CASE("message_pipe: two sides that wait for each other without a deadline are told") {
  message_pipe pipe;
  auto edge = pipe.edge();
  auto cloud = pipe.cloud();
  errc first = errc::ok;
  std::thread other([&] { first = edge.receive(std::nullopt).error().code; });
  const errc second = cloud.receive(std::nullopt).error().code;
  other.join();
  CHECK(first == errc::link_lost);
  CHECK(second == errc::link_lost);
  CHECK(edge.send(one(8)).ok());  // neither is gone
  CHECK(cloud.receive(std::nullopt).ok());
}
