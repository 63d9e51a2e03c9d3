// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/range_coder.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "support/into.hpp"

using namespace specverify;
using specverify_test::into;

namespace {

struct step {
  int kind;  // 0 uniform, 1 bit, 2 part, 3 interval
  std::uint64_t a, b, c;
};

// A random program of steps with its information in bits.
std::vector<step> random_steps(std::mt19937_64& random, std::size_t count, double& bits) {
  std::vector<step> steps;
  bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const int kind = static_cast<int>(random() % 4);
    if (kind == 0) {
      const std::uint64_t total = 1 + (random() >> (16 + random() % 48));
      steps.push_back({0, random() % total, total, 0});
      bits += std::log2(static_cast<double>(total));
    } else if (kind == 1) {
      const std::uint64_t total = 2 + (random() >> (32 + random() % 31)) % 0xffffffffu;
      const std::uint64_t ones = 1 + random() % (total - 1);
      const bool one = random() % total < ones;
      steps.push_back({1, one ? 1u : 0u, ones, total});
      bits -= std::log2(static_cast<double>(one ? ones : total - ones) / static_cast<double>(total));
    } else if (kind == 3) {
      const std::uint64_t total = 1 + (random() >> (16 + random() % 48)), width = 1 + random() % total;
      steps.push_back({3, random() % (total - width + 1), width, total});
      bits -= std::log2(static_cast<double>(width) / static_cast<double>(total));
    } else {
      const std::uint64_t width = 1 + random() % (std::uint64_t{1} << (1 + random() % 40));
      const std::uint64_t first = random() % ((std::uint64_t{1} << 40) - width + 1);
      steps.push_back({2, first, width, 0});
      bits += 40 - std::log2(static_cast<double>(width));
    }
  }
  return steps;
}

void put(range_encoder& coder, const std::vector<step>& steps) {
  for (const step& at : steps) {
    if (at.kind == 0) coder.uniform(at.a, at.b);
    if (at.kind == 1) coder.bit(at.a != 0, at.b, at.c);
    if (at.kind == 2) coder.part(at.a, at.b);
    if (at.kind == 3) coder.interval(at.a, at.b, at.c);
  }
}

std::size_t encode(const std::vector<step>& steps, std::span<std::byte> out, bool& fits) {
  range_encoder coder(out);
  put(coder, steps);
  const std::size_t length = coder.finish();
  fits = coder.fits();
  return length;
}

bool decode(const std::vector<step>& steps, std::span<const std::byte> bytes, status& outcome, std::size_t& length) {
  range_decoder coder(bytes);
  bool same = true;
  for (const step& at : steps) {
    if (at.kind == 0) same = same && coder.uniform(at.b) == at.a;
    if (at.kind == 1) same = same && coder.bit(at.b, at.c) == (at.a != 0);
    if (at.kind == 2) {
      const std::uint64_t place = coder.peek();
      same = same && place >= at.a && place < at.a + at.b;
      coder.take(at.a, at.b);
    }
    if (at.kind == 3) {
      const std::uint64_t place = coder.peek(at.c);
      same = same && place >= at.a && place < at.a + at.b;
      coder.take(at.a, at.b, at.c);
    }
    if (!same) break;
  }
  outcome = into(length, coder.finish());
  return same;
}

}  // namespace

TEST_CASE("range coder: by hand") {
  // Four of four halves: the interval [15/16, 1) holds 0xf0 / 256, its smallest value of one byte.
  std::array<std::byte, 4> out{};
  range_encoder coder(out);
  for (int i = 0; i < 4; ++i) coder.uniform(1, 2);
  CHECK(coder.finish() == 1);
  CHECK(out[0] == std::byte{0xf0});
  // The first symbol of every step: the interval starts at 0, the code is empty.
  range_encoder zeros(out);
  for (int i = 0; i < 100; ++i) zeros.uniform(0, 1000);
  CHECK(zeros.finish() == 0);
  range_decoder read(std::span<const std::byte>{});
  for (int i = 0; i < 100; ++i) CHECK(read.uniform(1000) == 0);
  std::size_t length = 9;
  CHECK(into(length, read.finish()).ok());
  CHECK(length == 0);
}

TEST_CASE("range coder: intervals of width 1 are uniform symbols, and bytes that nobody wrote stay inside them") {
  std::mt19937_64 random(13);
  int failures = 0;
  for (int run = 0; run < 5000; ++run) {
    std::array<std::byte, 64> one{}, other{};
    range_encoder symbols(one), intervals(other);
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t total = 1 + (random() >> (24 + random() % 40)), symbol = random() % total;
      symbols.uniform(symbol, total);
      intervals.interval(symbol, 1, total);
    }
    const std::size_t length = symbols.finish();
    REQUIRE(intervals.finish() == length);
    REQUIRE(std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(length), other.begin()));
    std::vector<std::byte> bytes(random() % 12);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random() & 0xff);
    range_decoder read(bytes);
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t total = 1 + (random() >> (32 + random() % 32)), place = read.peek(total);
      REQUIRE(place < total);
      const std::uint64_t first = place - std::min<std::uint64_t>(place, random() % 3);
      read.take(first, place - first + 1, total);
    }
    failures += read.failed() ? 1 : 0;
  }
  CHECK(failures > 1000);
}

TEST_CASE("range coder: a run of noes is that many bits, in the bytes, in what comes back and where the room ends") {
  std::mt19937_64 random(11);
  for (int run = 0; run < 20000; ++run) {
    const auto ones = static_cast<std::uint32_t>(1 + random() % 40);
    const auto total = ones + static_cast<std::uint32_t>(1 + random() % (run % 7 == 0 ? 4000 : 60));
    const auto before = static_cast<std::uint32_t>(random() % 5),
               count = static_cast<std::uint32_t>(random() % (total - ones + 1));
    const bool yes = count < total - ones;
    std::vector<std::byte> one(random() % 40, std::byte{0x55}), other = one;
    range_encoder alone(one), together(other);
    for (std::uint32_t i = 0; i < before; ++i) {
      const std::uint64_t symbol = random() % 1000;
      alone.uniform(symbol, 1000);
      together.uniform(symbol, 1000);
    }
    for (std::uint32_t i = 0; i < count; ++i) alone.bit(false, ones, total - i);
    together.noes(count, ones, total);
    if (yes) alone.bit(true, ones, total - count);
    if (yes) together.bit(true, ones, total - count);
    const std::size_t length = alone.finish();
    REQUIRE(together.finish() == length);
    REQUIRE(together.fits() == alone.fits());
    REQUIRE(together.decodable() == alone.decodable());
    if (!alone.fits()) continue;
    REQUIRE(std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(length), other.begin()));
    range_decoder read(std::span<const std::byte>(one).first(length));
    for (std::uint32_t i = 0; i < before; ++i) (void)read.uniform(1000);
    REQUIRE(read.noes(ones, total) == count);
    std::size_t used = 0;
    REQUIRE(into(used, read.finish()).ok() == alone.decodable());
  }
}

TEST_CASE("range coder: bytes that nobody wrote give a run of noes what they give its bits, failures included") {
  std::mt19937_64 random(12);
  int failures = 0;
  for (int run = 0; run < 20000; ++run) {
    std::vector<std::byte> bytes(random() % 12);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random() & 0xff);
    range_decoder alone(bytes), together(bytes);
    for (int i = 0; i < 40; ++i) {
      const auto ones = static_cast<std::uint32_t>(1 + random() % 6),
                 total = ones + static_cast<std::uint32_t>(random() % 500);
      std::uint32_t count = 0;
      while (total - count > ones && !alone.bit(ones, total - count)) ++count;
      REQUIRE(together.noes(ones, total) == count);
      REQUIRE(together.failed() == alone.failed());
      REQUIRE(together.rests() == alone.rests());
    }
    failures += alone.failed() ? 1 : 0;
  }
  CHECK(failures > 1000);
}

TEST_CASE("range coder: random programs come back, within 8 bits of their information, in a span that just fits") {
  std::mt19937_64 random(7);
  double mean = 0;
  constexpr int runs = 20000;
  for (int run = 0; run < runs; ++run) {
    double bits = 0;
    const auto steps = random_steps(random, random() % 60, bits);
    std::vector<std::byte> out(600);
    bool fits = false;
    const std::size_t length = encode(steps, out, fits);
    REQUIRE(fits);
    const double over = 8.0 * static_cast<double>(length) - bits;
    REQUIRE(over < 8.01 + static_cast<double>(steps.size()) / 128);  // a step of 2^48 loses at most 2^-7 bits
    mean += over / runs;
    status outcome;
    std::size_t used = 0;
    REQUIRE(decode(steps, std::span<const std::byte>(out).first(length), outcome, used));
    REQUIRE(outcome.ok());
    REQUIRE(used == length);
    // An empty span counts; a span one byte short says that it does not fit, and nothing is written behind it.
    REQUIRE(encode(steps, {}, fits) == length);
    if (length > 0) {
      std::vector<std::byte> small(length - 1);
      REQUIRE(encode(steps, small, fits) == length);
      REQUIRE(!fits);
    }
  }
  CHECK(mean < 4.5);
}

TEST_CASE("range coder: carries run back over bytes of 0xff, and no decoder follows them for ever") {
  // [1/2 - e, 1/2 + e): a long run of 0xff that the last step turns over. Each step before it takes 5 bytes.
  int stopped = 0;
  for (std::size_t length = 1; length < 12; ++length) {
    CAPTURE(length);
    std::vector<step> steps;
    steps.push_back({2, (std::uint64_t{1} << 39) - 1, 2, 0});
    for (std::size_t i = 0; i < length; ++i) steps.push_back({2, (std::uint64_t{1} << 40) / 2 - 1, 2, 0});
    steps.push_back({2, std::uint64_t{1} << 39, std::uint64_t{1} << 39, 0});
    std::array<std::byte, 128> out{};
    range_encoder coder(out), counting(std::span<std::byte>{});
    put(coder, steps);
    put(counting, steps);
    const std::size_t written = coder.finish();
    CHECK(counting.finish() == written);
    if (length < 3) CHECK(coder.decodable());
    stopped += coder.decodable() ? 0 : 1;
    CHECK(counting.decodable() == coder.decodable());
    status outcome;
    std::size_t used = 0;
    CHECK(decode(steps, std::span<const std::byte>(out).first(written), outcome, used) == coder.decodable());
    CHECK(outcome.ok() == coder.decodable());
  }
  CHECK(stopped > 0);
}

// Reads zeros behind the string for as many steps as there are: the symbols that the string stands for.
class endless_decoder {
 public:
  explicit endless_decoder(std::span<const std::byte> bytes) : bytes_(bytes) {
    for (int i = 0; i < 8; ++i) value_ = (value_ << 8) | next();
  }
  // The part of that width that the string lies in.
  step part(std::uint64_t width) {
    const std::uint64_t unit = range_ >> 40, first = value_ / unit / width * width;
    narrow(unit * first, unit * width);
    return {2, first, width, 0};
  }
  // Two steps after which the interval begins with the string, if this has ended: every further symbol is the first.
  std::array<step, 2> meet() {
    const std::uint64_t total = range_ >> 40;
    const step before = part(1);
    const std::uint64_t unit = range_ / total, symbol = value_ / unit;
    narrow(unit * symbol, unit);
    return {before, {0, symbol, total, 0}};
  }

 private:
  void narrow(std::uint64_t offset, std::uint64_t width) {
    value_ -= offset;
    for (range_ = width; range_ < std::uint64_t{1} << 56; range_ <<= 8) value_ = (value_ << 8) | next();
  }
  std::uint64_t next() {
    const std::size_t at = position_++;
    return at < bytes_.size() ? std::to_integer<std::uint64_t>(bytes_[at]) : 0;
  }
  std::span<const std::byte> bytes_;
  std::uint64_t value_ = 0, range_ = ~std::uint64_t{0};
  std::size_t position_ = 0;
};

TEST_CASE("range coder: short strings with many steps are read exactly where the encoder calls them decodable") {
  std::mt19937_64 random(12);
  int followed = 0, stopped = 0, rested = 0, too_late = 0;
  for (int run = 0; run < 40000; ++run) {
    std::vector<std::byte> bytes(random() % 4);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 3 == 0 ? 0x80u : random() & 0x7fu);
    while (!bytes.empty() && bytes.back() == std::byte{0}) bytes.pop_back();
    endless_decoder all(bytes);
    std::vector<step> steps;
    const std::size_t count = random() % 60, meeting = random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      steps.push_back(all.part(std::uint64_t{1} << (25 + random() % 15)));
      if (i == meeting) {
        for (const step& exact : all.meet()) steps.push_back(exact);
      }
    }
    const bool first = count > 40 && meeting < 30 && steps.back().a == 0;
    std::array<std::byte, 256> out{};
    range_encoder coder(out);
    put(coder, steps);
    const std::size_t length = coder.finish();
    // Too few steps for these bytes: the string is another encoder's.
    if (length != bytes.size() || !std::equal(bytes.begin(), bytes.end(), out.begin())) continue;
    status outcome;
    std::size_t used = 0;
    const bool same = decode(steps, bytes, outcome, used);
    REQUIRE((same && outcome.ok()) == coder.decodable());
    if (!coder.decodable()) REQUIRE(outcome.code == errc::not_canonical);
    ++(coder.decodable() ? followed : stopped);
    if (first) ++(coder.decodable() ? rested : too_late);
  }
  CHECK(followed > 1000);
  CHECK(stopped > 1000);
  CHECK(rested > 100);
  CHECK(too_late > 100);
}

TEST_CASE("range coder: of all strings of up to two bytes, exactly the encoder's are accepted") {
  // 7 * 9 * 11 = 693 values, 9.4 bits.
  const auto read = [](std::span<const std::byte> bytes, std::array<std::uint64_t, 3>& symbols) {
    range_decoder coder(bytes);
    symbols = {coder.uniform(7), coder.uniform(9), coder.uniform(11)};
    std::size_t length = 0;
    return into(length, coder.finish()).ok() && length == bytes.size();
  };
  int accepted = 0;
  for (std::uint32_t value = 0; value < 65536 + 256 + 1; ++value) {
    std::array<std::byte, 2> bytes{};
    std::span<const std::byte> given;
    if (value < 65536) {
      bytes = {static_cast<std::byte>(value >> 8), static_cast<std::byte>(value & 255u)};
      given = bytes;
    } else if (value < 65536 + 256) {
      bytes[0] = static_cast<std::byte>(value - 65536);
      given = std::span<const std::byte>(bytes).first(1);
    }
    std::array<std::uint64_t, 3> symbols{};
    if (!read(given, symbols)) continue;
    ++accepted;
    std::array<std::byte, 8> out{};
    range_encoder coder(out);
    coder.uniform(symbols[0], 7);
    coder.uniform(symbols[1], 9);
    coder.uniform(symbols[2], 11);
    REQUIRE(coder.finish() == given.size());
    for (std::size_t i = 0; i < given.size(); ++i) REQUIRE(out[i] == given[i]);
  }
  CHECK(accepted == 693);
}

TEST_CASE("range coder: bytes behind the end, and values no encoder reaches") {
  std::array<std::byte, 32> out{};
  range_encoder coder(out);
  coder.uniform(3, 5);
  const std::size_t length = coder.finish();
  for (std::size_t i = length; i < out.size(); ++i) out[i] = std::byte{0};
  std::size_t used = 0;
  {
    range_decoder read(std::span<const std::byte>(out).first(20));
    CHECK(read.uniform(5) == 3);
    CHECK(into(used, read.finish()).ok());  // zeros behind the code belong to nobody: the message decides about them
    CHECK(used == length);
  }
  out[19] = std::byte{1};
  {
    range_decoder read(std::span<const std::byte>(out).first(20));
    CHECK(read.uniform(5) == 3);
    CHECK(read.finish().error() == status{errc::trailing_bytes, part::codec, 8});
  }
  const std::array<std::byte, 9> full = [] {
    std::array<std::byte, 9> bytes{};
    bytes.fill(std::byte{0xff});
    return bytes;
  }();
  range_decoder read(full);
  CHECK(read.failed());
  for (int i = 0; i < 1000; ++i) {
    CHECK(read.uniform(7) < 7);
    CHECK(read.peek() < (std::uint64_t{1} << 40));
    CHECK(read.peek(3) < 3);
    read.take(2, 1, 3);
    (void)read.bit(1, 3);
  }
  CHECK(read.finish().error().code == errc::not_canonical);
  static_assert(noexcept(coder.uniform(0, 1))&& noexcept(read.finish()));
}
