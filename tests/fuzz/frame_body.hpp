// SPDX-License-Identifier: Apache-2.0
//! The body of the fuzz target of the host's frame reader: any stream, in pieces of any size, under a limit for the
//! first frame and one for the others, as a server has them. Demanded: the reader returns the frames of the stream; it
//! stops at the first announcement that is too long; it holds little more memory than the bytes that arrived. An input:
//! a byte for the sizes of the pieces, one for the limits, the stream.
#ifndef SPECVERIFY_TESTS_FUZZ_FRAME_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_FRAME_BODY_HPP

#include "../../apps/edge_cloud/frame.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace specverify_fuzz {

inline void demand_frame(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

//! Limits of the first frame and of later ones. A host may set the second one while the first frame is still under way,
//! since it holds from the next frame on.
struct frame_limits {
  std::size_t first, other;
  bool early;
};
//! Reads three bits for each limit: 2 is a server's limit before it knows the device, 4 the default, and none is above
//! the largest.
inline frame_limits limits_of(std::byte chosen) {
  constexpr std::size_t step = edge_cloud::frame_reader::step_bytes, largest = edge_cloud::max_frame_bytes;
  constexpr std::size_t limits[] = {0, 1, 40, 1u << 10, 1u << 15, step, largest, ~std::size_t{0}};
  const auto bits = std::to_integer<unsigned>(chosen);
  return {limits[bits & 7u], limits[(bits >> 3) & 7u], (bits & 64u) != 0};
}

//! The frames of a whole stream. The flag is true if the stream ended with a frame that is too long.
struct stream_frames {
  std::vector<edge_cloud::frame> whole;
  bool too_long = false;
};
inline stream_frames frames_of(std::span<const std::byte> stream, const frame_limits& limits) {
  stream_frames made;
  edge_cloud::frame_prefix prefix;
  while (stream.size() >= prefix.size()) {
    std::copy_n(stream.begin(), prefix.size(), prefix.begin());
    const std::size_t length = edge_cloud::decode_prefix(prefix);
    const std::size_t most = made.whole.empty() ? limits.first : limits.other;
    made.too_long = length > std::min(most, edge_cloud::max_frame_bytes);
    stream = stream.subspan(prefix.size());
    if (made.too_long || stream.size() < length) break;
    made.whole.emplace_back(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(length));
    stream = stream.subspan(length);
  }
  return made;
}

//! Returns true if the stream held a frame.
inline bool frame_input(std::span<const std::byte> input) {
  if (input.size() < 2) return false;
  const std::size_t piece = 1 + std::to_integer<std::size_t>(input[0]) * 37;
  const frame_limits limits = limits_of(input[1]);
  std::span<const std::byte> stream = input.subspan(2);
  const stream_frames expected = frames_of(stream, limits);
  std::vector<edge_cloud::frame> found;
  edge_cloud::frame_reader reader;
  reader.accept_up_to(limits.first);
  std::size_t filled = 0, since = 0;  // bytes of the space, and of the frame under way
  while (!stream.empty() && !reader.too_long()) {
    const std::span<std::byte> space = reader.space();
    demand_frame(filled < space.size(), "a reader that waits for nothing");
    const std::size_t count = std::min({piece, stream.size(), space.size() - filled});
    std::memcpy(space.data() + filled, stream.data(), count);
    stream = stream.subspan(count);
    filled += count;
    since += count;
    demand_frame(reader.memory() <= 2 * (since + edge_cloud::frame_reader::step_bytes),
                 "memory for what was announced");
    if (filled < space.size()) continue;
    filled = 0;
    if (std::optional<edge_cloud::frame> whole = reader.filled()) {
      found.push_back(*std::move(whole));
      since = 0;
      reader.accept_up_to(limits.other);
    } else if (limits.early && !reader.too_long()) {
      reader.accept_up_to(limits.other);
    }
  }
  demand_frame(found == expected.whole, "other frames than the stream's");
  demand_frame(reader.too_long() == expected.too_long, "a frame that is too long, or one that is not");
  if (reader.too_long()) demand_frame(reader.space().empty() && !reader.filled(), "a reader that goes on");
  return !found.empty();
}

}  // namespace specverify_fuzz

#endif
