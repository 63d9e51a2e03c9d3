// SPDX-License-Identifier: Apache-2.0
// The questions that an engine may ask its card, on the block simulator: all answers are right.
#include <specverify/cuda/known_answers.cuh>

#include <doctest/doctest.h>
#include <device/orders.hpp>

using namespace specverify;

TEST_CASE("known answers are right in many orders") {
  device_answers found{};
  device_tests::in_all_orders([&](simulator::device& gpu) {
    gpu.output(&found, 1);
    REQUIRE(known_answers(exec::cuda{}, &found).ok());
  });
  CHECK(found.denormals);
  CHECK(found.roundings);
  CHECK(found.shared);
  CHECK(!found.fuses);  // tests/device is compiled so
  CHECK(found.right());
  CHECK(known_answers(exec::cuda{}, nullptr).code == errc::null_span);
}

TEST_CASE("a wrong answer is said") {
  cuda_detail::known_questions asked{0.0f, 0.5f, 1 + 0x1p-12f, 0.0f, 1 + 0x1p-30, -(1 + 0x1p-29), {}, {}};
  device_answers found{};
  simulator::device gpu;
  gpu.output(&found, 1);
  device_tests::run(&cuda_detail::answers_kernel<32>, 1, 32, asked, &found);
  CHECK(gpu.report() == "");
  CHECK(!found.denormals);
  CHECK(!found.roundings);
  CHECK(!found.shared);
  CHECK(!found.right());
}
