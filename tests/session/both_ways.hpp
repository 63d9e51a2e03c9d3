// SPDX-License-Identifier: Apache-2.0
//! A pair whose messages are delivered in both directions until none is in flight. Then deadlines pass.
#ifndef SPECVERIFY_SESSION_BOTH_WAYS_HPP
#define SPECVERIFY_SESSION_BOTH_WAYS_HPP

#include <unit/session/pair.hpp>

#include <algorithm>
#include <deque>
#include <functional>

namespace specverify_test {

//! Messages of both directions, in order. `copies` returns how many copies of a message arrive (0: it is lost), and may
//! change the message.
struct wire {
  pair& p;
  std::function<int(bytes&, bool upward)> copies = [](bytes&, bool) { return 1; };
  std::function<void(int step)> before = [](int) {};  // before each message is delivered
  std::deque<bytes> up{}, down{};
  int ticks = 0;  // deadlines that have passed

  void take(std::vector<bytes> sent, std::deque<bytes>& way) {
    for (bytes& message : sent) {
      for (int i = copies(message, &way == &up); i > 0; --i) way.push_back(message);
    }
  }
  [[nodiscard]] bool over() const {
    return p.edge->state() == sv::edge_state::finished || p.edge->state() == sv::edge_state::failed;
  }
  //! Runs until no message is in flight and no deadline is left, or until one more than `deadlines` would pass.
  void run(int deadlines = 40) {
    take(p.run_edge(), up);
    for (int steps = 0; steps < 2000; ++steps) {
      before(steps);
      take(p.run_edge(), up);
      if (!up.empty()) {
        const bytes message = up.front();
        up.pop_front();
        (void)p.cloud->receive(message, p.now);
        take(p.run_cloud(), down);
      } else if (!down.empty()) {
        const bytes message = down.front();
        down.pop_front();
        (void)p.edge->receive(message, p.now);
        take(p.run_edge(), up);
      } else {
        if (over() || !p.edge->deadline().has_value() || ticks == deadlines) return;
        ++ticks;
        p.now = std::max(p.now, *p.edge->deadline());
        (void)p.edge->tick(p.now);
        take(p.run_edge(), up);
      }
    }
  }
};

inline std::vector<token_id> cloud_text(const pair& p) { return {p.cloud->text().begin(), p.cloud->text().end()}; }

}  // namespace specverify_test

#endif
