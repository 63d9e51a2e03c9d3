// SPDX-License-Identifier: Apache-2.0
//! The body of the fuzz target of the host's frame reader: any stream, in pieces of any size. Demanded: the frames are
//! those that the bytes say, it stops at the first announcement that is too long, it holds little more memory than what
//! arrived. An input: a byte for the sizes of the pieces, the stream.
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

//! The frames of a stream, at hand as a whole, and whether it ended with a frame that is too long.
struct stream_frames {
  std::vector<edge_cloud::frame> whole;
  bool too_long = false;
};
inline stream_frames frames_of(std::span<const std::byte> stream) {
  stream_frames made;
  edge_cloud::frame_prefix prefix;
  while (stream.size() >= prefix.size()) {
    std::copy_n(stream.begin(), prefix.size(), prefix.begin());
    const std::size_t length = edge_cloud::decode_prefix(prefix);
    made.too_long = length > edge_cloud::max_frame_bytes;
    stream = stream.subspan(prefix.size());
    if (made.too_long || stream.size() < length) break;
    made.whole.emplace_back(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(length));
    stream = stream.subspan(length);
  }
  return made;
}

//! Whether the stream held a frame.
inline bool frame_input(std::span<const std::byte> input) {
  if (input.empty()) return false;
  const std::size_t piece = 1 + std::to_integer<std::size_t>(input[0]) * 37;
  std::span<const std::byte> stream = input.subspan(1);
  const stream_frames expected = frames_of(stream);
  std::vector<edge_cloud::frame> found;
  edge_cloud::frame_reader reader;
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
    }
  }
  demand_frame(found == expected.whole, "other frames than the stream's");
  demand_frame(reader.too_long() == expected.too_long, "a frame that is too long, or one that is not");
  if (reader.too_long()) demand_frame(reader.space().empty() && !reader.filled(), "a reader that goes on");
  return !found.empty();
}

}  // namespace specverify_fuzz

#endif
