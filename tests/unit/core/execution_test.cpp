// SPDX-License-Identifier: Apache-2.0
#include <specverify/core/execution.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace {

// An operation with a vector version and one without.
struct level {};
constexpr int both(specverify::exec::seq_policy) { return 1; }
template <class Level>
constexpr int both(specverify::exec::simd_on<Level>) {
  return 2;
}
constexpr int scalar_only(specverify::exec::seq_policy) { return 1; }

}  // namespace

TEST_CASE("simd picks the vector version and falls back to the scalar one") {
  static_assert(both(specverify::exec::seq) == 1);
  static_assert(both(specverify::exec::simd) == 2);
  static_assert(both(specverify::exec::simd_on<level>{}) == 2);
  static_assert(scalar_only(specverify::exec::simd) == 1);
}

TEST_CASE("what is an execution policy") {
  static_assert(specverify::execution_policy<specverify::exec::seq_policy>);
  static_assert(specverify::execution_policy<specverify::exec::simd_policy>);
  static_assert(specverify::execution_policy<specverify::exec::simd_on<level>>);
  static_assert(!specverify::execution_policy<int>);
  static_assert(!std::is_same_v<specverify::exec::simd_policy, specverify::exec::simd_on<level>>);
}
