// SPDX-License-Identifier: Apache-2.0
#include "fuzz/dqn_file_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  specverify_fuzz::dqn_file_input(std::as_bytes(std::span<const std::uint8_t>(data, size)));
  return 0;
}
