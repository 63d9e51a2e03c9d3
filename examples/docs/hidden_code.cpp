// SPDX-License-Identifier: Apache-2.0
// A hidden state in 8 bits a number: what comes back encodes to the same bytes.
#include <specverify/codec/hidden_code.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<float, 4> state{1.0f, -0.25f, 0.5f, 0.0f};
  std::array<std::byte, 8> bytes{}, again{};
  if (hidden_bytes(hidden_format::int8, 4) != 8 || !encode_hidden(state, hidden_format::int8, bytes)) return 1;
  std::array<float, 4> read{};
  if (!decode_hidden(bytes, hidden_format::int8, read)) return 2;
  if (read[1] > -0.24f || read[1] < -0.26f || read[3] != 0.0f) return 3;
  if (!encode_hidden(read, hidden_format::int8, again) || again != bytes) return 4;
  bytes[4] = std::byte{128};  // -128 is never written
  return decode_hidden(bytes, hidden_format::int8, read).error().code == errc::field_out_of_range ? 0 : 5;
}
