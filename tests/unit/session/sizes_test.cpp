// SPDX-License-Identifier: Apache-2.0
// Functions that return a size take any arguments: a zero divides nothing, and what exceeds 2^64 - 1 saturates.
#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/message.hpp>
#include <specverify/decision_head/mlp.hpp>
#include <specverify/device/batch.hpp>
#include <specverify/link/channel_trace.hpp>
#include <specverify/link/payload.hpp>
#include <specverify/row/blocks.hpp>
#include <specverify/row/parallel.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/journal.hpp>
#include <specverify/session/snapshot.hpp>
#include <specverify/verify/token.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace specverify;

namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t most32 = std::numeric_limits<std::uint32_t>::max();
// ascending; the values around which a sum or product of one factor wraps
constexpr std::uint64_t values[] = {0,          1,          7,          8,          63,         64,         1000,
                                    32000,      1u << 16,   1u << 24,   1u << 31,   most32,     1ull << 32, 1ull << 40,
                                    1ull << 56, 1ull << 58, 1ull << 59, 1ull << 60, 1ull << 61, 1ull << 62, 3ull << 61,
                                    1ull << 63, most - 64,  most - 1,   most};

//! Whether a size never falls as its argument grows, up to `last`.
template <class Size>
[[nodiscard]] bool never_falls(Size size, std::uint64_t last = most) {
  auto before = size(0);
  for (const std::uint64_t value : values) {
    if (value > last) break;
    const auto now = size(value);
    if (!(now >= before)) {
      MESSAGE("falls at " << value);
      return false;
    }
    before = now;
  }
  return true;
}
//! The same for an argument of 32 bits.
template <class Size>
[[nodiscard]] bool never_falls32(Size size) {
  return never_falls([&](std::uint64_t value) { return size(static_cast<std::uint32_t>(value)); }, most32);
}

[[nodiscard]] wire_format format_with(std::uint32_t vocab_size, std::uint32_t pad_to, std::uint32_t draft_length = 8) {
  wire_format chosen{
      .format = law_format::token_only, .vocab_size = vocab_size, .max_draft_length = draft_length, .pad_to = pad_to};
  chosen.attachments.hidden = hidden_format::float16;
  chosen.attachments.hidden_size = most32;
  return chosen;
}

}  // namespace

TEST_CASE("sizes: a padding of 0 is a padding of 1") {
  const wire_format none = format_with(32000, 0), one = format_with(32000, 1);
  CHECK(text_bytes(none, 256, 100) == text_bytes(one, 256, 100));
  CHECK(supply_bytes(none, 9, 100) == supply_bytes(one, 9, 100));
  CHECK(max_supply_bytes(none, 9) == max_supply_bytes(one, 9));
  CHECK(max_control_bytes(none) == max_control_bytes(one));
  CHECK(longest_message(none, 256) == longest_message(one, 256));
  CHECK(cloud_session::limits_for(none).max_message_bytes > 0);
  CHECK(max_draft_bytes(none, 8) == 0);  // no such format
}

TEST_CASE("sizes of messages saturate") {
  CHECK(text_bytes(format_with(1u << 24, 1), most32, 3ull << 61) == most);
  CHECK(text_bytes(format_with(2, 1), most32, most) == (1ull << 61) + 6);  // a bit per id
  CHECK(supply_bytes(format_with(2, 1), 8, most) == most);
  for (const std::uint32_t vocab_size : {0u, 1u, 2u, 32000u, 1u << 24, most32}) {
    for (const std::uint32_t pad_to : {0u, 1u, 1u << 16, most32}) {
      const wire_format format = format_with(vocab_size, pad_to);
      CHECK(never_falls([&](std::uint64_t count) { return text_bytes(format, most32, count); }));
      CHECK(never_falls32([&](std::uint32_t largest) { return text_bytes(format, largest, 100); }));
      CHECK(never_falls([&](std::uint64_t payload) { return supply_bytes(format, most32, payload); }));
      CHECK(never_falls32([&](std::uint32_t length) { return max_supply_bytes(format, length); }));
      CHECK(never_falls32([&](std::uint32_t length) { return max_draft_bytes(format, length); }));
      CHECK(never_falls32([&](std::uint32_t chunk) { return longest_message(format, chunk); }));
      CHECK(never_falls32(
          [&](std::uint32_t length) { return max_control_bytes(format_with(vocab_size, pad_to, length)); }));
      CHECK(never_falls32([&](std::uint32_t length) {
        return cloud_session::limits_for(format_with(vocab_size, pad_to, length)).max_hidden_bytes;
      }));
      CHECK(decode_draft_workspace_size(format) > 0);
    }
  }
  CHECK(never_falls([](std::uint64_t size) { return hidden_bytes(hidden_format::float16, size); }));
  CHECK(never_falls([](std::uint64_t size) { return hidden_bytes(hidden_format::int8, size); }));
}

TEST_CASE("sizes of workspaces saturate") {
  row_transform truncated;
  truncated.truncation = {most32, 0.9, 0};
  CHECK(never_falls([](std::uint64_t count) { return slice_bytes<double>(count); }));
  CHECK(slice_bytes<double>(most) == most);
  for (const row_transform& transform : {row_transform{}, truncated}) {
    CHECK(never_falls32([&](std::uint32_t size) { return digest_workspace_size(size, transform, {}); }));
    CHECK(never_falls32([&](std::uint32_t size) { return read_rows_workspace_size(most32, size, transform, {}); }));
    CHECK(never_falls32([&](std::uint32_t rows) { return read_rows_workspace_size(rows, most32, transform, {}); }));
    CHECK(never_falls32([&](std::uint32_t size) { return verify_workspace_size(size, transform, most32); }));
    CHECK(never_falls32([&](std::uint32_t size) { return row_blocks_workspace_size(size, 1024, transform, {}); }));
    CHECK(row_blocks_workspace_size(most32, 0, transform, {}) > 0);
  }
  CHECK(kernel::block_count(1000, 0) == 0);
  const float logit = 0;
  device_transform kept;
  kept.truncation.top_k = most32;
  CHECK(never_falls32([&](std::uint32_t count) {
    return device_batch_size(device_rows<float>{&logit, count, most32, most32}, kept);
  }));
}

TEST_CASE("sizes of journals and files saturate") {
  CHECK(never_falls([](std::uint64_t tokens) { return detail::journal_bytes(tokens, 199); }));
  CHECK(detail::journal_bytes(most, 199) == most);
  CHECK(never_falls([](std::uint64_t steps) { return max_channel_trace_bytes(steps); }));
  CHECK(max_channel_trace_bytes(most) == most);
  CHECK(never_falls32([](std::uint32_t width) {
    return parameter_count({.drafter_size = most32, .target_size = most32, .width = width});
  }));
}

TEST_CASE("bits saturate") {
  CHECK(never_falls32([](std::uint32_t length) { return qs_uplink_bits(length, most32, most32); }));
  CHECK(ceil_log2_binomial(most, 1ull << 63) > (1ull << 63));
  CHECK(never_falls32([](std::uint32_t size) { return hlm_full_bits({size, most32, most32}); }));
  CHECK(never_falls32([](std::uint32_t size) { return hlm_uplink_bits({most32, most32, most32}, {size}); }));
  CHECK(never_falls32([](std::uint32_t length) {
    return wisv_full_upload_bits({most32, most32, most32, most32, most32, most32}, length);
  }));
  CHECK(never_falls32([](std::uint32_t asked) {
    return wisv_selected_upload_bits({most32, most32, most32, most32, most32, most32}, asked);
  }));
  CHECK(never_falls32([](std::uint32_t length) {
    return reject_upload_bits({most32, most32, most32, most32, most32, most32}, length);
  }));
  CHECK(drop_zero_law_bits(0, 0, 0) == 0);
  CHECK(top_k_tail_law_bits(0, 0, 0) == 0);
}
