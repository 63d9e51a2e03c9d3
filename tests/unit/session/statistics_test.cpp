// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/session/statistics.hpp>

#include <ratio>
#include <set>
#include <string>
#include <type_traits>

using namespace specverify;

TEST_CASE("OBS-4 statistics: merged by addition, in any order") {
  static_assert(std::is_trivially_copyable_v<session_statistics>);
  session_statistics a, b;
  std::uint64_t next = 1;
  std::set<std::string> names;
  for_each_counter(a, [&](const char* name, std::uint64_t& counter) {
    counter = next++;
    names.insert(name);
  });
  CHECK(names.size() == next - 1);
  // Every counter but the two arrays and the maximum is visited: nothing else stands in the struct.
  CHECK(sizeof(session_statistics) == 8 * (names.size() + 2 * statistics_positions + 1));
  for_each_counter(b, [&](const char*, std::uint64_t& counter) { counter = 100 * next++; });
  a.accepted_at[3] = 5;
  b.accepted_at[3] = 6;
  a.largest_score = 7;
  b.largest_score = 4;
  session_statistics left = a, right = b;
  merge(left, b);
  merge(right, a);
  CHECK(left == right);
  CHECK(left.accepted_at[3] == 11);
  CHECK(left.largest_score == 7);
  CHECK(left.rounds == a.rounds + b.rounds);
  CHECK(left.rollbacks == a.rollbacks + b.rollbacks);
}

TEST_CASE("OBS-1 OBS-2 statistics: counted per position, accepted <= evaluated <= drafted") {
  session_statistics s;
  count_drafts(s, 4, 1, 0);
  count_drafts(s, 4, 4, 4);
  count_drafts(s, 40, 40, 39);
  CHECK(s.rounds == 3);
  CHECK(s.drafted == 48);
  CHECK(s.evaluated == 45);
  CHECK(s.accepted == 43);
  CHECK(s.evaluated_at[0] == 3);
  CHECK(s.accepted_at[0] == 2);
  CHECK(s.evaluated_at[statistics_positions - 1] == 40 - statistics_positions + 1);
  CHECK(s.accepted_at[statistics_positions - 1] == 40 - statistics_positions);
  std::uint64_t sum = 0;
  for (const std::uint64_t at : s.evaluated_at) sum += at;
  CHECK(sum == s.evaluated);
  CHECK(acceptance_at(s, 0) == doctest::Approx(2.0 / 3));
  CHECK(acceptance_at(s, 1000) == 0.0);
}

TEST_CASE("COR-11 statistics: scores are kept to 2^-33 and told as numbers") {
  session_statistics s;
  CHECK(spent_score(s) == 0.0);
  CHECK(largest_spent_score(s) == 0.0);
  for (const double score : {0.25, 0.75, 0.1}) {
    s.accepted_scores += score_units(score);
    if (score_units(score) > s.largest_score) s.largest_score = score_units(score);
  }
  CHECK(spent_score(s) == doctest::Approx(1.1).epsilon(1e-9));
  CHECK(largest_spent_score(s) == 0.75);
  CHECK(score_units(1.0) == std::uint64_t{1} << 32);
}

TEST_CASE("OBS-1 statistics: a ratio of nothing is 0") {
  const session_statistics s;
  CHECK(acceptance_per_drafted(s) == 0.0);
  CHECK(acceptance_per_evaluated(s) == 0.0);
  CHECK(accepted_per_round(s) == 0.0);
  CHECK(tokens_per_round(s) == 0.0);
  CHECK(uplink_bits_per_token(s) == 0.0);
  CHECK(bytes_per_accepted_token(s) == 0.0);
}

TEST_CASE("statistics: beside the names of std, ratio is that of std") {
  using namespace std;
  static_assert(ratio<3, 6>::den == 2);
}
