// SPDX-License-Identifier: Apache-2.0
//! An edge and a cloud without timers (retry_timeout = 0): what the tests of lives and of crossing messages share.
#ifndef SPECVERIFY_TESTS_SESSION_WITHOUT_TIMERS_HPP
#define SPECVERIFY_TESTS_SESSION_WITHOUT_TIMERS_HPP

#include <unit/session/pair.hpp>

#include <deque>
#include <utility>
#include <vector>

namespace specverify_test {

inline pair_options without_timers() {
  pair_options o;
  o.timeout = 0;
  return o;
}

inline bytes to_first_draft(pair& p) { return p.exchange(p.exchange(p.start())); }

//! Hands over what is under way, after what the edge has asked, until nothing is. Returns how many questions that took.
inline int go_on(pair& p, std::deque<bytes> asked = {}) {
  int questions = 0;
  for (bytes& question : p.run_edge()) asked.push_back(std::move(question));
  for (; questions < 400 && !asked.empty(); ++questions) {
    (void)p.cloud->receive(asked.front(), p.now);
    asked.pop_front();
    for (const bytes& answer : p.run_cloud()) {
      (void)p.edge->receive(answer, p.now);
      for (bytes& question : p.run_edge()) asked.push_back(std::move(question));
    }
  }
  return questions;
}

inline std::vector<token_id> whole_text(const pair_options& o = without_timers()) {
  pair p(o);
  REQUIRE(p.edge->start(std::vector<token_id>{4, 5, 6}, p.now).ok());
  (void)go_on(p);
  REQUIRE(p.edge->state() == sv::edge_state::finished);
  return p.text();
}

}  // namespace specverify_test

#endif
