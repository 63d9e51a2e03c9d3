// SPDX-License-Identifier: Apache-2.0
//! A verdict with the status of its call, for tests of both. If there is no verdict, the fields have defaults.
#ifndef SPECVERIFY_TESTS_SUPPORT_STATED_VERDICT_HPP
#define SPECVERIFY_TESTS_SUPPORT_STATED_VERDICT_HPP

#include <specverify/core/status.hpp>
#include <specverify/verify/verdict.hpp>

namespace specverify_test {

struct stated_verdict : specverify::verdict {
  stated_verdict() = default;
  stated_verdict(const specverify::result<specverify::verdict>& made)
      : specverify::verdict(made.ok() ? made.value() : specverify::verdict{}), state(made.error()) {}
  stated_verdict(specverify::status why) : state(why) {}

  specverify::status state{};
};

}  // namespace specverify_test

#endif
