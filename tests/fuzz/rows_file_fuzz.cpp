// SPDX-License-Identifier: Apache-2.0
#include "fuzz/rows_file_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  specverify_fuzz::rows_file_input(std::as_bytes(std::span<const std::uint8_t>(data, size)));
  return 0;
}
