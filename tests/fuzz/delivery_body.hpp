// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a schedule of faults between a client and a server of delivery. Messages must arrive in order and
// once. If the bytes are used up, everything must arrive.
#ifndef SPECVERIFY_TESTS_FUZZ_DELIVERY_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_DELIVERY_BODY_HPP

#include <unit/delivery/world.hpp>

#include <cstdlib>

namespace specverify_fuzz {

//! Numbers from the bytes, then zeros.
struct byte_choices {
  std::span<const std::byte> left;
  [[nodiscard]] std::size_t byte() {
    if (left.empty()) return 0;
    const auto next = std::to_integer<std::size_t>(left.front());
    left = left.subspan(1);
    return next;
  }
  [[nodiscard]] bool chance(double p) { return static_cast<double>(byte()) < p * 256; }
  [[nodiscard]] std::size_t pick(std::size_t below) {
    return below > 256 ? (byte() << 8 | byte()) % below : byte() % below;
  }
};

//! Returns the number of messages that arrived.
inline std::uint64_t delivery_input(std::span<const std::byte> given) {
  byte_choices choices{given};
  specverify_test::faults with{.lost = 0.1, .copied = 0.1, .damaged = 0.1, .forged = 0.1, .killed = 0.02, .late = true};
  with.timers = choices.pick(4) != 0;
  with.check_bytes = 4;
  if (!with.timers) with.lost = with.damaged = 0;
  const auto expect = [](bool holds, const char*) {
    if (!holds) std::abort();
  };
  specverify_test::delivery_world world(choices, expect, with);
  for (int i = 0; i < 400 && !choices.left.empty(); ++i) world.step();
  world.settle();
  return world.counts.messages;
}

}  // namespace specverify_fuzz

#endif
