// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/count_code.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "support/into.hpp"
#include "unit/codec/exact_bits.hpp"

using namespace specverify;
using specverify_test::exact_binomial;
using specverify_test::into;

namespace {

std::vector<std::byte> encode(const std::vector<std::uint32_t>& counts, bool zeros) {
  std::vector<std::byte> out(1 << 15);
  range_encoder coder(out);
  composition_encoder parts(coder, std::accumulate(counts.begin(), counts.end(), 0u),
                            static_cast<std::uint32_t>(counts.size()), zeros);
  for (const std::uint32_t count : counts) parts.put(count);
  out.resize(coder.finish());
  return out;
}
bool decode(std::span<const std::byte> bytes, std::uint32_t resolution, bool zeros,
            std::vector<std::uint32_t>& counts) {
  range_decoder coder(bytes);
  composition_decoder parts(coder, resolution, static_cast<std::uint32_t>(counts.size()), zeros);
  for (std::uint32_t& count : counts) count = parts.next();
  std::size_t length = 0;
  return into(length, coder.finish()).ok() && length == bytes.size();
}

// Every composition of `resolution` into counts.size() parts, in turn.
template <class Visit>
void compositions(std::vector<std::uint32_t>& counts, std::size_t at, std::uint32_t rest, std::uint32_t least,
                  Visit visit) {
  if (at + 1 == counts.size()) {
    counts[at] = rest;
    if (rest >= least) visit();
    return;
  }
  for (std::uint32_t count = least; count <= rest; ++count) {
    counts[at] = count;
    compositions(counts, at + 1, rest - count, least, visit);
  }
}

}  // namespace

TEST_CASE("every small composition comes back under its own code, with zeros and without") {
  for (std::uint32_t resolution = 1; resolution <= 9; ++resolution) {
    for (std::uint32_t parts = 1; parts <= 6; ++parts) {
      for (const bool zeros : {false, true}) {
        if (!zeros && parts > resolution) continue;
        std::set<std::vector<std::byte>> codes;
        std::vector<std::uint32_t> counts(parts);
        compositions(counts, 0, resolution, zeros ? 0 : 1, [&] {
          const auto code = encode(counts, zeros);
          codes.insert(code);
          std::vector<std::uint32_t> read(parts);
          REQUIRE(decode(code, resolution, zeros, read));
          REQUIRE(read == counts);
        });
        const auto many =
            zeros ? exact_binomial(resolution + parts - 1, parts - 1) : exact_binomial(resolution - 1, parts - 1);
        CHECK(specverify_test::whole_number(codes.size()) == many);
      }
    }
  }
}

TEST_CASE("random compositions cost log2 of how many there are, within a byte") {
  std::mt19937_64 random(2);
  for (int run = 0; run < 3000; ++run) {
    const bool zeros = run % 2 == 0;
    const auto resolution = static_cast<std::uint32_t>(1 + random() % 1000);
    const auto parts =
        static_cast<std::uint32_t>(1 + random() % (zeros ? 200 : std::min<std::uint64_t>(resolution, 200)));
    std::vector<std::uint32_t> counts(parts, zeros ? 0 : 1);
    // Half of them peaked: all on one part.
    const std::uint32_t spare = resolution - (zeros ? 0 : parts);
    for (std::uint32_t i = 0; i < spare; ++i) ++counts[run % 4 < 2 ? random() % parts : parts / 2];
    const auto code = encode(counts, zeros);
    std::vector<std::uint32_t> read(parts);
    REQUIRE(decode(code, resolution, zeros, read));
    REQUIRE(read == counts);
    const double ideal =
        (zeros ? exact_binomial(resolution + parts - 1, parts - 1) : exact_binomial(resolution - 1, parts - 1)).log2();
    REQUIRE(8.0 * static_cast<double>(code.size()) < ideal + 8.5);
  }
}

TEST_CASE("counts over a whole vocabulary: within 8 bits of log2 C(l+V-1, V-1), flat or peaked, in O(l)") {
  std::mt19937_64 random(4);
  for (const std::uint32_t vocab_size : {1u, 2u, 7u, 50272u, 128256u}) {
    for (const std::uint32_t resolution : {1u, 4u, 100u, 240u, 720u}) {
      const double ideal = exact_binomial(resolution + vocab_size - 1, resolution).log2();
      for (int law = 0; law < 12; ++law) {
        std::vector<std::uint32_t> stars;
        for (std::uint32_t i = 0; i < resolution; ++i) {
          const auto anywhere = static_cast<std::uint32_t>(random() % vocab_size);
          stars.push_back(law % 4 == 0   ? anywhere
                          : law % 4 == 1 ? vocab_size - 1
                          : law % 4 == 2 ? anywhere % 8 % vocab_size
                                         : static_cast<std::uint32_t>(anywhere / (1 + i)));
        }
        std::sort(stars.begin(), stars.end());
        std::vector<token_id> ids;
        std::vector<std::uint32_t> counts;
        for (const std::uint32_t star : stars) {
          if (ids.empty() || ids.back() != static_cast<token_id>(star)) {
            ids.push_back(static_cast<token_id>(star));
            counts.push_back(0);
          }
          ++counts.back();
        }
        std::vector<std::byte> out(1 << 14);
        range_encoder coder(out);
        dense_lattice_encoder dense(coder, resolution, vocab_size);
        for (std::size_t i = 0; i < ids.size(); ++i) dense.put(ids[i], counts[i]);
        out.resize(coder.finish());
        CHECK(8.0 * static_cast<double>(out.size()) <= std::ceil(ideal) + 8);
        range_decoder read(out);
        std::vector<token_id> read_ids(std::min(resolution, vocab_size));
        std::vector<std::uint32_t> read_counts(read_ids.size());
        const std::uint32_t size = decode_dense_lattice(read, resolution, vocab_size, read_ids, read_counts);
        std::size_t length = 0;
        REQUIRE(into(length, read.finish()).ok());
        REQUIRE(length == out.size());
        read_ids.resize(size);
        read_counts.resize(size);
        REQUIRE(read_ids == ids);
        REQUIRE(read_counts == counts);
      }
    }
  }
}

TEST_CASE("T29 hostile bytes give counts that sum to the resolution") {
  std::mt19937_64 random(6);
  for (int run = 0; run < 5000; ++run) {
    std::array<std::byte, 20> bytes{};
    for (std::byte& at : bytes) at = static_cast<std::byte>(random());
    const bool zeros = run % 2 == 0;
    const auto resolution = static_cast<std::uint32_t>(1 + random() % 300);
    std::vector<std::uint32_t> counts(1 + random() % (zeros ? 50 : std::min<std::uint64_t>(resolution, 50)));
    (void)decode(bytes, resolution, zeros, counts);
    REQUIRE(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == resolution);
    range_decoder coder(bytes);
    std::array<token_id, 60> ids{};
    std::array<std::uint32_t, 60> dense{};
    const std::uint32_t size = decode_dense_lattice(coder, 60, 1000, ids, dense);
    REQUIRE(std::accumulate(dense.begin(), dense.begin() + size, std::uint64_t{0}) == 60);
    for (std::uint32_t i = 0; i < size; ++i) REQUIRE((ids[i] >= (i == 0 ? 0 : ids[i - 1] + 1) && ids[i] < 1000));
  }
}
