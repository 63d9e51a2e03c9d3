// SPDX-License-Identifier: Apache-2.0
// A drafted token and its law travel as one message; a message of another round is refused by its check.
#include <specverify/codec/message.hpp>

#include <array>

int main() {
  using namespace specverify;
  const std::array<token_id, 3> ids{11, 500, 32000};
  const std::array<std::uint32_t, 3> counts{70, 25, 5};
  const draft drafted =
      draw(law{ids.data(), counts.data(), 3, 0, 100, 50257}, uniforms{philox{}, 0, 0}.at(purpose::draft_draw));
  const wire_format format{law_format::sparse_drop_zero, 50257, 100, 0, 8};
  wire_place place{0x5eed, 7};  // prefix hash, round
  std::array<std::byte, 64> bytes{};
  const auto message = encode_draft(place, format, std::span(&drafted, 1), bytes);
  if (!message) return 1;
  std::array<std::byte, 2048> memory{};  // decode_draft_workspace_size(format) or more
  workspace scratch(memory);
  auto block = received_draft_block::make({8, 800});
  if (!block || !decode_draft(place, format, *message, *block, scratch)) return 2;
  if ((*block)[0].token() != drafted.token() || (*block)[0].source_law().count(500) != 25) return 3;
  place.round += 1;
  return decode_draft(place, format, *message, *block, scratch).error().code == errc::checksum_mismatch ? 0 : 4;
}
