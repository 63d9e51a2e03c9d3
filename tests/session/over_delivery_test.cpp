// SPDX-License-Identifier: Apache-2.0
// Sessions without timers over delivery, while datagrams are lost, copied at any age, late and damaged, and either side
// is killed: the text is that of a run without faults, and a session hears of no fault that kills nobody.
#include <specverify/delivery/delivery.hpp>

#include <session/without_timers.hpp>

#include <cstdlib>
#include <deque>
#include <utility>
#include <vector>

using namespace specverify;
using namespace specverify_test;

namespace {

struct fault_chances {
  double lost = 0, copied = 0, damaged = 0, killed = 0;
  bool late = true;  // datagrams overtake one another
};

struct fault_counts {
  std::uint64_t lost = 0, copied = 0, damaged = 0, kills = 0, links_lost = 0;
};

//! One side's delivery, what its session has said, and what is on the way to it.
struct endpoint {
  delivery at;
  std::deque<bytes> said{};
  std::vector<bytes> on_the_way{}, ever{};
  std::uint64_t incarnations = 0;
  delivery_statistics before{};  // of earlier lives
};

void add(delivery_statistics& into, const delivery_statistics& from) {
  for (const auto counter :
       {&delivery_statistics::sent, &delivery_statistics::received, &delivery_statistics::messages_received,
        &delivery_statistics::acknowledgements, &delivery_statistics::control, &delivery_statistics::copies,
        &delivery_statistics::early, &delivery_statistics::late, &delivery_statistics::damaged})
    into.*counter += from.*counter;
}

class schedule {
 public:
  fault_counts counts{};

  schedule(std::uint64_t seed, const pair_options& with, const fault_chances& chances)
      : p(with), dice_(seed), chances_(chances) {
    REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
    edge_.at.open(p.now);
    run();
  }

  //! Until the edge has the cloud's answer to its stop.
  void finish() {
    for (int steps = 0; steps < 20000 && p.edge->state() != edge_state::finished; ++steps) step();
    REQUIRE(p.edge->state() == edge_state::finished);
    CHECK_FALSE(p.edge_failure.has_value());
    CHECK_FALSE(p.cloud_failure.has_value());
  }
  //! Each datagram was counted once, and a session counted none of the faults.
  void reconcile() {
    delivery_statistics all;
    for (endpoint* side : {&edge_, &cloud_}) add(side->before, side->at.statistics()), add(all, side->before);
    const std::uint64_t on_the_way = edge_.on_the_way.size() + cloud_.on_the_way.size();
    CHECK(all.sent + counts.copied == all.received + counts.lost + on_the_way);
    CHECK(all.received ==
          all.messages_received + all.acknowledgements + all.control + all.copies + all.early + all.late + all.damaged);
    CHECK(all.damaged >= counts.damaged);
    if (!chances_.late) CHECK(all.damaged == counts.damaged);
    if (counts.links_lost + counts.kills > 0) return;
    for (const session_statistics& s : {p.edge->statistics(), p.cloud->statistics()})
      CHECK(s.duplicates + s.stale + s.corrupt + s.truncated + s.timeouts == 0);
  }

  specverify_test::pair p;

 private:
  [[nodiscard]] static delivery made(delivery_side side, std::uint64_t salt) {
    delivery_options o;
    o.side = side;
    o.salt = salt;
    o.max_message_bytes = 4096;
    o.retry_timeout = 1000;
    return *delivery::make(o);
  }
  void kill(endpoint& side) {
    ++counts.kills;
    add(side.before, side.at.statistics());
    side.at = made(&side == &edge_ ? delivery_side::client : delivery_side::server, ++salts_);
    side.incarnations = 0;
    side.said.clear();
    if (&side == &edge_) {
      p.new_edge();
      REQUIRE(p.edge->restore(p.edge_journal, p.now).ok());
      edge_.at.open(p.now);
    } else {
      p.new_cloud();
      if (!p.cloud_journal.empty()) REQUIRE(p.cloud->restore(p.cloud_journal).ok());
    }
  }
  void link_is_lost() {
    ++counts.links_lost;
    edge_.said.clear();
    edge_.at.open(p.now);
    REQUIRE(p.edge->reconnect(p.now).ok());
  }
  //! What the sessions say goes to delivery, and its datagrams go out.
  void run() {
    for (bytes& message : p.run_edge()) edge_.said.push_back(std::move(message));
    for (bytes& message : p.run_cloud()) cloud_.said.push_back(std::move(message));
    for (endpoint* side : {&edge_, &cloud_}) {
      while (!side->said.empty() && side->at.send(side->said.front(), p.now).ok()) side->said.pop_front();
      endpoint& to = side == &edge_ ? cloud_ : edge_;
      for (auto next = side->at.next_datagram(); !next.empty(); next = side->at.next_datagram()) {
        to.on_the_way.emplace_back(next.begin(), next.end());
        to.ever.push_back(to.on_the_way.back());
      }
    }
  }
  void receive(endpoint& side, const bytes& datagram) {
    const auto heard = side.at.receive(datagram, p.now);
    if (side.at.statistics().incarnations != side.incarnations) {
      side.incarnations = side.at.statistics().incarnations;
      if (&side == &cloud_) side.said.clear();  // it was said to another one
    }
    if (!heard && heard.error().code == errc::link_lost) return link_is_lost();
    if (!heard || heard->empty()) return;
    if (&side == &edge_) (void)p.edge->receive(*heard, p.now);
    if (&side == &cloud_) (void)p.cloud->receive(*heard, p.now);
  }
  void deliver(endpoint& side) {
    const auto which = static_cast<std::ptrdiff_t>(chances_.late ? dice_.below(side.on_the_way.size()) : 0);
    bytes datagram = std::move(side.on_the_way[static_cast<std::size_t>(which)]);
    side.on_the_way.erase(side.on_the_way.begin() + which);
    if (dice_.chance(chances_.lost)) {
      ++counts.lost;
      return;
    }
    if (dice_.chance(chances_.damaged)) {
      ++counts.damaged;
      datagram[dice_.below(datagram.size())] ^= static_cast<std::byte>(1u << dice_.below(8));
    }
    receive(side, datagram);
  }
  void step() {
    endpoint& side = dice_.chance(0.5) ? edge_ : cloud_;
    if (dice_.chance(chances_.killed)) {
      kill(side);
    } else if (dice_.chance(chances_.copied) && !side.ever.empty()) {
      ++counts.copied;
      receive(side, side.ever[dice_.below(side.ever.size())]);
    } else if (!side.on_the_way.empty()) {
      deliver(side);
    } else if (dice_.chance(0.2)) {
      p.now += dice_.below(1500);
      if (!edge_.at.tick(p.now).ok()) link_is_lost();
    }
    run();
  }

  dice dice_;
  fault_chances chances_;
  std::uint64_t salts_ = 2;
  endpoint edge_{made(delivery_side::client, 1)}, cloud_{made(delivery_side::server, 2)};
};

void check(const pair_options& with, const fault_chances& chances) {
  const std::vector<token_id> expected = whole_text(with);
  fault_counts all;
  const std::uint64_t count = std::getenv("SPECVERIFY_LONG") != nullptr ? 5000 : 50;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    schedule s(seed, with, chances);
    s.finish();
    s.reconcile();
    CHECK(s.p.text() == expected);
    CHECK(std::vector<token_id>(s.p.cloud->text().begin(), s.p.cloud->text().end()) == expected);
    for (const auto counter : {&fault_counts::lost, &fault_counts::copied, &fault_counts::damaged, &fault_counts::kills,
                               &fault_counts::links_lost})
      all.*counter += s.counts.*counter;
  }
  MESSAGE(count, " schedules: ", all.lost, " datagrams lost, ", all.copied, " copied, ", all.damaged, " damaged; ",
          all.kills, " kills, ", all.links_lost, " links lost");
}

//! Drafts, a stream, drafts with hidden states.
std::vector<pair_options> systems() {
  std::vector<pair_options> made(3, without_timers());
  made[1].mode = session_mode::stream;
  made[2].rule = wire_rule::semantic;
  made[2].format = law_format::token_only;
  made[2].attachments.hidden = hidden_format::int8;
  made[2].attachments.hidden_size = 6;
  return made;
}

}  // namespace

TEST_CASE("NET-5 over delivery: a session hears nothing of datagrams that are lost, late and damaged") {
  for (const pair_options& with : systems()) {
    check(with, {.lost = 0.1, .damaged = 0.1, .late = false});
    check(with, {.lost = 0.1, .copied = 0.1, .damaged = 0.3});
  }
}

TEST_CASE("NET-5 over delivery: either side is killed at any time") {
  for (const pair_options& with : systems()) check(with, {.lost = 0.1, .copied = 0.1, .damaged = 0.1, .killed = 0.01});
}
