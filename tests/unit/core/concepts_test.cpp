// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/concepts.hpp>

#include <doctest/doctest.h>

namespace {

using specverify::random_block;
using specverify::random_counter;
using specverify::uniform_source;

struct pure {
  random_block operator()(random_counter) const noexcept { return {}; }
};
struct with_state {
  random_block operator()(random_counter) noexcept { return {}; }
};
struct may_throw {
  random_block operator()(random_counter) const { return {}; }
};
struct next_only {
  random_block operator()() const noexcept { return {}; }
};

}  // namespace

TEST_CASE("a uniform source is a pure map from counters") {
  static_assert(uniform_source<specverify::philox>);
  static_assert(uniform_source<pure>);
  static_assert(!uniform_source<with_state>);
  static_assert(!uniform_source<may_throw>);
  static_assert(!uniform_source<next_only>);
}
