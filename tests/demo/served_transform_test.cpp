// SPDX-License-Identifier: Apache-2.0
#include "edge_cloud/served_transform.hpp"

#include <doctest/doctest.h>

using specverify::errc;
using specverify::row_transform;

TEST_CASE("demo: a cloud serves the temperature and the truncation that it has, and refuses others by name") {
  row_transform served, asked;
  served.temperature = asked.temperature = 0.5;
  CHECK(edge_cloud::check_served(asked, served).ok());
  asked.truncation.order = specverify::truncation_order::joint;  // of no truncation
  CHECK(edge_cloud::check_served(asked, served).ok());
  asked.temperature = 0.75;
  CHECK(edge_cloud::check_served(asked, served).code == errc::invalid_temperature);
  asked.temperature = 0.5;
  asked.truncation.top_k = 40;
  CHECK(edge_cloud::check_served(asked, served).code == errc::invalid_truncation);
  served.truncation.top_k = 40;
  CHECK(edge_cloud::check_served(asked, served).code == errc::invalid_truncation);  // in another order
  served.truncation.order = asked.truncation.order;
  CHECK(edge_cloud::check_served(asked, served).ok());
  for (double specverify::row_truncation::*share :
       {&specverify::row_truncation::top_p, &specverify::row_truncation::min_p}) {
    row_transform other = asked;
    other.truncation.*share = 0.5;
    CHECK(edge_cloud::check_served(other, served).code == errc::invalid_truncation);
  }
}
