// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/prior_table.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "support/alloc_guard.hpp"
#include "unit/codec/prior_kit.hpp"

using namespace specverify;
using namespace specverify_test;

namespace {

// Five ids; 2 is often followed by 0 and 4, and 1 2 by 3.
prior_content five() {
  prior_content made;
  made.weights = {0, 8, 16, 24, 255 - 8 * 8};
  made.one[{2}] = {{0, 8}, {4, 16}};
  made.two[{1, 2}] = {{3, 0}};
  made.mixing[1] = {32, 0, 0, 0};
  made.mixing[15] = {1, 2, 3, 234};
  return made;
}

status refusal(std::span<const std::byte> file, std::uint32_t vocab_size = 5) {
  return prior_table::read(file, vocab_size).error();
}
status refusal(const prior_content& content, std::uint32_t vocab_size = 5) {
  return refusal(prior_file(content), vocab_size);
}
status codec(errc code, std::uint32_t where) { return {code, part::codec, where}; }

// Bytes of the file of five(): head 20, mixing 60, weights 5, then the list after 2 and the list after 1 2.
constexpr std::size_t mixing_at = 20, weights_at = 80, one_at = 85, two_at = 94, file_size = 102;

}  // namespace

TEST_CASE("prior table: a weight is 2^(b/8) to the nearest integer") {
  for (unsigned b = 0; b < 256; ++b) {
    const double exact = std::exp2(b / 8.0);
    CHECK(std::abs(prior_weight(static_cast<std::uint8_t>(b)) - exact) <= 0.5 + exact * 8e-6);
  }
  static_assert(prior_weight(0) == 1 && prior_weight(8) == 2 && prior_weight(12) == 3 &&
                prior_weight(255) == 3938516992);
}

TEST_CASE("prior table: sums, lists and mixing weights by hand") {
  prior_content content = five();
  content.weights[4] = 32;
  const prior_table table = read_prior(content);
  CHECK(table.vocab_size() == 5);
  const std::uint32_t sums[] = {0, 1, 3, 7, 15, 31};
  for (std::uint32_t id = 0; id <= 5; ++id) CHECK(table.sum_below(id) == sums[id]);
  for (std::uint32_t point = 0; point < 31; ++point) {
    const std::uint32_t id = table.find(0, 5, point);
    CHECK((sums[id] <= point && point < sums[id + 1]));
  }
  REQUIRE(table.after(2).size() == 2);
  CHECK((table.after(2)[0].id == 0 && table.after(2)[0].share == (1u << 31) / 3));
  CHECK((table.after(2)[1].id == 4 && table.after(2)[1].share == (std::uint64_t{4} << 31) / 6));
  CHECK((table.after(1, 2).size() == 1 && table.after(1, 2)[0].share == 1u << 31));
  CHECK((table.after(3).empty() && table.after(2, 1).empty() && table.after(0, 2).empty() && table.after(-1).empty()));
  CHECK(table.added(1, prior_source::after_one) == 31 * 2);
  CHECK(table.added(15, prior_source::seen_two) == 31 * 234 / 16);
  CHECK(table.added(2, prior_source::after_two) == 0);
}

TEST_CASE("prior table: the fingerprint changes with every number, and only with numbers") {
  const prior_content content = five();
  const prior_fingerprint mark = read_prior(content).fingerprint();
  CHECK(read_prior(content).fingerprint() == mark);
  std::vector<prior_content> others(7, content);
  others[0].weights[1] = 16;
  std::swap(others[1].weights[1], others[1].weights[2]);
  others[2].one[{2}][4] = 24;
  others[3].two[{1, 2}][1] = 0;
  others[4].mixing[15][0] = 0;
  others[5].one[{3}] = others[5].one[{2}];
  others[6].weights.push_back(0);
  for (const prior_content& other : others) CHECK(!(read_prior(other).fingerprint() == mark));
  // 2^(1/8) and 2^(4/8) round to the weights 1 and 1: another file, and the same weights.
  prior_content same = content;
  same.weights[0] = 1;
  CHECK(prior_file(same) != prior_file(content));
  CHECK(read_prior(same).fingerprint() == mark);
}

TEST_CASE("prior table: each part of a bad file has its error, with the byte") {
  const prior_content content = five();
  const std::vector<std::byte> file = prior_file(content);
  REQUIRE(file.size() == file_size);
  CHECK(refusal(content).ok());
  CHECK(refusal(file, 0).code == errc::empty_vocabulary);
  CHECK(refusal(file, max_vocab_size + 1).code == errc::vocabulary_too_large);
  CHECK(refusal(file, 6) == codec(errc::prior_vocabulary, 5));
  for (std::size_t size = 0; size < file_size; ++size) {
    const status why = refusal(std::span(file).first(size));
    CHECK((why.code == (size < 8 && size >= 4 ? why.code : errc::truncated) && !why.ok()));
  }
  const auto changed = [&](std::size_t at, unsigned byte) {
    std::vector<std::byte> other = file;
    other[at] = static_cast<std::byte>(byte);
    return refusal(other);
  };
  CHECK(changed(0, 'T') == codec(errc::prior_header, 0));
  CHECK(changed(4, 2) == codec(errc::prior_header, 0));
  CHECK(changed(mixing_at + 1, 1) == codec(errc::field_out_of_range, mixing_at + 1));  // after_two in the set after_one
  CHECK(changed(mixing_at + 59, 235) == codec(errc::field_out_of_range, mixing_at + 59));
  CHECK(changed(weights_at + 3, 224) == codec(errc::field_out_of_range, weights_at + 3));
  CHECK(changed(one_at, 5) == codec(errc::token_out_of_range, one_at));
  CHECK(changed(one_at + 1, 1) == codec(errc::token_out_of_range, one_at));
  CHECK(changed(one_at + 2, 0) == codec(errc::field_out_of_range, one_at + 2));
  CHECK(changed(one_at + 2, 65) == codec(errc::field_out_of_range, one_at + 2));
  CHECK(changed(one_at + 6, 0) == codec(errc::ids_not_ascending, one_at + 6));
  CHECK(changed(one_at + 6, 9) == codec(errc::token_out_of_range, one_at + 6));
  CHECK(changed(two_at + 5, 9) == codec(errc::token_out_of_range, two_at + 5));
  std::vector<std::byte> longer = file;
  longer.push_back(std::byte{0});
  CHECK(refusal(longer) == codec(errc::trailing_bytes, file_size));
  // A reading allocates memory for the lists, and not for all bytes after them.
  longer.resize(std::size_t{1} << 20);
  const alloc_guard guard;
  CHECK(refusal(longer) == codec(errc::trailing_bytes, file_size));
  CHECK(guard.bytes() < 1024);
  // Counts of lists that the file cannot hold allocate nothing.
  for (const std::size_t at : {std::size_t{12}, std::size_t{16}}) {
    std::vector<std::byte> many = file;
    for (std::size_t i = 0; i < 4; ++i) many[at + i] = std::byte{0xff};
    CHECK(refusal(many) == codec(errc::truncated, file_size));
  }
  prior_content twice = content;
  twice.one[{3}] = {{0, 0}};
  std::vector<std::byte> lists = prior_file(twice);
  lists[one_at + 9] = std::byte{2};  // the second list is after 2, too
  CHECK(refusal(lists) == codec(errc::ids_not_ascending, one_at + 9));
}

TEST_CASE("prior table: ids above 16 bits, the largest sum, and a list of the largest size") {
  prior_content content;
  content.weights.assign(70000, 0);
  content.one[{69999}] = {{65536, 9}, {69998, 3}};
  content.two[{0, 69999}] = {{69999, 3}};
  for (token_id id = 0; id < 64; ++id) content.one[{7}][1000 * id] = static_cast<std::uint8_t>(255 - id);
  const prior_table table = read_prior(content);
  CHECK(table.after(69999)[1].id == 69998);
  CHECK(table.after(0, 69999)[0].id == 69999);
  std::uint64_t sum = 0;
  for (const prior_follower& one : table.after(7)) sum += one.share;
  CHECK((sum <= 1u << 31 && sum > (1u << 31) - 64));
  prior_content full;
  full.weights = {216, 216};  // 2^27 each
  full.mixing[1][0] = 240;
  CHECK(read_prior(full).sum_below(2) == max_prior_sum);
  CHECK(read_prior(full).added(1, prior_source::after_one) == 15u * max_prior_sum);
  full.weights.push_back(0);
  CHECK(refusal(full, 3) == codec(errc::field_out_of_range, weights_at + 2));
}
