// SPDX-License-Identifier: Apache-2.0
// The entry of a fuzz target. tests/fuzz.cmake defines the header of the body and the call.
#include SPECVERIFY_FUZZ_HEADER

#include <cstddef>
#include <cstdint>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace specverify_fuzz;
  [[maybe_unused]] const auto input = std::as_bytes(std::span<const std::uint8_t>(data, size));
  SPECVERIFY_FUZZ_CALL;
  return 0;
}
