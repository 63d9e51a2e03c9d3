// SPDX-License-Identifier: Apache-2.0
// What belongs together in device memory: sizes, places and refusals of a batch, without a kernel.
#include <specverify/cuda/tuning.cuh>
#include <specverify/device/batch.hpp>
#include <specverify/device/results.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace specverify;

namespace {

alignas(64) std::byte room[1 << 16];
const float logits[4000] = {};
constexpr device_rows<float> two_rows{logits, 2000, 2, 1025};

struct extent {
  const void* first;
  std::size_t bytes;
};
std::vector<extent> places(const device_digests& made) {
  const std::size_t blocks = std::size_t{made.count} * made.blocks, kept = std::size_t{made.count} * made.kept_capacity;
  return {{made.rows, made.count * sizeof(device_digest)},
          {made.block_sums, blocks * sizeof(double)},
          {made.lane_sums, blocks * 64},
          {made.lane_maxima, blocks * 64},
          {made.kept_ids, kept * sizeof(token_id)},
          {made.kept_weights, kept * sizeof(double)},
          {made.parts, made.count * sizeof(std::uint32_t)}};
}

}  // namespace

TEST_CASE("arrays of a batch stand side by side in its memory, each on a line of its own") {
  device_transform transform;
  for (const std::uint32_t top_k : {0u, 1u, 7u, 5000u}) {
    CAPTURE(top_k);
    transform.truncation.top_k = top_k;
    const std::size_t size = device_batch_size(two_rows, transform);
    REQUIRE(size <= sizeof(room));
    const auto batch = make_device_batch(two_rows, transform, {room, size});
    REQUIRE(batch.ok());
    CHECK(batch->digests.blocks == 2);
    CHECK(batch->digests.kept_capacity == std::min(top_k, 1025u));
    const std::byte* last = room;
    for (const extent& one : places(batch->digests)) {
      if (one.bytes == 0) continue;
      const auto* first = static_cast<const std::byte*>(one.first);
      CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
      CHECK(first >= last);
      last = first + one.bytes;
    }
    CHECK(last <= room + size);
    CHECK(room + size - last < 64);
  }
}

TEST_CASE("how many ids a truncated row may keep") {
  const auto kept = [](const device_transform& transform) {
    const auto batch = make_device_batch(two_rows, transform, {room, sizeof(room)});
    return batch ? batch->digests.kept_capacity : 0xFFFFFFFFu;
  };
  device_transform transform;
  CHECK(kept(transform) == 0);
  transform.truncation.top_p = 0.9;
  CHECK(kept(transform) == 1025);
  transform.kept_capacity = 300;
  CHECK(kept(transform) == 300);
  transform.truncation.top_k = 20;
  CHECK(kept(transform) == 300);
  const row_truncation each[2]{{5}, {7}};
  transform = {};
  transform.truncations = each;
  CHECK(kept(transform) == 1025);
}

TEST_CASE("what is refused, and why") {
  const auto make = [](auto&& change, device_memory memory = {room, sizeof(room)}) {
    device_rows<float> rows = two_rows;
    device_transform transform;
    change(rows, transform);
    return make_device_batch(rows, transform, memory).error();
  };
  const auto nothing = [](auto&, auto&) {};
  CHECK(make(nothing).ok());
  CHECK(make([](auto& r, auto&) { r.size = 0; }).code == errc::empty_vocabulary);
  CHECK(make([](auto& r, auto&) { r.size = max_vocab_size + 1; }).code == errc::vocabulary_too_large);
  CHECK(make([](auto& r, auto&) { r.data = nullptr; }).code == errc::null_span);
  CHECK(make([](auto& r, auto&) { r.pitch = 1024; }).code == errc::size_mismatch);
  CHECK(make([](auto& r, auto&) { r.count = 0; }).code == errc::size_mismatch);
  static const std::uint64_t mask[2] = {};
  CHECK(make([](auto& r, auto& t) {
          r.pitch = r.size = 65;
          t.mask_words = mask;
          t.mask_pitch = 1;
        }).where == 2);
  CHECK(make([](auto&, auto& t) {
          t.mask_words = reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(mask) + 4);
        }).code == errc::invalid_argument);
  CHECK(make([](auto&, auto& t) { t.temperature = -1; }).code == errc::invalid_temperature);
  CHECK(make([](auto&, auto& t) { t.temperature = __builtin_nan(""); }).code == errc::invalid_temperature);
  CHECK(make([](auto&, auto& t) { t.truncation.top_p = 0; }).code == errc::invalid_truncation);
  CHECK(make([](auto&, auto& t) { t.truncation.min_p = 2; }).code == errc::invalid_truncation);
  const std::uint32_t begin[3]{};
  CHECK(make([&](auto&, auto& t) { t.bias_begin = begin; }).code == errc::null_span);
  CHECK(make(nothing, {nullptr, 1 << 16}).code == errc::null_span);
  CHECK(make(nothing, {room + 16, 1 << 15}).code == errc::invalid_argument);
  const std::size_t needed = device_batch_size(two_rows, {});
  const status why = make(nothing, {room, needed - 1});
  CHECK(why.code == errc::workspace_too_small);
  CHECK(why.where == needed);
}

TEST_CASE("a tuning for each compute capability, the nearest below for others") {
  for (const cuda_tuning& one : cuda_tunings) CHECK(tuning_for(one.capability).multiprocessors == one.multiprocessors);
  CHECK(tuning_for(103).capability == 100);
  CHECK(tuning_for(88).capability == 87);
  CHECK(tuning_for(75).capability == 80);
  CHECK(tuning_for(0).capability == cuda_tuning{}.capability);
}
