// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/token_prior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "support/alloc_guard.hpp"
#include "unit/codec/prior_kit.hpp"

using namespace specverify;
using namespace specverify_test;

namespace {

// The weights of all ids after a text, from the description in docs/algorithms/token_prior.md.
std::vector<std::uint64_t> weights_of(const prior_content& content, std::span<const token_id> text) {
  std::vector<std::uint64_t> weights;
  std::uint64_t sum = 0;
  for (const std::uint8_t byte : content.weights) {
    weights.push_back(prior_weight(byte));
    sum += weights.back();
  }
  if (text.empty()) return weights;
  const token_id last = text.back(), before = text.size() > 1 ? text[text.size() - 2] : -1;
  std::vector<token_id> after_one, after_two;
  for (std::size_t back = 1; back <= 1024 && back < text.size() && after_one.size() < 32; ++back) {
    const std::size_t i = text.size() - 1 - back;
    if (text[i] != last) continue;
    after_one.push_back(text[i + 1]);
    if (i > 0 && text[i - 1] == before) after_two.push_back(text[i + 1]);
  }
  const auto one = content.one.find({last}), two = content.two.find({before, last});
  const bool knows[] = {one != content.one.end(), two != content.two.end(), !after_one.empty(), !after_two.empty()};
  std::size_t set = 0;
  for (std::size_t source = 0; source < 4; ++source) set += knows[source] ? std::size_t{1} << source : 0;
  const auto added = [&](std::size_t source) { return sum * content.mixing[set][source] / 16; };
  const auto add_list = [&](const std::map<token_id, std::uint8_t>& list, std::uint64_t mass) {
    std::uint64_t all = 0;
    for (const auto& [id, byte] : list) all += prior_weight(byte);
    for (const auto& [id, byte] : list)
      weights[static_cast<std::size_t>(id)] += mass * ((std::uint64_t{prior_weight(byte)} << 31) / all) >> 31;
  };
  if (knows[0]) add_list(one->second, added(0));
  if (knows[1]) add_list(two->second, added(1));
  for (const token_id id : after_one) weights[static_cast<std::size_t>(id)] += added(2) / after_one.size();
  for (const token_id id : after_two) weights[static_cast<std::size_t>(id)] += added(3) / after_two.size();
  return weights;
}

// The factor of a word of the noise, from the same description.
std::uint64_t factor_of(std::uint32_t word) {
  if (word == 0) word = 1;
  std::uint32_t zeros = 0;
  while ((word >> (31 - zeros) & 1u) == 0) ++zeros;
  const auto bit = [&](std::uint32_t at) { return at < 32 ? word >> (31 - at) & 1u : 0u; };
  const std::uint32_t level = 4 * zeros + 3 - (2 * bit(zeros + 1) + bit(zeros + 2));
  return prior_weight(static_cast<std::uint8_t>(32 + 13 * level / 8));
}

// The code of text[first..] by the weights of the description.
std::vector<std::byte> code_of(const prior_content& content, std::span<const token_id> text, std::size_t first,
                               const id_noise& given) {
  std::vector<std::byte> bytes(8 * text.size() + 8);
  range_encoder coder(bytes);
  for (std::size_t i = first; i < text.size(); ++i) {
    const std::vector<std::uint64_t> plain = weights_of(content, text.first(i));
    std::vector<std::uint64_t> noisy = plain;
    const auto position = given.position + static_cast<std::uint32_t>(i - first);
    for (std::uint32_t id = 0; id < noisy.size(); ++id)
      noisy[id] *= factor_of(given.noise.high_words(position, id / 4).word[id % 4]);
    const auto sum = [](std::span<const std::uint64_t> of) {
      return std::accumulate(of.begin(), of.end(), std::uint64_t{0});
    };
    const std::span<const std::uint64_t> weights = sum(noisy) <= std::uint64_t{1} << 48 ? noisy : plain;
    const auto id = static_cast<std::size_t>(text[i]);
    coder.interval(sum(weights.first(id)), weights[id], sum(weights));
  }
  bytes.resize(coder.finish());
  return bytes;
}

// Codes ids, checks the code against the description, and decodes it again.
void check_code(const prior_content& content, const std::vector<token_id>& text, std::size_t first,
                const id_noise& noise) {
  const prior_table table = read_prior(content);
  std::vector<std::byte> bytes(8 * text.size() + 8);
  range_encoder coder(bytes);
  REQUIRE(encode_ids(coder, table, text, first, noise).ok());
  bytes.resize(coder.finish());
  REQUIRE(bytes == code_of(content, text, first, noise));
  std::vector<token_id> read(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first));
  read.resize(text.size(), -7);
  range_decoder decoder(bytes);
  REQUIRE(decode_ids(decoder, table, read, first, noise).ok());
  REQUIRE(read == text);
  REQUIRE(decoder.finish().ok());
}

}  // namespace

TEST_CASE("token prior: with noise, the code is that of the page, for every kind of noise") {
  std::mt19937_64 random(16);
  for (int run = 0; run < 120; ++run) {
    const auto vocab_size = static_cast<std::uint32_t>(1 + random() % (run % 20 == 0 ? 3000 : 40));
    const auto kind = static_cast<noise_kind>(1 + run % 4);
    const id_noise noise{{kind, random()}, static_cast<std::uint32_t>(random() >> (run % 2 == 0 ? 32 : 54))};
    const std::vector<token_id> text = random_text(random, vocab_size, 1 + below(random, 60));
    check_code(random_prior(random, vocab_size), text, below(random, text.size() + 1), noise);
  }
  prior_content large;  // more runs of ids than sums
  large.weights.resize(300'000);
  for (std::uint8_t& byte : large.weights) byte = static_cast<std::uint8_t>(random() % 60);
  check_code(large, {0, 299'999, 262'143, 262'144, 2047, 2048}, 1, {{noise_kind::philox, 3}, 77});
}

TEST_CASE("token prior: if the weights with noise have too large a sum, the noise does not count") {
  prior_content content;
  content.weights = {223, 0, 100};
  content.one[{0}] = {{0, 0}};
  content.mixing[1] = {240, 0, 0, 0};
  id_noise noise{{noise_kind::philox, 1}, 0};
  while (factor_of(noise.noise.high_words(noise.position, 0).word[0]) < 70'000) ++noise.position;
  check_code(content, {2, 0, 1}, 2, noise);  // 16 W times the factor is above 2^48
  content.mixing[1] = {};
  check_code(content, {2, 0, 1}, 2, noise);
}

TEST_CASE("token prior: noise saves bits if the ids win races") {
  prior_content content;
  content.weights.assign(1000, 0);
  const prior_table table = read_prior(content);
  std::size_t plain = 0, noisy = 0;
  for (std::uint32_t position = 0; position < 400; ++position) {
    const id_noise noise{{noise_kind::philox, 5}, position};
    std::vector<token_id> text(1);
    double least = 1e300;
    for (token_id id = 0; id < 1000; ++id) {  // Zipf's law, over ids in an order that no table knows
      const double time = noise.noise.time(position, id) * (1 + (id * 7 + 13 * static_cast<int>(position)) % 1000);
      if (time < least) text[0] = id;
      least = std::min(least, time);
    }
    for (const bool with : {false, true}) {
      range_encoder coder({});
      for (int copy = 0; copy < 8; ++copy) REQUIRE(encode_ids(coder, table, text, 0, with ? noise : id_noise{}).ok());
      (with ? noisy : plain) += coder.finish();
    }
  }
  MESSAGE("bytes of 3200 ids: " << plain << " without noise, " << noisy << " with noise");
  CHECK(noisy * 10 < plain * 7);
}

TEST_CASE("token prior: parts by hand") {
  prior_content content;
  content.weights = {0, 8, 16, 24};  // 1, 2, 4, 8: W = 15
  content.one[{2}] = {{1, 0}, {3, 8}};
  content.mixing[1] = {16, 0, 0, 0};  // 15 in total: 5 for id 1, 10 for id 3, each rounded down
  const prior_table table = read_prior(content);
  const std::vector<token_id> text{0, 2};
  const token_prior prior(table, text);
  // 15/3 in units of 2^-31 is below 5, so rounding gives 4; 10 becomes 9.
  CHECK(prior.total() == 15 + 4 + 9);
  const std::uint64_t firsts[] = {0, 1, 7, 11, 28};
  for (token_id id = 0; id < 4; ++id) {
    CHECK(prior.part_of(id).first == firsts[id]);
    CHECK(prior.part_of(id).width == firsts[id + 1] - firsts[id]);
  }
  const token_prior none(table, std::span(text).first(1));
  CHECK(none.total() == 15);
}

TEST_CASE("token prior: the parts of all ids are the weights of the page, in order and without a gap") {
  std::mt19937_64 random(5);
  for (int run = 0; run < 300; ++run) {
    const auto vocab_size = static_cast<std::uint32_t>(1 + random() % 40);
    const prior_content content = random_prior(random, vocab_size);
    const prior_table table = read_prior(content);
    const std::vector<token_id> text = random_text(random, vocab_size, run % 10 == 0 ? 1500 : below(random, 60));
    const token_prior prior(table, text);
    const std::vector<std::uint64_t> weights = weights_of(content, text);
    std::uint64_t first = 0;
    for (std::uint32_t id = 0; id < vocab_size; ++id) {
      const token_prior::interval part = prior.part_of(static_cast<token_id>(id));
      REQUIRE(part.first == first);
      REQUIRE(part.width == weights[id]);
      REQUIRE(part.width >= 1);
      REQUIRE(prior.at(part.first) == static_cast<token_id>(id));
      REQUIRE(prior.at(part.first + part.width - 1) == static_cast<token_id>(id));
      first += part.width;
    }
    REQUIRE(prior.total() == first);
    REQUIRE(first <= std::uint64_t{1} << 32);
  }
}

TEST_CASE("token prior: ids come back, in the bits that their weights say, and no later id has an effect") {
  std::mt19937_64 random(6);
  double mean = 0;
  for (int run = 0; run < 300; ++run) {
    const auto vocab_size = static_cast<std::uint32_t>(1 + random() % 300);
    const prior_content content = random_prior(random, vocab_size);
    const prior_table table = read_prior(content);
    const std::vector<token_id> text = random_text(random, vocab_size, 1 + below(random, 80));
    const std::size_t first = below(random, text.size() + 1);
    std::vector<std::byte> bytes(4 * text.size() + 8);
    range_encoder coder(bytes);
    REQUIRE(encode_ids(coder, table, text, first).ok());
    const std::size_t size = coder.finish();
    REQUIRE((coder.fits() && coder.decodable()));
    double bits = 0;
    for (std::size_t i = first; i < text.size(); ++i) {
      const auto weights = weights_of(content, std::span(text).first(i));
      std::uint64_t total = 0;
      for (const std::uint64_t weight : weights) total += weight;
      bits += std::log2(static_cast<double>(total) / static_cast<double>(weights[static_cast<std::size_t>(text[i])]));
    }
    const double over = 8.0 * static_cast<double>(size) - bits;
    REQUIRE(over < 8.01);
    mean += over / 300;
    std::vector<token_id> read(text);
    for (std::size_t i = first; i < read.size(); ++i) read[i] = -7;
    range_decoder decoder(std::span<const std::byte>(bytes).first(size));
    REQUIRE(decode_ids(decoder, table, read, first).ok());
    REQUIRE(read == text);
    REQUIRE(decoder.finish().ok());
  }
  CHECK((mean > 1 && mean < 5));
}

TEST_CASE("token prior: only the table and the last ids count, so nothing is left of ids that were taken back") {
  std::mt19937_64 random(7);
  const prior_content content = random_prior(random, 20);
  const prior_table table = read_prior(content), again = read_prior(content);
  const auto code_of = [](const prior_table& by, std::span<const token_id> text, std::size_t first) {
    std::vector<std::byte> bytes(200);
    range_encoder coder(bytes);
    REQUIRE(encode_ids(coder, by, text, first).ok());
    bytes.resize(coder.finish());
    return bytes;
  };
  for (int run = 0; run < 200; ++run) {
    std::vector<token_id> text = random_text(random, 20, 1200);
    const std::size_t first = text.size() - 8;
    const std::vector<std::byte> before = code_of(table, text, first);
    for (int drafts = 0; drafts < 3; ++drafts) {  // blocks that the cloud rejects
      std::vector<token_id> other(text.begin(), text.end() - 8);
      for (int i = 0; i < 8; ++i) other.push_back(static_cast<token_id>(random() % 20));
      (void)code_of(table, other, first);
    }
    REQUIRE(code_of(table, text, first) == before);
    REQUIRE(code_of(again, text, first) == before);
    const std::span<const token_id> tail = std::span<const token_id>(text).subspan(first - max_prior_window - 2);
    REQUIRE(code_of(table, tail, max_prior_window + 2) == before);
  }
}

TEST_CASE("token prior: any bytes decode to ids below V or fail, and what does not fail is what an encoder writes") {
  std::mt19937_64 random(8);
  int failed = 0, good = 0;
  for (int run = 0; run < 4000; ++run) {
    const auto vocab_size = static_cast<std::uint32_t>(1 + random() % 50);
    const prior_table table = read_prior(random_prior(random, vocab_size));
    std::vector<std::byte> bytes(below(random, 6));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random() & 0xff);
    std::vector<token_id> text(below(random, 100));
    id_noise noise;
    if (run % 4 == 0) noise = {{noise_kind::philox, random()}, static_cast<std::uint32_t>(random())};
    range_decoder decoder(bytes);
    REQUIRE(decode_ids(decoder, table, text, 0, noise).ok());
    for (const token_id id : text) REQUIRE((id >= 0 && static_cast<std::uint32_t>(id) < vocab_size));
    const auto used = decoder.finish();
    if (!used) {
      ++failed;
      continue;
    }
    ++good;
    std::vector<std::byte> out(800);
    range_encoder coder(out);
    REQUIRE(encode_ids(coder, table, text, 0, noise).ok());
    REQUIRE(coder.finish() == *used);
    REQUIRE(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*used), bytes.begin()));
  }
  CHECK(failed > 500);
  CHECK(good > 50);
}

TEST_CASE("token prior: bad ids and sizes have an error, and a coder is left as it was") {
  std::mt19937_64 random(9);
  const prior_table table = read_prior(random_prior(random, 10));
  std::array<std::byte, 64> out{};
  range_encoder coder(out);
  std::vector<token_id> text{1, 2, 3, 10};
  CHECK(encode_ids(coder, table, text, 1) == status{errc::token_out_of_range, part::codec, 3});
  text[3] = -1;
  CHECK(encode_ids(coder, table, text, 0) == status{errc::token_out_of_range, part::codec, 3});
  CHECK(encode_ids(coder, table, text, 5) == status{errc::size_mismatch, part::codec, 5});
  range_decoder decoder(out);
  CHECK(decode_ids(decoder, table, text, 5) == status{errc::size_mismatch, part::codec, 5});
  for (const unsigned kind : {5u, 255u}) {
    const id_noise unknown{{static_cast<noise_kind>(kind), 1}, 0};
    CHECK(encode_ids(coder, table, text, 0, unknown) == status{errc::invalid_argument, part::codec, 0});
    CHECK(decode_ids(decoder, table, text, 0, unknown) == status{errc::invalid_argument, part::codec, 0});
  }
  CHECK(text[3] == -1);
  CHECK(coder.finish() == 0);
  // Ids before the first that are no ids of this vocabulary are not predicted, and nothing is read outside the table.
  const std::vector<token_id> strange{-1, 99, -1, 99, -1, 3};
  range_encoder other(out);
  CHECK(encode_ids(other, table, strange, 5).ok());
  CHECK(other.finish() > 0);
  const alloc_guard guard;
  range_encoder third(out);
  const bool coded = encode_ids(third, table, strange, 5).ok() &&
                     encode_ids(third, table, strange, 5, {{noise_kind::philox, 1}, 0}).ok();
  CHECK(guard.count() == 0);
  CHECK(coded);
}
