// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/session/options.hpp>

#include <type_traits>

namespace sv = specverify;

TEST_CASE("session options: what is not said is the session of the papers") {
  const sv::edge_options edge;
  const sv::cloud_options cloud;
  static_assert(std::is_aggregate_v<sv::edge_options> && std::is_aggregate_v<sv::cloud_options>);
  CHECK(edge.mode == sv::session_mode::draft);
  CHECK(edge.rule == sv::wire_rule::token);
  CHECK(edge.bonus);
  CHECK_FALSE(edge.draw_from_row);
  CHECK(edge.retry_timeout == 0);
  CHECK(edge.on_link_loss == sv::link_loss::wait);
  CHECK(edge.check_bits == sv::automatic_check);
  CHECK(cloud.check_bits == sv::automatic_check);
  CHECK(cloud.required == sv::guarantee::lossy);
  CHECK_FALSE(cloud.lazy);
  // what nobody set does not work
  CHECK((edge.secret.is_missing() && cloud.secret.is_missing() && cloud.salt == 0));
  static_assert(std::is_same_v<decltype(edge.secret), sv::session_secret>);
  // both sides let the text grow alike
  CHECK(edge.max_text_length == cloud.max_text_length);
  CHECK(edge.text_chunk == cloud.text_chunk);
}
