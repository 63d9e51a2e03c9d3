// SPDX-License-Identifier: Apache-2.0
// Sessions of the fuzz target against a peer that lies consistently, device or cloud. Whatever the peer makes a side
// write to the journal, that side must take the journal back. 2 000 sessions, or 100 000 if SPECVERIFY_LONG=1.
#include <doctest/doctest.h>

#include "fuzz/session_body.hpp"

#include <cstdlib>
#include <map>
#include <string>

namespace {

using namespace specverify_fuzz;

//! Makes a script of whole questions and answers between lies, deadlines and restarts. Bit 0 of a step chooses the
//! receiver.
std::vector<std::byte> script_of(specverify_test::dice& dice) {
  std::vector<std::byte> script{static_cast<std::byte>(dice.next()), static_cast<std::byte>(dice.next())};
  const auto add = [&](unsigned step, std::size_t more) {
    script.push_back(static_cast<std::byte>(step));
    for (; more > 0; --more) script.push_back(static_cast<std::byte>(dice.next()));
  };
  constexpr unsigned to_cloud = 0, to_edge = 1, lie = 2 * 6, deadline = 2 * 8, restart = 2 * 9;
  for (std::uint64_t steps = 10 + dice.below(60); steps > 0; --steps) {
    const auto side = static_cast<unsigned>(dice.below(2));
    switch (dice.below(8)) {
      case 0:
        add(deadline, 0);
        break;
      case 1:
        add(restart | side, 0);
        break;
      case 2:
      case 3:
        add(lie | side, bytes_of_a_lie);
        break;
      default:
        add(to_cloud, 0);
        add(to_edge, 0);
        break;
    }
  }
  add(restart | to_cloud, 0);
  add(restart | to_edge, 0);
  return script;
}

}  // namespace

TEST_CASE("SEC-1 session: no side refuses its own journal against a peer that lies consistently") {
  const int sessions = std::getenv("SPECVERIFY_LONG") != nullptr ? 100000 : 2000;
  specverify_test::dice dice(21);
  std::map<std::string, int> refused;
  std::uint64_t lives = 0;
  for (int i = 0; i < sessions; ++i) {
    session_run(script_of(dice), [&](const auto& script) {
      if (const status why = script.refused_by_edge(); !why.ok()) ++refused[std::string("edge: ") + name(why.code)];
      if (const status why = script.refused_by_cloud(); !why.ok()) ++refused[std::string("cloud: ") + name(why.code)];
      lives += script.lives();
    });
  }
  std::string seen;
  for (const auto& [why, number] : refused) seen += why + " " + std::to_string(number) + "; ";
  INFO("refused by ", seen);
  CHECK(refused.size() == 0);
  CHECK(lives > 4 * static_cast<std::uint64_t>(sessions));
}
