// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <specverify/delivery/delivery.hpp>

#include <array>

using namespace specverify;

TEST_CASE("delivery options: what make refuses") {
  const auto why = [](auto change) {
    delivery_options options;
    options.salt = 7;
    change(options);
    return delivery::make(options).error();
  };
  using options = delivery_options;
  CHECK(why([](options&) {}).ok());
  CHECK(why([](options& o) { o.salt = 0; }) == status{errc::salt_missing, part::host, options::at_salt});
  CHECK(why([](options& o) { o.max_message_bytes = 0; }) ==
        status{errc::invalid_argument, part::host, options::at_max_message_bytes});
  for (const std::uint8_t wrong : std::array<std::uint8_t, 4>{1, 3, 5, 6}) {
    CHECK(why([wrong](options& o) { o.check_bytes = wrong; }) ==
          status{errc::invalid_argument, part::host, options::at_check_bytes});
  }
  CHECK(why([](options& o) { o.retry_limit = 0; }) ==
        status{errc::invalid_argument, part::host, options::at_retry_limit});
}
