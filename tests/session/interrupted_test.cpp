// SPDX-License-Identifier: Apache-2.0
// The links of the pages, while a timer interrupts every waiting call: nothing may be lost, and no wait may end early.
#include <specverify/all.hpp>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>

// Programs from the pages, each in a namespace. Headers that they include are included above.
namespace of_tutorial {
#define main run
#include "tutorial/session.cpp"
#undef main
}  // namespace of_tutorial
namespace of_integrate {
#define main run_cloud
#include "../../examples/integrate/cloud.cpp"
#undef main
#define main run_device
#include "../../examples/integrate/device.cpp"
#undef main
}  // namespace of_integrate
namespace of_newcomer {
#define main run
#include "../newcomer/pipe_host.cpp"
#undef main
}  // namespace of_newcomer

namespace {

using namespace std::chrono_literals;

//! SIGALRM every millisecond, with a handler that does not restart calls.
class alarms {
 public:
  alarms() {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &nothing, &before_);
    const itimerval often{{0, 1000}, {0, 1000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~alarms() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  alarms(const alarms&) = delete;
  alarms& operator=(const alarms&) = delete;

 private:
  struct sigaction before_ {};
};

//! Runs a thread that gets no signal, so all signals go to the waiting thread.
template <class Work>
std::thread undisturbed(Work work) {
  sigset_t alarm{}, before{};
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  ::pthread_sigmask(SIG_BLOCK, &alarm, &before);
  std::thread started(work);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

//! `end` waits for a message from `said`, for a time that passes, and for room, because `heard` is read late.
template <class Link>
void check_waits(Link& end, int heard, int said) {
  const alarms disturbing;
  const std::array<std::byte, 512> message{};
  std::thread speaker = undisturbed([said, &message] {
    std::this_thread::sleep_for(20ms);
    (void)!::write(said, message.data(), message.size());
  });
  const auto first = end.receive(std::nullopt);
  speaker.join();
  const bool heard_the_message = first.ok() && first->size() == message.size();
  CHECK(heard_the_message);

  const auto until = end.now() + 20000;
  const auto none = end.receive(until);
  const bool waited_its_time = none.ok() && none->empty() && end.now() >= until;
  CHECK(waited_its_time);

  std::atomic<bool> done = false;
  std::thread listener = undisturbed([heard, &done] {
    std::array<std::byte, 512> taken;
    std::this_thread::sleep_for(20ms);
    for (pollfd ready{heard, POLLIN, 0}; !done;) {
      if (::poll(&ready, 1, 1) > 0) (void)!::read(heard, taken.data(), taken.size());
    }
  });
  bool all_were_sent = true;
  for (int i = 0; i < 1000; ++i)
    all_were_sent = end.send(message).ok() && all_were_sent;  // more than there is room for
  CHECK(all_were_sent);
  done = true;
  listener.join();
}

}  // namespace

TEST_CASE("NET-5 links of the pages: a signal loses nothing and ends no wait") {
  int ends[2], up[2], down[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  SUBCASE("tutorial") {
    of_tutorial::socket_link link{ends[0]};
    check_waits(link, ends[1], ends[1]);
  }
  SUBCASE("integrate") {
    of_integrate::socket_link link(ends[0]);
    check_waits(link, ends[1], ends[1]);
  }
  SUBCASE("newcomer") {
    REQUIRE(::pipe2(up, O_DIRECT) == 0);
    REQUIRE(::pipe2(down, O_DIRECT) == 0);
    of_newcomer::pipe_link link{down[0], up[1]};
    check_waits(link, up[0], down[1]);
    for (const int file : {up[0], up[1], down[0], down[1]}) ::close(file);
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("NET-5 programs of the pages: a session goes on while signals come") {
  const alarms disturbing;
  SUBCASE("tutorial") { CHECK(of_tutorial::run() == 0); }
  SUBCASE("newcomer") { CHECK(of_newcomer::run() == 0); }
  SUBCASE("integrate") {
    std::string name = "/tmp/specverify_interrupted.XXXXXX", cloud = "cloud", device = "device", once = "1", id = "7";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    std::string socket = name + "/socket";
    char* of_cloud[] = {cloud.data(), socket.data(), once.data(), nullptr};
    char* of_device[] = {device.data(), socket.data(), id.data(), nullptr};
    std::atomic<int> ended = -1;
    std::thread other = undisturbed([&] {
      std::this_thread::sleep_for(20ms);
      ended = of_integrate::run_device(3, of_device);
    });
    const int served = of_integrate::run_cloud(3, of_cloud);
    if (served != 0) std::exit(std::puts("the cloud takes a signal for a failure") < 0 ? 2 : 1);  // the device waits
    other.join();
    CHECK(ended == 0);
    std::filesystem::remove_all(name);
  }
}
