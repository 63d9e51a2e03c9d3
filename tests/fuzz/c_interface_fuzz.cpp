// SPDX-License-Identifier: Apache-2.0
#include "fuzz/c_library.cpp"

#include "fuzz/c_interface_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  specverify_fuzz::c_input(std::span<const std::uint8_t>(data, size));
  return 0;
}
