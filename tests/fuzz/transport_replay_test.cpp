// SPDX-License-Identifier: Apache-2.0
// Replays the committed inputs of two fuzz targets, and some made by a fixed generator: streams of the frame reader,
// and schedules of delivery, which can be any bytes.
// SPECVERIFY_WRITE_CORPUS=1 writes the seeds anew.
#include <doctest/doctest.h>

#include "fuzz/corpus.hpp"
#include "fuzz/delivery_body.hpp"
#include "fuzz/frame_body.hpp"
#include "session/hash_model.hpp"

#include <random>

namespace {

// Limits as limits_of reads them.
constexpr std::byte largest{6 | 6 << 3}, of_server{2 | 4 << 3}, of_server_early{2 | 4 << 3 | 64};

// Makes a stream of frames with these sizes.
std::vector<std::byte> stream_of(std::initializer_list<std::size_t> sizes, std::byte limits = largest) {
  std::vector<std::byte> made{std::byte{3}, limits};
  for (const std::size_t size : sizes) {
    const auto prefix = edge_cloud::encode_prefix(size);
    made.insert(made.end(), prefix.begin(), prefix.end());
    made.insert(made.end(), size, static_cast<std::byte>(size));
  }
  return made;
}

void write_seeds() {
  const auto keep = [](const char* name, const std::vector<std::byte>& bytes) {
    specverify_fuzz::keep_input("frame", name, bytes);
  };
  keep("small", stream_of({9, 0, 135, 1}));
  std::vector<std::byte> cut = stream_of({16, 70});
  cut.resize(cut.size() - 5);
  keep("cut", cut);
  std::vector<std::byte> announced = stream_of({8});
  for (const unsigned byte : {1u, 0u, 0x40u, 7u}) announced.push_back(static_cast<std::byte>(byte));
  keep("too_long", announced);
  keep("known_device", stream_of({40, 300, 41}, of_server));
  keep("long_first", stream_of({41, 8}, of_server));
}

}  // namespace

TEST_CASE("T29 fuzz replay: streams of frames") {
  if (specverify_fuzz::writes_corpus()) write_seeds();
  std::size_t held = 0;
  for (const auto& [name, content] : specverify_fuzz::corpus_of("frame"))
    held += specverify_fuzz::frame_input(content) ? 1u : 0u;
  CHECK(held >= 4);
  specverify_test::dice dice(17);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> stream = stream_of({dice.below(60), dice.below(3), dice.below(300)});
    stream[0] = static_cast<std::byte>(dice.next());
    stream[1] = static_cast<std::byte>(dice.next());
    for (std::uint64_t n = dice.below(4); n > 0; --n) stream[dice.below(10)] = static_cast<std::byte>(dice.next());
    specverify_fuzz::frame_input(stream);
  }
  // Sizes around the reader's steps, and the largest.
  constexpr std::size_t step = edge_cloud::frame_reader::step_bytes;
  CHECK(specverify_fuzz::frame_input(stream_of({step - 1, step, step + 1, 3 * step, edge_cloud::max_frame_bytes})));
  CHECK(!specverify_fuzz::frame_input(stream_of({edge_cloud::max_frame_bytes + 1})));
  // A server's: 40 bytes, then 32 KiB.
  constexpr std::size_t most = std::size_t{1} << 15;
  for (const std::byte limits : {of_server, of_server_early}) {
    CHECK(!specverify_fuzz::frame_input(stream_of({41}, limits)));
    CHECK(specverify_fuzz::frame_input(stream_of({40, most, most, most + 1}, limits)));
  }
}

TEST_CASE("T29 fuzz replay: delivery") {
  std::uint64_t messages = 0, schedules = 0;
  for (const auto& [name, schedule] : specverify_fuzz::corpus_of("delivery")) {
    messages += specverify_fuzz::delivery_input(schedule);
    schedules += 1;
  }
  CHECK(schedules >= 12);
  CHECK(messages >= schedules);
  std::mt19937 random(7);
  messages = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> schedule(random() % 3000);
    for (std::byte& b : schedule) b = static_cast<std::byte>(random() & 255u);
    messages += specverify_fuzz::delivery_input(schedule);
  }
  CHECK(messages > 2000);
}
