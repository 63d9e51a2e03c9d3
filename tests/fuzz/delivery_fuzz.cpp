// SPDX-License-Identifier: Apache-2.0
#include "fuzz/delivery_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)specverify_fuzz::delivery_input({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
