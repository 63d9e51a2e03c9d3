// SPDX-License-Identifier: Apache-2.0
// Cost of a hostile draft message in steps of the range coder, so the result does not depend on a clock. The decoder is
// the library's, with a coder that counts. Therefore this program must not include another header of the library first.
#include <specverify/codec/range_coder.hpp>

SPECVERIFY_NAMESPACE_BEGIN

class counted_decoder : public range_decoder {
 public:
  inline static std::uint64_t steps = 0;
  using range_decoder::range_decoder;
  [[nodiscard]] std::uint64_t uniform(std::uint64_t total) noexcept { return ++steps, range_decoder::uniform(total); }
  [[nodiscard]] bool bit(std::uint64_t ones, std::uint64_t total) noexcept {
    return ++steps, range_decoder::bit(ones, total);
  }
  [[nodiscard]] std::uint64_t peek() noexcept { return ++steps, range_decoder::peek(); }
  [[nodiscard]] std::uint64_t peek(std::uint64_t total) noexcept { return ++steps, range_decoder::peek(total); }
  [[nodiscard]] bool rests() const noexcept { return ++steps, range_decoder::rests(); }  // at least once per entry
};

SPECVERIFY_NAMESPACE_END

#define range_decoder counted_decoder
#include "cost/hostile_drafts.hpp"
#undef range_decoder

#include <doctest/doctest.h>

using namespace specverify_cost;

TEST_CASE("T29 NET-7 a draft message costs O(bytes + max_law_entries) steps, whatever it claims") {
  std::uint64_t served = 0, refused = 0;
  double worst = 0;
  for (const wire_format& format : law_formats) {
    CAPTURE(static_cast<unsigned>(format.format));
    CAPTURE(format.resolution);
    CAPTURE(format.support_size);
    receiver cloud(format);
    for (const message_bytes& given : hostile(format)) {
      counted_decoder::steps = 0;
      const status outcome = cloud.take(given);
      ++(outcome.ok() ? served : refused);
      const double allowed = static_cast<double>(given.size() + limits.max_law_entries);
      worst = std::max(worst, static_cast<double>(counted_decoder::steps) / allowed);
      REQUIRE(static_cast<double>(counted_decoder::steps) <= 3 * allowed);
    }
  }
  MESSAGE("worst: " << worst << " steps for each byte and entry; " << served << " served, " << refused << " refused");
  CHECK(served > 50);
  CHECK(refused > 1000);
}

TEST_CASE("T29 NET-7 a law that claims more ids than the block has room for is refused before the first of them") {
  std::mt19937_64 random(21);
  for (const wire_format& format : law_formats) {
    if (format.support_size != 0 || format.format == law_format::fp16_row || format.format == law_format::dense_lattice)
      continue;
    receiver cloud(format);
    counted_decoder::steps = 0;
    CHECK(cloud.take(claim(format, 1, limits.max_law_entries + 1, claimed::random_ids, 20, random)) ==
          status{errc::support_too_large, part::codec, 0});
    CHECK(counted_decoder::steps <= 2);
    CHECK(cloud.take(claim(format, 1, detail::law_entries(format), claimed::first_ids, 0, random)).code ==
          errc::support_too_large);
    CHECK(counted_decoder::steps <= 4);
  }
}

TEST_CASE("T29 NET-7 few bytes that claim many ids are no code, unless these are the first ids of all") {
  std::mt19937_64 random(22);
  const wire_format format{law_format::sparse_drop_zero, vocab_size, 65536, 0, 1, 1};
  receiver cloud(format);
  for (int run = 0; run < 200; ++run) {
    const auto given = claim(format, 1, limits.max_law_entries, claimed::random_ids, 2 + random() % 20, random);
    counted_decoder::steps = 0;
    REQUIRE(cloud.take(given).code == errc::not_canonical);
    REQUIRE(counted_decoder::steps < 4 * (given.size() + max_bytes_ahead));
  }
  const auto given = claim(format, 1, limits.max_law_entries, claimed::first_ids, 0, random);
  CHECK(given.size() < 20);
  CHECK(cloud.take(given).ok());
}
