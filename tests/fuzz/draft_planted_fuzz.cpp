// SPDX-License-Identifier: Apache-2.0
// draft_body_fuzz with a bug planted behind the check: if a token holds half of the resolution, the dense decoder
// writes outside the array. The fuzzer must find it.
#include <specverify/codec/count_code.hpp>

SPECVERIFY_NAMESPACE_BEGIN

[[nodiscard]] inline std::uint32_t decode_with_planted_bug(range_decoder& coder, std::uint32_t resolution,
                                                           std::uint32_t vocab_size, std::span<token_id> ids,
                                                           std::span<std::uint32_t> counts) noexcept {
  const std::uint32_t size = decode_dense_lattice(coder, resolution, vocab_size, ids, counts);
  for (std::uint32_t i = 0; i < size; ++i) {
    if (2 * counts[i] > resolution) *(counts.data() + counts.size() + 64) = 1;
  }
  return size;
}

SPECVERIFY_NAMESPACE_END

// The patched copy: from here on the draft decoder calls the function above.
#define decode_dense_lattice decode_with_planted_bug
#include "fuzz/message_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  specverify_fuzz::body_input(specverify_fuzz::take_draft, specverify::message_kind::draft,
                              std::as_bytes(std::span<const std::uint8_t>(data, size)));
  return 0;
}
