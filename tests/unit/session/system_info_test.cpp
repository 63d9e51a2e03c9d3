// SPDX-License-Identifier: Apache-2.0
#include <specverify/session/system_info.hpp>

#include <doctest/doctest.h>

using namespace specverify;

TEST_CASE("system names: hyphens and underscores do not count") {
  CHECK(same_name("k-sqs", "k_sqs"));
  CHECK(same_name("ksqs", "k-sqs"));
  CHECK(same_name("-k--sqs_", "ksqs"));
  CHECK_FALSE(same_name("k-sqs", "k-sq"));
  CHECK_FALSE(same_name("k-sq", "k-sqs"));
  CHECK_FALSE(same_name("k-sqs", "K-SQS"));
  CHECK_FALSE(same_name("", "qs"));
}

TEST_CASE("systems: a setting from a text") {
  CHECK(setting_from("support_size=32")->name == "support_size");
  CHECK(setting_from("support_size=32")->value == 32);
  CHECK(setting_from("target=5e-4")->value == 5e-4);
  CHECK(setting_from("gamma=-1.5")->value == -1.5);
  for (const char* wrong : {"", "=", "=3", "resolution", "resolution=", "resolution=x", "resolution= 3", "a=1,2"})
    CHECK(setting_from(wrong).error() == status{errc::invalid_argument, part::session, 0});
}
