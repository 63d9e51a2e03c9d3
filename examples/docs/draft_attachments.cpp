// SPDX-License-Identifier: Apache-2.0
// A draft message that brings two tokens committed by the edge alone, and the state of its channel.
#include <specverify/codec/message.hpp>

#include <array>

int main() {
  using namespace specverify;
  wire_format format{law_format::token_only, 32000, 0, 0, 4};
  format.attachments.max_skipped = 7;
  format.attachments.channel_report = true;
  const wire_place place{0x5eed, 7};  // prefix hash, round
  const std::array<token_id, 2> skipped{11, 500};
  const claimed_draft drafted{31999};
  draft_attachments attachments;
  attachments.skipped = skipped;
  attachments.channel = {4e6f, 8e6f, 0.01f, 0.0f, 0.05f};
  std::array<std::byte, 64> bytes{};
  const auto message = encode_claims(place, format, std::span(&drafted, 1), attachments, bytes);
  if (!message) return 1;
  // 4 + 3 + 2 * 15 bits; the report; 3 + 15 bits; the check
  if (message->size() != 5 + channel_report_bytes + 3 + 1) return 2;
  std::array<claimed_draft, 4> claims{};
  std::array<token_id, 7> room{};
  const auto read = decode_claims(place, format, *message, claims, room);
  if (!read || read->claims[0].token != 31999) return 3;
  const draft_attachments& came = read->attachments;
  return came.skipped.size() == 2 && came.skipped[1] == 500 && came.channel.round_trip > 0.049f ? 0 : 4;
}
