// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/session/output.hpp>

#include <set>
#include <string>
#include <type_traits>

using namespace specverify;

TEST_CASE("session_output: a plain value whose actions have names of their own") {
  static_assert(std::is_trivially_copyable_v<session_output>);
  CHECK(session_output{}.action == session_action::none);
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(session_action::failed); ++i)
    names.insert(name(static_cast<session_action>(i)));
  CHECK(names.size() == static_cast<std::size_t>(session_action::failed) + 1);
  CHECK(names.count("unknown") == 0);
  CHECK(std::string(name(static_cast<session_action>(200))) == "unknown");
}
