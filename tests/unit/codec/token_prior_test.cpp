// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/token_prior.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
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

}  // namespace

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
    range_decoder decoder(bytes);
    REQUIRE(decode_ids(decoder, table, text, 0).ok());
    for (const token_id id : text) REQUIRE((id >= 0 && static_cast<std::uint32_t>(id) < vocab_size));
    const auto used = decoder.finish();
    if (!used) {
      ++failed;
      continue;
    }
    ++good;
    std::vector<std::byte> out(800);
    range_encoder coder(out);
    REQUIRE(encode_ids(coder, table, text, 0).ok());
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
  CHECK(text[3] == -1);
  CHECK(coder.finish() == 0);
  // Ids before the first that are no ids of this vocabulary are not predicted, and nothing is read outside the table.
  const std::vector<token_id> strange{-1, 99, -1, 99, -1, 3};
  range_encoder other(out);
  CHECK(encode_ids(other, table, strange, 5).ok());
  CHECK(other.finish() > 0);
  const alloc_guard guard;
  range_encoder third(out);
  const bool coded = encode_ids(third, table, strange, 5).ok();
  CHECK(guard.count() == 0);
  CHECK(coded);
}
