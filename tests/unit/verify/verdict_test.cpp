// SPDX-License-Identifier: Apache-2.0
#include <specverify/verify/verdict.hpp>

#include <doctest/doctest.h>

#include <array>
#include <type_traits>

namespace sv = specverify;

TEST_CASE("verdict: a fresh verdict commits nothing") {
  static_assert(std::is_trivially_copyable_v<sv::verdict>);
  constexpr sv::verdict fresh;
  static_assert(fresh.commit_length == 0 && fresh.next_token == sv::no_token);
  CHECK(fresh.outcome == sv::verdict_outcome::decided);
  CHECK(fresh.source == sv::token_source::none);
  CHECK(fresh.stop == sv::stop_reason::none);
}

TEST_CASE("verdict: stop tokens are found wherever they stand") {
  constexpr std::array<sv::token_id, 3> stops{5, 0, 9};
  static_assert(sv::is_stop(stops, 0) && sv::is_stop(stops, 9) && !sv::is_stop(stops, 1));
  CHECK_FALSE(sv::is_stop({}, 0));
}

TEST_CASE("verdict: a request asks for no more than it says") {
  const sv::verify_request request;
  CHECK(request.remaining_budget == 0xFFFFFFFFu);
  CHECK(request.stop_tokens.empty());
  CHECK(request.log_probabilities.empty());
}
