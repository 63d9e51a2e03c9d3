// SPDX-License-Identifier: Apache-2.0
// The laws of what Thrust draws, accepts and commits.
#include <specverify/device/accept.hpp>
#include <specverify/device/residual.hpp>
#include <specverify/device/sample.hpp>
#include <specverify/device/verify.hpp>

#include <thrust/system/cpp/execution_policy.h>

#include "thrust_support.hpp"

#include <device/laws.hpp>

using namespace device_tests;

namespace {

//! A key whose numbers are those of a script.
struct key_of_script {
  const scripted_source* script = nullptr;
  friend random_block random_at(key_of_script key, random_counter counter) noexcept { return (*key.script)(counter); }
};

//! Nothing watches what Thrust reads and writes.
struct unwatched {
  template <class T>
  void input(const T*, std::size_t) {}
  template <class T>
  void output(T*, std::size_t) {}
  [[nodiscard]] std::string report() const { return {}; }
};

//! In one thread: rows are few and short, calls are many, and results do not depend on the system.
struct with_thrust {
  using key = key_of_script;
  using memory = unwatched;
  static inline const exec::thrust_on how{thrust::cpp::par};
  static void answer(key& of, const scripted_source& source) { of.script = &source; }
  static std::size_t scratch_size(const device_rounds<float>& rounds, bool) { return verify_memory_size(rounds); }
};

}  // namespace

TEST_CASE("with Thrust: the law of a draw, by trials and by the exact rule, is that of the row") {
  for (const shape which : shapes)
    for (const std::uint32_t trial_cap : {0u, 1u, 2u}) check_draws<with_thrust>(one_row_world(which, 5, 3), trial_cap);
}

TEST_CASE("with Thrust: the law of a residual is what the subtracted law leaves of the row") {
  for (const shape which : {shape::random, shape::zeros, shape::opposite})
    for (const std::uint32_t trial_cap : {0u, 1u, 2u})
      check_residuals<with_thrust>(one_row_world(which, 4, 5), trial_cap);
}

TEST_CASE("with Thrust: the law of a draw from a truncated row is the row's law on what it keeps") {
  for (const shape which : {shape::random, shape::equal}) {
    for (const world<float>& in : cut_rows(which)) {
      check_draws<with_thrust>(in, 1);
      check_residuals<with_thrust>(in, 1);
    }
  }
}

TEST_CASE("with Thrust: a token is accepted with the probability min(1, p / q)") {
  for (const shape which : shapes) check_tests<with_thrust>(one_row_world(which, 5, 3));
  for (const world<float>& in : cut_rows(shape::random)) check_tests<with_thrust>(in);
}

TEST_CASE("with Thrust: the law of what a round commits is that of the target") {
  for (const shape which : shapes) check_round<with_thrust>(law_test::make_world<float>(which, 3, 1, 1), 1);
  check_round<with_thrust>(law_test::make_world<float>(shape::random, 2, 2, 1), 1);
  check_round<with_thrust>(cut({.top_k = 2}, law_test::make_world<float>(shape::random, 3, 1, 1)), 1);
  check_round<with_thrust>(cut({.top_p = 0.7}, law_test::make_world<float>(shape::zeros, 3, 1, 1)), 1);
}

TEST_CASE("with Thrust: the law of longer rounds, in the long run") {
  if (!is_long()) return;
  for (const shape which : shapes) check_round<with_thrust>(law_test::make_world<float>(which, 4, 2, 1), 1);
  for (const row_truncation& by : cuts)
    check_round<with_thrust>(cut(by, law_test::make_world<float>(shape::random, 4, 2, 1)), 1);
}
