// SPDX-License-Identifier: Apache-2.0
// Random schedules: datagrams are lost, copied at any age, late and damaged; either side is killed at any time. What
// arrives is what was sent, in order and once, within one incarnation; and when the faults end, everything arrives.
#include <doctest/doctest.h>

#include <specverify/delivery/delivery.hpp>

#include <cstdlib>
#include <random>
#include <vector>

using namespace specverify;

namespace {

using bytes = std::vector<std::byte>;

struct faults {
  double lost = 0, copied = 0, damaged = 0, killed = 0;
  bool late = false;   // datagrams overtake one another
  bool timers = true;  // without: nothing is lost, and nobody asks again
  std::uint8_t check_bytes = 4;
};

//! A message names the life and the incarnation that it was sent in, and its place there.
struct name {
  std::uint32_t life = 0, incarnation = 0, place = 0;
  [[nodiscard]] bytes message(std::size_t size) const {
    bytes made(size, std::byte{0x5a});
    numeric::store_le(made.data(), life, 4);
    numeric::store_le(made.data() + 4, incarnation, 4);
    numeric::store_le(made.data() + 8, place, 4);
    return made;
  }
};
name name_of(std::span<const std::byte> message) {
  const auto word = [&](std::size_t at) {
    return static_cast<std::uint32_t>(numeric::load_le(message.data() + at, 4));
  };
  return {word(0), word(4), word(8)};
}

struct side {
  delivery_side which;
  std::optional<delivery> at;
  std::uint32_t life = 0, sent = 0;
  std::uint64_t of = 0;  // incarnations that it counted
  name next{};           // the message that must come
  bool any = false;      // one came in this incarnation
  std::vector<bytes> on_the_way{}, ever{};
  delivery_statistics before{};  // of earlier lives
};

class world {
 public:
  world(std::uint32_t seed, const faults& with) : rng_(seed), with_(with) {
    begin(client_);
    begin(server_);
    client_.at->open(now_);
    drain(client_);
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }
  //! No more faults: what was sent in the incarnation that stands at the end arrives.
  void settle() {
    with_.lost = with_.copied = with_.damaged = with_.killed = 0;
    const auto reached = [&] {
      return client_.at->is_open() && server_.at->is_open() && pending(client_) == 0 && pending(server_) == 0;
    };
    for (int i = 0; i < 4000 && !(reached() && last_said_); ++i) {
      if (client_.at->is_closed()) open();
      if (!last_said_ && client_.at->is_open()) last_said_ = say(client_);
      if (!last_said_ || client_.at->is_closed()) last_said_ = false;
      if (deliver(server_, client_) || deliver(client_, server_)) continue;
      if (with_.timers) tick(1000);
    }
    CHECK(reached());
    const delivery_statistics a = all(client_), b = all(server_);
    const std::uint64_t there = a.received + b.received + client_.on_the_way.size() + server_.on_the_way.size();
    CHECK(a.sent + b.sent + copies - losses == there);
    for (const delivery_statistics& s : {a, b}) {
      CHECK(s.received ==
            s.messages_received + s.acknowledgements + s.control + s.copies + s.early + s.late + s.damaged);
    }
  }

  std::uint64_t copies = 0, losses = 0, damages = 0, kills = 0, messages = 0, lost_incarnations = 0;

 private:
  [[nodiscard]] bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(rng_) < p; }
  [[nodiscard]] std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(rng_);
  }

  void begin(side& s) {
    if (s.at) add(s.before, s.at->statistics());
    delivery_options options;
    options.side = s.which;
    options.salt = 1 + (std::uint64_t{rng_()} << 32 | rng_());
    options.max_message_bytes = 64;
    options.check_bytes = with_.check_bytes;
    options.retry_timeout = with_.timers ? 1000 : 0;
    options.retry_limit = 12;
    auto made = delivery::make(options);
    REQUIRE(made.ok());
    s.at.emplace(*std::move(made));
    ++s.life;
    s.of = 0;
    s.sent = 0;
    s.any = false;
  }
  void open() {
    lost_incarnations += client_.of > 0 ? 1 : 0;
    client_.at->open(now_);
    client_.sent = 0;
    drain(client_);
  }
  //! A new incarnation forgets what was sent and what was expected.
  void note(side& s) {
    if (s.at->statistics().incarnations == s.of) return;
    s.of = s.at->statistics().incarnations;
    s.any = false;
    if (s.which == delivery_side::server) s.sent = 0;
  }
  void drain(side& from) {
    side& to = from.which == delivery_side::client ? server_ : client_;
    for (auto next = from.at->next_datagram(); !next.empty(); next = from.at->next_datagram()) {
      to.on_the_way.emplace_back(next.begin(), next.end());
      to.ever.emplace_back(next.begin(), next.end());
    }
  }
  [[nodiscard]] std::uint64_t pending(side& s) { return s.sent - std::min<std::uint64_t>(s.sent, arrived_of(s)); }
  [[nodiscard]] std::uint64_t arrived_of(side& s) {
    side& to = s.which == delivery_side::client ? server_ : client_;
    return to.any && to.next.life == s.life ? to.next.place : 0;
  }
  bool say(side& s) {
    const std::uint32_t which = s.which == delivery_side::client
                                    ? static_cast<std::uint32_t>(s.of + (s.at->is_open() ? 0 : 1))
                                    : static_cast<std::uint32_t>(s.of);
    const bool sent = s.at->send(name{s.life, which, s.sent}.message(12 + pick(52)), now_).ok();
    s.sent += sent ? 1u : 0u;
    drain(s);
    return sent;
  }
  //! One datagram to `to`; false: none is on the way.
  bool deliver(side& to, side&) {
    if (to.on_the_way.empty()) return false;
    const std::size_t which = with_.late ? pick(to.on_the_way.size()) : 0;
    bytes datagram = to.on_the_way[which];
    to.on_the_way.erase(to.on_the_way.begin() + static_cast<std::ptrdiff_t>(which));
    if (chance(with_.lost)) {
      ++losses;
      return true;
    }
    if (chance(with_.damaged)) {
      ++damages;
      datagram[pick(datagram.size())] ^= static_cast<std::byte>(1u << pick(8));
      if (chance(0.2)) datagram.resize(pick(datagram.size() + 1));
    }
    receive(to, datagram);
    return true;
  }
  void receive(side& to, const bytes& datagram) {
    const auto heard = to.at->receive(datagram, now_);
    note(to);
    if (heard.ok() && !heard->empty()) {
      ++messages;
      const name got = name_of(*heard);
      REQUIRE(heard->size() >= 12);
      if (!to.any) {
        const bool newer =
            got.life > to.next.life || (got.life == to.next.life && got.incarnation >= to.next.incarnation);
        CHECK(newer);
        CHECK(got.place == 0);
        to.next = {got.life, got.incarnation, 0};
        to.any = true;
      }
      CHECK(got.life == to.next.life);
      CHECK(got.incarnation == to.next.incarnation);
      CHECK(got.place == to.next.place);
      to.next.place += 1;
    }
    drain(to);
  }
  void tick(std::uint64_t by) {
    now_ += by;
    (void)client_.at->tick(now_);
    drain(client_);
  }
  void step() {
    side& s = chance(0.5) ? client_ : server_;
    side& other = &s == &client_ ? server_ : client_;
    if (client_.at->is_closed()) open();
    if (chance(with_.killed)) {
      ++kills;
      begin(s);
      if (&s == &client_) open();
      return;
    }
    if (chance(with_.copied) && !s.ever.empty()) {
      ++copies;
      receive(s, s.ever[pick(s.ever.size())]);
      return;
    }
    if (chance(0.25)) {
      (void)say(s);
    } else if (with_.timers && chance(0.1)) {
      tick(pick(1500));
    } else {
      (void)deliver(s, other);
    }
  }
  static void add(delivery_statistics& into, const delivery_statistics& s) {
    into.sent += s.sent, into.received += s.received, into.messages_received += s.messages_received;
    into.acknowledgements += s.acknowledgements, into.control += s.control, into.copies += s.copies;
    into.early += s.early, into.late += s.late, into.damaged += s.damaged;
  }
  [[nodiscard]] static delivery_statistics all(const side& s) {
    delivery_statistics made = s.before;
    add(made, s.at->statistics());
    return made;
  }

  std::mt19937 rng_;
  faults with_;
  side client_{delivery_side::client, {}}, server_{delivery_side::server, {}};
  std::uint64_t now_ = 0;
  bool last_said_ = false;
};

int schedules(int usual) { return std::getenv("SPECVERIFY_LONG") != nullptr ? 100 * usual : usual; }

void check(const faults& with, int count) {
  std::uint64_t messages = 0, kills = 0, losses = 0, copies = 0, damages = 0, lost = 0;
  for (int seed = 0; seed < schedules(count); ++seed) {
    CAPTURE(seed);
    world w(static_cast<std::uint32_t>(seed), with);
    w.run(300);
    w.settle();
    messages += w.messages, kills += w.kills, losses += w.losses, copies += w.copies, damages += w.damages;
    lost += w.lost_incarnations;
    if (doctest::getContextOptions()->currentTest != nullptr && seed > 5 && messages == 0) break;
  }
  MESSAGE(messages, " messages; ", kills, " kills, ", losses, " lost, ", copies, " copies, ", damages, " damaged, ",
          lost, " incarnations lost");
  CHECK(messages > 0);
}

}  // namespace

TEST_CASE("delivery: datagrams that are lost, copied, late and damaged") {
  check({.lost = 0.1, .copied = 0.1, .damaged = 0.1, .killed = 0.01, .late = true}, 300);
}
TEST_CASE("delivery: three in ten lost, and three in ten damaged") {
  check({.lost = 0.3, .damaged = 0.3, .killed = 0.002, .late = true}, 200);
}
TEST_CASE("delivery: no faults but kills") { check({.killed = 0.02}, 200); }
TEST_CASE("delivery: a transport without timers that copies and loses nothing") {
  check({.copied = 0.2, .killed = 0.02, .late = true, .timers = false}, 300);
}
