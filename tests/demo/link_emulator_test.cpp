// SPDX-License-Identifier: Apache-2.0
// The emulated link does what it says: rate, round-trip time, loss and jitter, timed from outside with known payloads.
// A cloud serves the transform that it has, and refuses others.
#include "edge_cloud/link_emulator.hpp"
#include "edge_cloud/served_transform.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <future>

namespace {

using namespace edge_cloud;
using clock_type = std::chrono::steady_clock;

double milliseconds_between(clock_type::time_point begin, clock_type::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

std::uint64_t microseconds_of(clock_type::time_point at) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count());
}

// An edge and a cloud without any model: each side counts what it receives.
class pair_on_link {
 public:
  explicit pair_on_link(const link_settings& settings, bool echo = false)
      : cloud_(io_, 0,
               [this, echo](frame message) {
                 note(cloud_received_, cloud_last_);
                 if (echo) cloud_.send(message);
               }),
        link_(settings, cloud_.port()),
        edge_(io_, {asio::ip::address_v4::loopback(), link_.port()},
              [this](frame) { note(edge_received_, edge_last_); }),
        thread_([this] { io_.run(); }) {
    while (!on_thread([this] { return edge_.connected() && cloud_.connected(); }))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ~pair_on_link() {
    io_.stop();
    thread_.join();
  }

  void send_up(std::size_t frames, std::size_t bytes) {
    on_thread([&] {
      begin_ = clock_type::now();
      for (std::size_t i = 0; i < frames; ++i) edge_.send(frame(bytes));
      return true;
    });
  }
  void send_down(std::size_t frames, std::size_t bytes) {
    on_thread([&] {
      begin_ = clock_type::now();
      for (std::size_t i = 0; i < frames; ++i) cloud_.send(frame(bytes));
      return true;
    });
  }
  bool cloud_has(std::size_t frames) const { return reached(cloud_received_, frames); }
  bool edge_has(std::size_t frames) const { return reached(edge_received_, frames); }
  double cloud_took() {
    return on_thread([this] { return milliseconds_between(begin_, cloud_last_); });
  }
  double edge_took() {
    return on_thread([this] { return milliseconds_between(begin_, edge_last_); });
  }
  const link_emulator& link() const { return link_; }
  void begin_trace() { link_.begin_trace(microseconds_of(clock_type::now())); }
  std::size_t cloud_received() const { return cloud_received_; }

 private:
  static void note(std::atomic<std::size_t>& counter, clock_type::time_point& last) {
    last = clock_type::now();
    ++counter;
  }
  static bool reached(const std::atomic<std::size_t>& counter, std::size_t wanted) {
    const auto patience = clock_type::now() + std::chrono::seconds(20);
    while (counter < wanted && clock_type::now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return counter == wanted;
  }
  template <class Action>
  auto on_thread(Action action) -> decltype(action()) {
    std::packaged_task<decltype(action())()> task(std::move(action));
    auto answer = task.get_future();
    asio::post(io_, std::ref(task));
    return answer.get();
  }

  asio::io_context io_{1};
  std::atomic<std::size_t> cloud_received_{0}, edge_received_{0};
  clock_type::time_point begin_{}, cloud_last_{}, edge_last_{};
  framed_server cloud_;
  link_emulator link_;
  framed_client edge_;
  std::thread thread_;
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

TEST_CASE("the emulated uplink carries a known payload at its rate, within 5 %") {
  pair_on_link pair({.uplink_bits_per_second = 350e3, .downlink_bits_per_second = 4e6, .round_trip_ms = 50});
  const std::size_t frames = 40, bytes = 1000;
  pair.send_up(frames, bytes);
  REQUIRE(pair.cloud_has(frames));
  const double seconds = (pair.cloud_took() - 25) * 1e-3;
  const double rate = static_cast<double>(frames * framed_bytes(bytes) * 8) / seconds;
  MESSAGE("uplink: " << rate << " bit/s");
  CHECK(std::abs(rate / 350e3 - 1) < 0.05);
  CHECK(pair.link().up().bytes == frames * framed_bytes(bytes));
}

TEST_CASE("the emulated downlink carries a known payload at its rate, within 5 %") {
  pair_on_link pair({.uplink_bits_per_second = 350e3, .downlink_bits_per_second = 4e6, .round_trip_ms = 50});
  const std::size_t frames = 400, bytes = 1000;
  pair.send_down(frames, bytes);
  REQUIRE(pair.edge_has(frames));
  const double seconds = (pair.edge_took() - 25) * 1e-3;
  const double rate = static_cast<double>(frames * framed_bytes(bytes) * 8) / seconds;
  MESSAGE("downlink: " << rate << " bit/s");
  CHECK(std::abs(rate / 4e6 - 1) < 0.05);
}

TEST_CASE("an echoed small frame takes the round-trip time and its own bits, within 2 ms") {
  pair_on_link pair({.uplink_bits_per_second = 350e3, .downlink_bits_per_second = 4e6, .round_trip_ms = 50}, true);
  const std::size_t bytes = 16;
  const double bits_ms = static_cast<double>(framed_bytes(bytes) * 8) * (1 / 350e3 + 1 / 4e6) * 1e3;
  std::vector<double> took;
  for (std::size_t i = 1; i <= 21; ++i) {
    pair.send_up(1, bytes);
    REQUIRE(pair.edge_has(i));
    took.push_back(pair.edge_took() - bits_ms);
  }
  MESSAGE("round trip: " << median(took) << " ms (median of 21)");
  CHECK(std::abs(median(took) - 50) < 2);
}

TEST_CASE("the emulated link loses its share of frames, within 3 standard errors, and counts them") {
  const double loss = 0.1;
  pair_on_link pair(
      {.uplink_bits_per_second = 1e9, .downlink_bits_per_second = 1e9, .round_trip_ms = 2, .loss = loss, .seed = 7});
  const std::size_t frames = 4000;
  pair.send_up(frames, 20);
  while (pair.link().up().frames < frames) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::uint64_t lost = pair.link().up().lost;
  REQUIRE(pair.cloud_has(frames - lost));
  const double standard_error = std::sqrt(loss * (1 - loss) / static_cast<double>(frames));
  MESSAGE("lost: " << lost << " of " << frames);
  CHECK(std::abs(static_cast<double>(lost) / static_cast<double>(frames) - loss) < 3 * standard_error);
}

TEST_CASE("jitter delays within its bound, never reorders, and the lanes draw apart") {
  const time_point begin{};
  link_lane up({.bits_per_second = 1e6, .delay_ms = 25, .jitter_ms = 10}, 3, 0);
  link_lane down({.bits_per_second = 1e6, .delay_ms = 25, .jitter_ms = 10}, 3, 1);
  double smallest = 1e9, largest = 0;
  bool apart = false;
  for (int i = 0; i < 200; ++i) {
    const time_point now = begin + std::chrono::milliseconds(1000 * (i + 1));
    const passage way = up.send(now, 125);
    const double delay = milliseconds_between(now, way.arrival) - 1;  // 1 ms of bits
    smallest = std::min(smallest, delay);
    largest = std::max(largest, delay);
    apart = apart || down.send(now, 125).arrival != way.arrival;
  }
  CHECK(smallest >= 24.999);
  CHECK(smallest < 26);
  CHECK(largest <= 35.001);
  CHECK(largest > 34);
  CHECK(apart);

  link_lane busy({.bits_per_second = 1e6, .delay_ms = 25, .jitter_ms = 10}, 3, 0);
  time_point previous{};
  for (int i = 0; i < 200; ++i) {
    const passage way = busy.send(begin + std::chrono::milliseconds(2 * i), 125);
    CHECK(way.arrival >= previous);
    previous = way.arrival;
  }
}

TEST_CASE("a burst waits for the link: the k-th frame arrives after k frames' bits") {
  const time_point now = time_point{} + std::chrono::seconds(5);
  link_lane lane({.bits_per_second = 8000, .delay_ms = 10}, 1, 0);  // 1 byte per ms
  for (int k = 1; k <= 5; ++k)
    CHECK(milliseconds_between(now, lane.send(now, 100).arrival) == doctest::Approx(100 * k + 10));
  CHECK(milliseconds_between(now, lane.send(now + std::chrono::seconds(2), 50).arrival) == doctest::Approx(2060));
}

TEST_CASE(
    "a lane follows its trace: each bit goes at the rate of the state that holds as it goes, and the first state comes "
    "again after the last") {
  // 1 byte per ms for 2 s, then 10 bytes per ms for 2 s; the round trip grows, and in the third state everything is
  // lost.
  lane_settings settings{
      .jitter_ms = 0, .trace = {{8000, 10, 0}, {80000, 30, 0}, {8000, 0, 1}}, .clock = {2, 100'000'000}};
  const time_point origin = time_point{} + std::chrono::seconds(100);
  const auto at = [&](double seconds) { return origin + std::chrono::microseconds(std::llround(seconds * 1e6)); };
  const auto arrival = [&](double seconds, std::uint64_t bytes) {
    link_lane lane(settings, 1, 0);
    const passage way = lane.send(at(seconds), bytes);
    return way.lost ? -1.0 : milliseconds_between(origin, way.arrival);
  };
  CHECK(arrival(0, 100) == doctest::Approx(110));     // all in the first state
  CHECK(arrival(2.5, 100) == doctest::Approx(2540));  // in the second
  // 100 bytes before the change, 500 after it; the second one's delay
  CHECK(arrival(1.9, 600) == doctest::Approx(2080));
  CHECK(arrival(4.5, 100) == -1);                   // lost
  CHECK(arrival(3.9, 1100) == -1);                  // the last bit leaves in the third state
  CHECK(arrival(6, 100) == doctest::Approx(6110));  // from the start again
  CHECK(arrival(5.5, 600) == doctest::Approx(6110));
  CHECK(arrival(-50, 100) == doctest::Approx(-49890));    // before the start the first state holds
  CHECK(arrival(600.5, 100) == doctest::Approx(600610));  // a hundred cycles later
  CHECK(arrival(0, 25000) == doctest::Approx(7010));      // 24000 bytes a cycle of 6 s, and 1000 of the next
  link_lane busy(settings, 1, 0);
  // its last bit meets the second state
  CHECK(milliseconds_between(origin, busy.send(at(1), 1000).arrival) == doctest::Approx(2030));
  CHECK(milliseconds_between(origin, busy.send(at(1), 1000).arrival) == doctest::Approx(2130));  // waits for it
}

TEST_CASE("the two lanes of a link and the edge see the same step of a trace") {
  link_settings link;
  link.trace = {{350e3, 4e6, 0.1, 0.2, 0.05, 9}, {4e6, 8e6, 0, 0, 0.01, 9}};
  link.clock = {0.25, 7'000'000};
  const lane_settings up = uplink(link), down = downlink(link);
  for (int i = -3; i < 40; ++i) {
    const time_point now = time_point{} + std::chrono::milliseconds(7000 + 100 * i + 1);
    const std::size_t step = i < 0 ? 0 : static_cast<std::size_t>(100 * i + 1) / 250 % 2;
    const specverify::channel_state seen = state_at(link, now);
    CHECK(seen.uplink_rate == link.trace[step].uplink_rate);
    CHECK(seen.index == step);  // which of QS's two states the rate is nearer to
    CHECK(up.trace[up.clock.step(now) % 2].bits_per_second == seen.uplink_rate);
    CHECK(down.trace[down.clock.step(now) % 2].bits_per_second == seen.downlink_rate);
    CHECK(up.trace[up.clock.step(now) % 2].loss == seen.uplink_loss);
    CHECK(down.trace[down.clock.step(now) % 2].loss == seen.downlink_loss);
    CHECK(down.trace[down.clock.step(now) % 2].delay_ms == doctest::Approx(seen.round_trip * 500));
  }
  const specverify::channel_state steady = state_at({}, time_point{});
  CHECK(steady == specverify::channel_state{350e3, 4e6, 0, 0, 0.05, 0});
}

TEST_CASE("the emulated uplink carries a known payload over a trace in the time that its states give, within 5 %") {
  link_settings link;
  link.trace = {{350e3, 4e6, 0, 0, 0.05, 0}, {4e6, 4e6, 0, 0, 0.05, 1}};
  link.clock.state_seconds = 0.8;
  pair_on_link pair(link);
  const std::size_t frames = 60, bytes = 1000;
  pair.begin_trace();
  pair.send_up(frames, bytes);
  REQUIRE(pair.cloud_has(frames));
  const double bits = static_cast<double>(frames * framed_bytes(bytes) * 8);
  const double expected_ms = 800 + (bits - 0.8 * 350e3) / 4e6 * 1e3 + 25;
  MESSAGE("uplink over a trace: " << pair.cloud_took() << " ms, expected " << expected_ms);
  CHECK(std::abs(pair.cloud_took() / expected_ms - 1) < 0.05);
}

TEST_CASE("a cloud that starts late and one that comes back are found again") {
  asio::io_context io{1};
  std::uint16_t port = 0;
  { port = framed_server(io, 0, {}).port(); }
  std::size_t received = 0;
  link_emulator link({.uplink_bits_per_second = 1e9, .downlink_bits_per_second = 1e9, .round_trip_ms = 2}, port);
  framed_client edge(io, {asio::ip::address_v4::loopback(), link.port()}, [](frame) {});
  for (std::size_t life = 1; life <= 2; ++life) {
    framed_server cloud(io, port, [&](frame) { ++received; });
    const auto patience = clock_type::now() + std::chrono::seconds(10);
    while (received < life && clock_type::now() < patience) {
      edge.send(frame(4));
      io.run_for(std::chrono::milliseconds(20));
    }
    CHECK(received >= life);
    received = life;
  }
}

TEST_CASE("demo: a cloud serves the temperature and the truncation that it has, and refuses others by name") {
  specverify::row_transform served, asked;
  served.temperature = asked.temperature = 0.5;
  CHECK(edge_cloud::check_served(asked, served).ok());
  asked.truncation.order = specverify::truncation_order::joint;  // of no truncation
  CHECK(edge_cloud::check_served(asked, served).ok());
  asked.temperature = 0.75;
  CHECK(edge_cloud::check_served(asked, served).code == specverify::errc::invalid_temperature);
  asked.temperature = 0.5;
  asked.truncation.top_k = 40;
  CHECK(edge_cloud::check_served(asked, served).code == specverify::errc::invalid_truncation);
  served.truncation.top_k = 40;
  CHECK(edge_cloud::check_served(asked, served).code == specverify::errc::invalid_truncation);  // in another order
  served.truncation.order = asked.truncation.order;
  CHECK(edge_cloud::check_served(asked, served).ok());
  for (double specverify::row_truncation::*share :
       {&specverify::row_truncation::top_p, &specverify::row_truncation::min_p}) {
    specverify::row_transform other = asked;
    other.truncation.*share = 0.5;
    CHECK(edge_cloud::check_served(other, served).code == specverify::errc::invalid_truncation);
  }
}
