// SPDX-License-Identifier: Apache-2.0
#include "fuzz/channel_trace_body.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  specverify_fuzz::channel_trace_input({reinterpret_cast<const char*>(data), size});
  return 0;
}
