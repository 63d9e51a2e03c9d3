// SPDX-License-Identifier: Apache-2.0
// What a round puts on the uplink under the different systems.
#include <specverify/link/payload.hpp>

int main() {
  using namespace specverify;
  const hlm_format hybrid;  // V = 32000, 8 bits a probability
  if (!check(hybrid).ok() || hlm_full_bits(hybrid) != 736000) return 1;
  // k announced, the draft an entry of its own, three skipped tokens before it
  const hlm_upload compressed{200, true, false, 3};
  if (!check(hybrid, compressed).ok()) return 2;
  // the paper leaves these fields out
  if (hlm_uplink_bits(hybrid, compressed) <= hlm_compressed_bits(hybrid, 200)) return 3;
  // Llama-3.2-1B: 2048 numbers of 16 bits
  const wisv_format semantic;
  const std::uint64_t all = wisv_full_upload_bits(semantic, 16);
  const std::uint64_t on_request = wisv_token_upload_bits(semantic, 16) + wisv_selected_upload_bits(semantic, 2);
  return on_request < all && all < reject_upload_bits(semantic, 16) ? 0 : 4;
}
