// SPDX-License-Identifier: Apache-2.0
#include <specverify/codec/message.hpp>
#include <specverify/sparsify/compressed_law.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "support/alloc_guard.hpp"
#include "unit/codec/message_kit.hpp"
#include "unit/codec/prior_kit.hpp"

using namespace specverify;
using namespace specverify_test;

namespace {

std::vector<std::byte> encoded(const wire_format& format, std::span<const draft> drafts) {
  std::vector<std::byte> out(max_draft_bytes(format, static_cast<std::uint32_t>(drafts.size())));
  std::size_t written = 0;
  REQUIRE(into(written, encode_draft(some_place, format, drafts, out)).ok());
  out.resize(written);
  return out;
}

struct decoder {
  explicit decoder(const wire_format& with)
      : format(with), memory(decode_draft_workspace_size(with)), block(make_block(with)) {}
  status read(std::span<const std::byte> message) {
    workspace scratch(memory);
    return decode_draft(some_place, format, message, block, scratch).error();
  }
  wire_format format;
  std::vector<std::byte> memory;
  received_draft_block block;
};

constexpr wire_format small_format(law_format kind) {
  return {kind, 37, kind == law_format::fp16_row ? 0u : 12u, kind == law_format::sparse_paper ? 5u : 0u, 4, 1};
}

draft_list drafts_for(const wire_format& format, std::mt19937_64& random, std::uint32_t length) {
  draft_list list;
  for (std::uint32_t i = 0; i < length; ++i) {
    switch (format.format) {
      case law_format::fp16_row: {
        owned_law row{
            random_ids(random, format.vocab_size, 1 + static_cast<std::uint32_t>(random() % format.vocab_size), false),
            {},
            format.vocab_size};
        for (std::size_t j = 0; j < row.ids.size(); ++j)
          row.counts.push_back(detail::half_to_count(1 + static_cast<std::uint32_t>(random() % 0x3800)));
        list.add(std::move(row), i);
        break;
      }
      case law_format::sparse_paper: {
        const std::uint32_t size = format.support_size != 0
                                       ? format.support_size
                                       : 1 + static_cast<std::uint32_t>(random() % std::min(format.vocab_size, 200u));
        list.add(random_law(random, format.vocab_size, format.resolution, size, true), i);
        break;
      }
      default: {
        const std::uint32_t most =
            std::min({format.vocab_size, format.resolution, format.support_size != 0 ? format.support_size : 200u});
        list.add(random_law(random, format.vocab_size, format.resolution,
                            1 + static_cast<std::uint32_t>(random() % most), false, random() % 2 == 0),
                 i);
      }
    }
  }
  return list;
}

}  // namespace

TEST_CASE("drafts of every format come back with their laws, and encode to the same bytes again") {
  std::mt19937_64 random(1);
  for (const law_format kind :
       {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice, law_format::fp16_row}) {
    for (int run = 0; run < 400; ++run) {
      wire_format format = small_format(kind);
      if (run % 4 == 1 && kind != law_format::fp16_row)
        format = {kind, 128256, 100, kind == law_format::sparse_paper ? 16u : 0u, 8, 1};
      format.check_bits = check_widths[static_cast<std::size_t>(run / 8 % 3)];
      if (run % 4 == 2) format.pad_to = 64;
      if (run % 4 == 3) format.vocab_size = 1000;
      if (run % 8 == 3) format.support_size = 0;
      if (run % 8 == 7 && kind == law_format::sparse_drop_zero) format.support_size = 6;
      const auto list =
          drafts_for(format, random, static_cast<std::uint32_t>(random() % (format.max_draft_length + 1)));
      const auto bytes = encoded(format, list.view());
      CHECK(bytes.size() % format.pad_to == 0);
      std::size_t exact = 0;
      REQUIRE(into(exact, draft_bytes(format, list.view(), {})).ok());
      REQUIRE(exact == bytes.size());
      decoder read(format);
      REQUIRE(read.read(bytes).ok());
      REQUIRE(read.block.size() == list.drafts.size());
      for (std::uint32_t i = 0; i < read.block.size(); ++i) {
        REQUIRE(read.block[i].token() == list.drafts[i].token());
        REQUIRE(same_law(read.block[i].source_law(), list.drafts[i].source_law()));
      }
      std::vector<std::byte> again(bytes.size());
      std::size_t written = 0;
      REQUIRE(into(written, encode_draft(some_place, format, read.block.drafts(), again)).ok());
      REQUIRE(again == bytes);
      // A span one byte short is refused and says how many it takes.
      CHECK(encode_draft(some_place, format, list.view(), std::span(again).first(bytes.size() - 1)).error() ==
            status{errc::output_too_small, part::codec, static_cast<std::uint32_t>(bytes.size())});
    }
  }
}

TEST_CASE(
    "E7 zero counts in memory are dropped by the drop-zero and the dense code and kept by the papers' sparse code") {
  const wire_format format{law_format::sparse_drop_zero, 50, 10, 0, 2, 1};
  draft_list list;
  list.add({{3, 9, 20, 41}, {0, 7, 0, 3}, 50}, 0);
  for (const law_format kind : {law_format::sparse_drop_zero, law_format::dense_lattice, law_format::sparse_paper}) {
    wire_format other = format;
    other.format = kind;
    decoder read(other);
    REQUIRE(read.read(encoded(other, list.view())).ok());
    const law& from = read.block[0].source_law();
    CHECK(from.size == (kind == law_format::sparse_paper ? 4 : 2));
    CHECK(from.count(9) == 7);
    CHECK(from.count(41) == 3);
    CHECK(read.block[0].token() == list.drafts[0].token());
  }
}

TEST_CASE("NET-1 one law alone: at most 8 bits over the ideal on average and 16 at worst, uniform and Zipf supports") {
  std::mt19937_64 random(42);
  for (const std::uint32_t positive : {8u, 64u}) {
    const double ideal = drop_zero_law_bits(128256, positive, 100);
    CHECK(std::fabs(ideal - (positive == 8 ? 160.9 : 886.7)) < 0.05);
    for (const bool zipf : {false, true}) {
      double mean = 0, worst = -1000;
      constexpr int laws = 10000;
      for (int i = 0; i < laws; ++i) {
        const owned_law law_of = random_law(random, 128256, 100, positive, false, zipf);
        std::array<std::byte, 256> out{};
        range_encoder coder(out);
        detail::encode_law(coder, {law_format::sparse_drop_zero, 128256, 100, 0, 1, 1}, law_of.view(), law_of.ids[0]);
        const double over = 8.0 * static_cast<double>(coder.finish()) - ideal - std::log2(positive);
        mean += over / laws;
        worst = std::max(worst, over);
      }
      CAPTURE(positive);
      CAPTURE(zipf);
      CHECK(mean <= 8);
      CHECK(worst <= 16);
      MESSAGE("K+ = ", positive, (zipf ? std::string(", Zipf") : std::string(", uniform")), ": mean ", mean, ", worst ",
              worst, " bits over the ideal and the token's place");
    }
  }
}

TEST_CASE("NET-1 blocks of 8 laws: within 2 % and 8 bits; NET-2 8 drafts with K+ = 32 in less than 1200 bytes") {
  std::mt19937_64 random(44);
  for (const std::uint32_t positive : {8u, 32u, 64u}) {
    const wire_format format{law_format::sparse_drop_zero, 128256, 100, 0, 8, 1};
    for (int run = 0; run < 200; ++run) {
      draft_list list;
      for (std::uint32_t i = 0; i < 8; ++i) list.add(random_law(random, 128256, 100, positive, false, run % 2 == 0), i);
      const auto bytes = encoded(format, list.view());
      const double ideal = 8 * (drop_zero_law_bits(128256, positive, 100) + std::log2(positive));
      REQUIRE(8.0 * static_cast<double>(bytes.size() - frame_bytes) <= 1.02 * ideal + 8);
      if (positive == 32) REQUIRE(bytes.size() < 1200);
    }
  }
  CHECK(max_draft_bytes({law_format::sparse_drop_zero, 128256, 100, 32, 8, 1}, 8) < 1200);
}

TEST_CASE("the papers' own codes: within 8 bits of their formula, whatever the law") {
  std::mt19937_64 random(45);
  double mean = 0;
  for (int run = 0; run < 300; ++run) {
    const wire_format sparse{law_format::sparse_paper, 50257, 100, 16, 1, 1};
    draft_list list;
    owned_law law_of{random_ids(random, 50257, 16, run % 2 == 0), random_counts(random, 100, 16, true, run % 3 == 0),
                     50257};
    list.add(std::move(law_of), 0);
    // the token's place among K
    const double formula = top_k_law_bits(50257, 16, 100) + 4;
    // 1: zero or one draft
    CHECK(8.0 * static_cast<double>(encoded(sparse, list.view()).size() - frame_bytes) <= formula + 1 + 8);
    const wire_format dense{law_format::dense_lattice, 50257, 240, 0, 1, 1};
    draft_list flat;
    const auto size = static_cast<std::uint32_t>(1 + random() % 200);
    flat.add(
        {random_ids(random, 50257, size, run % 2 == 0), random_counts(random, 240, size, false, run % 3 == 0), 50257},
        0);
    const double bits = 8.0 * static_cast<double>(encoded(dense, flat.view()).size() - frame_bytes);
    CHECK(bits <= static_cast<double>(dense_token_bits(50257, 240)) + 1 + 8);
    mean += bits / 300;
  }
  CHECK(std::fabs(mean - static_cast<double>(dense_token_bits(50257, 240))) <= 8);
}

TEST_CASE("random laws: round trip") {
  const bool long_run = std::getenv("SPECVERIFY_LONG") != nullptr;
  std::mt19937_64 random(46);
  const int laws = long_run ? 1000000 : 20000;
  for (int run = 0; run < laws;) {
    const auto vocab_size = static_cast<std::uint32_t>(1 + random() % (std::uint64_t{1} << (1 + random() % 17)));
    const auto resolution = static_cast<std::uint32_t>(1 + random() % 300);
    const auto kind = static_cast<law_format>(random() % 3);
    const wire_format format{kind, vocab_size, resolution, 0, 8, 1};
    decoder read(format);
    draft_list list;
    for (std::uint32_t i = 0; i < 8; ++i, ++run) {
      const auto most =
          std::min<std::uint64_t>({vocab_size, kind == law_format::sparse_paper ? 100u : resolution, 100u});
      list.add(random_law(random, vocab_size, resolution, static_cast<std::uint32_t>(1 + random() % most),
                          kind == law_format::sparse_paper),
               i);
    }
    REQUIRE(read.read(encoded(format, list.view())).ok());
    REQUIRE(read.block.size() == 8);
    for (std::uint32_t i = 0; i < 8; ++i) {
      REQUIRE(read.block[i].token() == list.drafts[i].token());
      REQUIRE(same_law(read.block[i].source_law(), list.drafts[i].source_law()));
    }
  }
}

namespace {

struct short_bodies {
  int accepted = 0;
  int outside = 0;  // refused because the token is not in its law
};

//! Reads every draft with up to two bytes between kind and check; what is accepted encodes to the same bytes again.
short_bodies read_short_bodies(const wire_format& format) {
  short_bodies seen;
  decoder read(format);
  for (std::uint32_t value = 0; value < 65536 + 256 + 1; ++value) {
    const std::size_t size = value < 65536 ? 2 : value < 65536 + 256 ? 1 : 0;
    std::array<std::byte, 4> message{};
    if (size > 0) message[1] = static_cast<std::byte>(value & 255u);
    if (size > 1) message[2] = static_cast<std::byte>(value >> 8 & 255u);
    const auto bytes = std::span(message).first(frame_bytes + size);
    seal(format, message_kind::draft, bytes);
    const status outcome = read.read(bytes);
    seen.outside += outcome.code == errc::token_not_in_law ? 1 : 0;
    if (!outcome.ok()) {
      REQUIRE(read.block.empty());
      continue;
    }
    ++seen.accepted;
    std::array<std::byte, 32> again{};
    std::size_t written = 0;
    REQUIRE(into(written, encode_draft(some_place, format, read.block.drafts(), again)).ok());
    REQUIRE(written == bytes.size());
    REQUIRE(std::equal(bytes.begin(), bytes.end(), again.begin()));
  }
  return seen;
}

}  // namespace

TEST_CASE("T29 NET-7 of all bodies of up to two bytes, exactly one per value is accepted") {
  // V = 3, l = 2: laws are {a} with 2, or {a, b} with 1 + 1. With the token: 3 + 3 * 2 = 9 drafts; 0 or 1 of them: 10
  // messages. The papers' sparse code with K = 2: 3 supports, counts (2,0) (1,1) (0,2), tokens 1 + 2 + 1: 12 drafts.
  // Dense: as drop-zero, 9.
  struct line {
    wire_format format;
    int messages;
  };
  const line lines[] = {{{law_format::sparse_drop_zero, 3, 2, 0, 1, 1}, 10},
                        {{law_format::sparse_paper, 3, 2, 2, 1, 1}, 13},
                        {{law_format::dense_lattice, 3, 2, 0, 1, 1}, 10},
                        {{law_format::sparse_drop_zero, 3, 2, 0, 2, 1}, 1 + 9 + 81},
                        {{law_format::sparse_drop_zero, 3, 2, 1, 2, 1}, 1 + 3 + 9},
                        {{law_format::sparse_drop_zero, 3, 2, 0, 1, 4}, 10}};
  for (const line& at : lines) {
    CHECK(read_short_bodies(at.format).accepted == at.messages);
  }
}

TEST_CASE("max_draft_bytes bounds every message and is close to the largest") {
  std::mt19937_64 random(47);
  for (const std::uint32_t vocab_size : {1u, 2u, 3u, 40u, 128256u}) {
    for (const std::uint32_t resolution : {1u, 2u, 30u, 100u, 1000u}) {
      for (const law_format kind :
           {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice}) {
        const wire_format format{
            kind, vocab_size, resolution, kind == law_format::sparse_paper ? std::min(vocab_size, 20u) : 0, 4, 1};
        std::size_t largest = 0;
        const std::uint32_t most =
            std::min({vocab_size, kind == law_format::sparse_paper ? format.support_size : resolution});
        for (std::uint32_t size = kind == law_format::sparse_paper ? most : 1; size <= most; size += 1 + most / 40) {
          draft_list list;
          for (std::uint32_t i = 0; i < 4; ++i)
            list.add(random_law(random, vocab_size, resolution, size, kind == law_format::sparse_paper), i);
          std::size_t bytes = 0;
          REQUIRE(into(bytes, draft_bytes(format, list.view(), {})).ok());
          largest = std::max(largest, bytes);
        }
        CAPTURE(vocab_size);
        CAPTURE(resolution);
        CHECK(largest <= max_draft_bytes(format, 4));
        CHECK(max_draft_bytes(format, 4) <= largest + 12 + largest / 20);
      }
    }
  }
  CHECK(max_draft_bytes({law_format::fp16_row, 32000, 0, 0, 8, 1}, 1) == frame_bytes + 2 + 64000 + 2);
  CHECK(max_draft_bytes({law_format::token_only, 32000, 0, 0, 8, 64}, 8) == 64);
}

TEST_CASE("max_draft_bytes bounds supports in one place and fine resolutions, where the codes lose most") {
  std::size_t messages = 0;
  for (const std::uint32_t vocab_size : {50257u, 128256u}) {
    for (const std::uint32_t size : {1u, 16u, 4000u, 20000u}) {
      for (const std::uint32_t resolution : {100u, 65536u}) {
        for (const law_format kind :
             {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice}) {
          const bool zeros = kind == law_format::sparse_paper;
          if (!zeros && size > resolution) continue;
          const wire_format format{kind, vocab_size, resolution, kind == law_format::dense_lattice ? 0 : size, 8, 1};
          for (const bool at_end : {false, true}) {
            draft_list list;
            for (std::uint32_t i = 0; i < 8; ++i) {
              owned_law packed{{}, std::vector<std::uint32_t>(size, zeros ? 0u : 1u), vocab_size};
              for (std::uint32_t j = 0; j < size; ++j)
                packed.ids.push_back(static_cast<token_id>(at_end ? vocab_size - size + j : j));
              packed.counts[at_end ? size - 1 : 0] += zeros ? resolution : resolution - size;
              list.add(std::move(packed), i);
            }
            std::size_t bytes = 0;
            REQUIRE(into(bytes, draft_bytes(format, list.view(), {})).ok());
            CAPTURE(vocab_size);
            CAPTURE(size);
            CAPTURE(resolution);
            CHECK(bytes <= max_draft_bytes(format, 8));
            ++messages;
          }
        }
      }
    }
  }
  CHECK(messages > 60);
}

TEST_CASE("top_k_tail: laws with a tail come back as they were, whatever K, and encode to the same bytes again") {
  std::mt19937_64 random(49);
  const int runs = std::getenv("SPECVERIFY_LONG") != nullptr ? 100000 : 5000;
  for (int run = 0; run < runs; ++run) {
    const auto vocab_size = static_cast<std::uint32_t>(1 + random() % (run % 3 == 0 ? 6u : 3000u));
    const auto limit = run % 2 == 0 ? 0u : static_cast<std::uint32_t>(1 + random() % vocab_size);
    const wire_format format{
        law_format::top_k_tail, vocab_size, static_cast<std::uint32_t>(1 + random() % 300), limit, 3, 1};
    draft_list list;
    const auto length = static_cast<std::uint32_t>(random() % 4);
    for (std::uint32_t i = 0; i < length; ++i)
      list.add_top_k_tail(random, vocab_size, format.resolution,
                          static_cast<std::uint32_t>(1 + random() % (limit != 0 ? limit : vocab_size)), i);
    const auto bytes = encoded(format, list.view());
    std::size_t exact = 0;
    REQUIRE(into(exact, draft_bytes(format, list.view(), {})).ok());
    REQUIRE(exact == bytes.size());
    decoder read(format);
    REQUIRE(read.read(bytes).ok());
    REQUIRE(read.block.size() == length);
    for (std::uint32_t i = 0; i < length; ++i) {
      REQUIRE(read.block[i].token() == list.drafts[i].token());
      REQUIRE(same_law(read.block[i].source_law(), list.drafts[i].source_law()));
      REQUIRE(check(read.block[i].source_law()).ok());
    }
    std::vector<std::byte> again(bytes.size());
    std::size_t written = 0;
    REQUIRE(into(written, encode_draft(some_place, format, read.block.drafts(), again)).ok());
    REQUIRE(again == bytes);
  }
}

TEST_CASE("top_k_tail: what sparsify/compressed_law.hpp makes on a lattice travels as it is") {
  std::mt19937_64 random(51);
  for (int run = 0; run < 2000; ++run) {
    const auto vocab_size = static_cast<std::uint32_t>(1 + random() % 60);
    const auto size = static_cast<std::uint32_t>(1 + random() % vocab_size);
    const auto ids = random_ids(random, vocab_size, size, false);
    std::vector<std::uint32_t> weights(size);
    std::uint64_t total = vocab_size > size ? random() % 100000 : 0;
    for (std::uint32_t& weight : weights) total += weight = static_cast<std::uint32_t>(1 + random() % 100000);
    const support kept{ids, weights, total, vocab_size};
    compressed_law_options options;
    options.format = value_format::lattice;
    options.resolution = run % 2 == 0 ? 255 : 15;
    std::vector<std::byte> memory(compressed_law_workspace_size(size) + workspace_alignment);
    workspace space(memory);
    const auto made = compressed_law(kept, options, space);
    REQUIRE(made.ok());
    const draft drafted = draw(*made, uniforms{philox{}, static_cast<std::uint32_t>(run), 0}.at(purpose::draft_draw));
    const wire_format format{law_format::top_k_tail, vocab_size, options.resolution, 0, 1, 1};
    decoder read(format);
    REQUIRE(read.read(encoded(format, std::span(&drafted, 1))).ok());
    REQUIRE(read.block[0].token() == drafted.token());
    REQUIRE(same_law(read.block[0].source_law(), *made));
  }
}

TEST_CASE("top_k_tail: bits of the formula, and the bound of a message") {
  std::mt19937_64 random(50);
  for (const std::uint32_t size : {1u, 30u, 832u, 5715u}) {
    const wire_format format{law_format::top_k_tail, 32000, 255, 0, 1, 1};
    const double formula =
        std::log2(32000) + log2_binomial(32000, size) + log2_binomial(255 + size, size) + std::log2(size + 1.0);
    for (int run = 0; run < 50; ++run) {
      draft_list list;
      list.add_top_k_tail(random, 32000, 255, size, static_cast<std::uint32_t>(run));
      const double bits = 8.0 * static_cast<double>(encoded(format, list.view()).size() - frame_bytes);
      const bool outside = list.drafts[0].source_law().find(list.drafts[0].token()) == size;
      REQUIRE(bits <= formula * 1.0002 + (outside ? std::log2(32000.0 - size) : 0) + 1 + 8);
    }
  }
  for (const std::uint32_t vocab_size : {1u, 2u, 3u, 40u, 5000u}) {
    for (const std::uint32_t resolution : {1u, 2u, 255u, 4000u}) {
      for (const std::uint32_t limit : {0u, 1u, 30u}) {
        if (limit > vocab_size) continue;
        const wire_format format{law_format::top_k_tail, vocab_size, resolution, limit, 4, 1};
        std::size_t largest = 0;
        const std::uint32_t most = limit != 0 ? limit : vocab_size;
        for (std::uint32_t size = 1; size <= most; size += 1 + most / 40) {
          draft_list list;
          for (std::uint32_t i = 0; i < 4; ++i) list.add_top_k_tail(random, vocab_size, resolution, size, i);
          std::size_t bytes = 0;
          REQUIRE(into(bytes, draft_bytes(format, list.view(), {})).ok());
          largest = std::max(largest, bytes);
        }
        CAPTURE(vocab_size);
        CAPTURE(resolution);
        CAPTURE(limit);
        CHECK(largest <= max_draft_bytes(format, 4));
        CHECK(max_draft_bytes(format, 4) <= largest + 20 + largest / 20);
      }
    }
  }
}

TEST_CASE("T29 top_k_tail: what the encoder and the decoder refuse, by name") {
  const wire_format format{law_format::top_k_tail, 10, 12, 4, 1, 1};
  std::array<std::byte, 100> out{};
  const auto attempt = [&](std::vector<token_id> ids, std::vector<std::uint32_t> counts, std::uint32_t tail,
                           std::uint32_t resolution) {
    const law from{ids.data(), counts.data(), static_cast<std::uint32_t>(ids.size()), tail, resolution, 10};
    law drawn = from;  // a draw needs a sum that holds
    std::uint64_t sum = std::uint64_t{tail} * (10 - ids.size());
    for (const std::uint32_t count : counts) sum += count;
    drawn.resolution = static_cast<std::uint32_t>(sum);
    const draft made = draw(drawn, uniforms{philox{}, 0, 0}.at(purpose::draft_draw)).rebound(from);
    return encode_draft(some_place, format, std::span(&made, 1), out).error().code;
  };
  CHECK(attempt({1, 5}, {64, 16}, 2, 96) == errc::ok);  // 8 + 2 + 2 of 12 units of 8
  CHECK(attempt({1, 5}, {64, 32}, 0, 96) == errc::ok);
  CHECK(attempt({1, 5}, {64, 16}, 2, 95) == errc::counts_do_not_sum);
  CHECK(attempt({1, 5}, {64, 8}, 2, 88) == errc::invalid_resolution);
  CHECK(attempt({1, 5}, {65, 15}, 2, 96) == errc::law_kind_mismatch);
  CHECK(attempt({5, 1}, {64, 16}, 2, 96) == errc::ids_not_ascending);
  CHECK(attempt({5, 5}, {64, 16}, 2, 96) == errc::ids_not_ascending);
  CHECK(attempt({1, 2, 3, 4, 5}, {10, 10, 10, 10, 10}, 2, 60) == errc::support_too_large);
  CHECK(attempt({}, {}, 12, 120) == errc::empty_support);
  {
    const std::array<token_id, 2> ids{1, 5};
    const std::array<std::uint32_t, 2> counts{64, 32};
    const law from{ids.data(), counts.data(), 2, 0, 96, 10}, tailed{ids.data(), counts.data(), 2, 1, 104, 10};
    draft made = draw(tailed, uniforms{philox{}, 0, 0}.at(purpose::draft_draw));
    for (std::uint32_t i = 0; made.token() == 1 || made.token() == 5; ++i)
      made = draw(tailed, uniforms{philox{}, i, 0}.at(purpose::draft_draw));
    made = made.rebound(from);
    CHECK(encode_draft(some_place, format, std::span<const draft>(&made, 1), out).error().code ==
          errc::token_not_in_law);
  }
  // All bodies of up to two bytes, V = 3, l = 2: K = 1: 3 ids, counts (b, tail) = (2, 0), (1, 1), (0, 2) with 1, 3 and
  // 2 tokens: 18. K = 2: 3 pairs; (2,0,0) (0,2,0): 1 token each, (1,1,0): 2, (1,0,1) (0,1,1): 2 each, (0,0,2): 1: 27. K
  // = 3: (2,0,0) and so on: 3 + 3 * 2 = 9.
  const wire_format tiny{law_format::top_k_tail, 3, 2, 0, 1, 1};
  const auto [accepted, outside] = read_short_bodies(tiny);
  CHECK(accepted == 1 + 18 + 27 + 9);
  CHECK(outside > 0);
}

TEST_CASE("half floats as counts of 2^-24, all 15361 of them") {
  std::uint32_t accepted = 0;
  for (std::uint32_t half = 0; half <= detail::half_of_one; ++half) {
    const std::uint32_t count = detail::half_to_count(half);
    const double value =
        half < 1024 ? std::ldexp(half, -24) : std::ldexp(1024 + half % 1024, static_cast<int>(half / 1024) - 25);
    REQUIRE(static_cast<double>(count) == std::ldexp(value, 24));
    const auto back = detail::count_to_half(count);
    REQUIRE(back.has_value());
    REQUIRE(*back == half);
    ++accepted;
  }
  CHECK(accepted == 15361);
  CHECK(!detail::count_to_half(2049));
  CHECK(!detail::count_to_half((1u << 24) + 1));
}

TEST_CASE("neither encoding nor decoding allocates") {
  std::mt19937_64 random(48);
  for (const law_format kind :
       {law_format::sparse_drop_zero, law_format::sparse_paper, law_format::dense_lattice, law_format::fp16_row}) {
    const wire_format format = small_format(kind);
    const auto list = drafts_for(format, random, 4);
    std::vector<std::byte> out(max_draft_bytes(format, 4));
    decoder read(format);
    std::size_t written = 0;
    const specverify_test::alloc_guard guard;
    const bool good = into(written, encode_draft(some_place, format, list.view(), out)).ok() &&
                      read.read(std::span(out).first(written)).ok();
    const std::uint64_t allocations = guard.count();
    CHECK(good);
    CHECK(allocations == 0);
  }
}

namespace {

//! A table, a text, and memory for a message after it.
struct prior_side {
  prior_table table;
  std::vector<token_id> memory;
  std::size_t length;

  prior_side(std::uint64_t seed, std::uint32_t vocab_size, std::size_t text, std::size_t room)
      : table([&] {
          std::mt19937_64 random(seed);
          return read_prior(random_prior(random, vocab_size));
        }()),
        length(text) {
    std::mt19937_64 random(seed);
    memory = random_text(random, vocab_size, text);
    memory.resize(text + room, -7);
  }
  [[nodiscard]] prior_text known() { return {&table, memory, length, {noise_kind::philox, 99}}; }
};

std::vector<claimed_draft> random_claims(std::mt19937_64& random, const wire_format& format, std::size_t count) {
  std::vector<claimed_draft> made;
  for (const token_id id : random_text(random, format.vocab_size, count)) made.push_back({id, 0, 0});
  return made;
}

bool same_claim(const claimed_draft& a, const claimed_draft& b) {
  return a.token == b.token && a.count == b.count && a.resolution == b.resolution;
}

wire_format coded_ids(std::uint32_t vocab_size, std::uint32_t drafts, const attachment_format& with = {}) {
  return {.format = law_format::token_only,
          .vocab_size = vocab_size,
          .max_draft_length = drafts,
          .attachments = with,
          .ids = id_code::prior};
}

}  // namespace

TEST_CASE("ids by a prior come back with their attachments, and encode to the same bytes again") {
  std::mt19937_64 random(129);
  const attachment_format skips{0, hidden_format::none, false, false, 5},
      vectors{4, hidden_format::int8, true, true, 3};
  for (const std::uint32_t vocab_size : {1u, 2u, 30u, 4096u}) {
    for (const attachment_format& with : {attachment_format{}, skips, vectors}) {
      for (const std::uint32_t most : {1u, 4u, 9u}) {
        wire_format format = coded_ids(vocab_size, most, with);
        for (int turn = 0; turn < 40; ++turn) {
          format.check_bits = check_widths[random() % 3];
          format.pad_to = turn % 4 == 0 ? 8 : 1;
          format.ids = turn % 2 == 0 ? id_code::prior : id_code::noise;
          const std::uint64_t seed = random();
          const std::size_t text = 1 + random() % 60, count = random() % (most + 1), ahead = random() % 3;
          const auto claims = random_claims(random, format, count);
          const std::vector<token_id> skipped =
              random_text(random, vocab_size, std::min<std::size_t>(with.max_skipped, random() % 6));
          std::vector<std::byte> hidden(count * hidden_bytes(with));
          for (std::size_t i = 0; with.hidden != hidden_format::none && i < count; ++i) {
            const float one[] = {1.0F, -0.5F, 0.25F, 0.0F};
            REQUIRE(encode_hidden(one, with.hidden, std::span(hidden).subspan(i * hidden_bytes(with))).ok());
          }
          const draft_attachments attached{skipped, {}, hidden};
          prior_side sender(seed, vocab_size, text, skipped.size() + count + ahead),
              receiver(seed, vocab_size, text, skipped.size() + count);
          std::vector<std::byte> out(max_draft_bytes(format, static_cast<std::uint32_t>(count)));
          std::size_t bytes = 0, again = 0;
          REQUIRE(into(bytes, encode_claims(some_place, format, claims, attached, sender.known(), out)).ok());
          out.resize(bytes);
          std::vector<claimed_draft> read(most);
          std::vector<token_id> ids(5);
          const auto made = decode_claims(some_place, format, out, read, ids, receiver.known());
          REQUIRE(made.ok());
          REQUIRE(std::equal(claims.begin(), claims.end(), made->claims.begin(), made->claims.end(), same_claim));
          const std::span<const token_id> its = made->attachments.skipped;
          REQUIRE(std::equal(skipped.begin(), skipped.end(), its.begin(), its.end()));
          REQUIRE(std::equal(hidden.begin(), hidden.end(), made->attachments.hidden.begin()));
          // both sides have skipped ids and drafts after the text
          REQUIRE(std::equal(receiver.memory.begin(), receiver.memory.end(), sender.memory.begin()));
          std::vector<std::byte> other(out.size());
          REQUIRE(
              into(again, encode_claims(some_place, format, made->claims, made->attachments, receiver.known(), other))
                  .ok());
          REQUIRE(other == out);
        }
      }
    }
  }
}

TEST_CASE("ids by a prior: of all bodies of up to two bytes, exactly one per value is accepted") {
  // V = 3 and up to 2 drafts: 1 + 3 + 9 messages. Byte 0 has four bits after the kind.
  const wire_format format = coded_ids(3, 2);
  prior_side side(1, 3, 9, 2);
  prior_content even;  // so that no message is longer than two bytes
  even.weights = {40, 44, 36};
  side.table = read_prior(even);
  int accepted = 0;
  for (std::uint32_t value = 0; value < 65536 + 256 + 1; ++value) {
    const std::size_t size = value < 65536 ? 2 : value < 65536 + 256 ? 1 : 0;
    for (const unsigned high : {0u, 1u, 8u}) {
      std::array<std::byte, 4> message{static_cast<std::byte>(high << 4)};
      if (size > 0) message[1] = static_cast<std::byte>(value & 255u);
      if (size > 1) message[2] = static_cast<std::byte>(value >> 8 & 255u);
      const auto bytes = std::span(message).first(frame_bytes + size);
      seal(format, message_kind::draft, bytes);
      std::array<claimed_draft, 2> claims{{{-1, 0, 0}, {-1, 0, 0}}};
      const auto read = decode_claims(some_place, format, bytes, claims, {}, side.known());
      if (!read) {
        REQUIRE(claims[0].token == -1);
        continue;
      }
      REQUIRE(high == 0);
      ++accepted;
      std::array<std::byte, 32> again{};
      std::size_t written = 0;
      REQUIRE(into(written, encode_claims(some_place, format, read->claims, {}, side.known(), again)).ok());
      REQUIRE(written == bytes.size());
      REQUIRE(std::equal(bytes.begin(), bytes.end(), again.begin()));
    }
  }
  CHECK(accepted == 1 + 3 + 9);
}

TEST_CASE("ids by a prior: a hostile message writes ids of the vocabulary, and only after the text") {
  std::mt19937_64 random(4);
  wire_format format = coded_ids(40, 8);
  int refused = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    format.ids = turn % 2 == 0 ? id_code::prior : id_code::noise;
    prior_side side(5, 40, 20, 8);
    const std::vector<token_id> text(side.memory.begin(), side.memory.begin() + 20);
    std::vector<std::byte> message(2 + random() % 12);
    for (std::byte& byte : message) byte = static_cast<std::byte>(random() & 255u);
    message[0] &= std::byte{15};
    seal(format, message_kind::draft, message);
    std::array<claimed_draft, 8> claims{};
    const auto read = decode_claims(some_place, format, message, claims, {}, side.known());
    refused += read ? 0 : 1;
    REQUIRE(std::equal(text.begin(), text.end(), side.memory.begin()));
    for (std::size_t i = 20; i < side.memory.size(); ++i) REQUIRE((side.memory[i] < 40 && side.memory[i] >= -7));
    if (read) {
      for (const claimed_draft& claim : read->claims) REQUIRE((claim.token >= 0 && claim.token < 40));
    }
  }
  CHECK(refused > 15000);
}

TEST_CASE("ids by a prior: what cannot be encoded or decoded is an error by name") {
  const wire_format format = coded_ids(30, 4);
  prior_side side(3, 30, 10, 4), wide(3, 31, 10, 4);
  const claimed_draft claims[] = {{1, 0, 0}, {2, 0, 0}, {29, 0, 0}, {4, 0, 0}};
  std::array<std::byte, 64> out{};
  const auto refused = [&](std::span<const claimed_draft> given, const prior_text& known) {
    return encode_claims(some_place, format, given, {}, known, out).error();
  };
  CHECK(refused(claims, {}) == status{errc::invalid_argument, part::codec, wire_format::at_ids});
  CHECK(refused(claims, wide.known()) == status{errc::vocabulary_mismatch, part::codec, wire_format::at_vocab_size});
  prior_text narrow = side.known();
  narrow.memory = narrow.memory.first(13);
  CHECK(refused(claims, narrow) == status{errc::output_too_small, part::codec, 14});
  const claimed_draft outside[] = {{1, 0, 0}, {30, 0, 0}};
  CHECK(refused(outside, side.known()) == status{errc::token_out_of_range, part::codec, 1});
  std::size_t bytes = 0;
  REQUIRE(into(bytes, encode_claims(some_place, format, claims, {}, side.known(), out)).ok());
  const std::span<const std::byte> message = std::span(out).first(bytes);
  for (std::size_t room = 0; room < bytes; ++room) {
    std::array<std::byte, 64> small{};
    CHECK(encode_claims(some_place, format, claims, {}, side.known(), std::span(small).first(room)).error().code ==
          errc::output_too_small);
  }
  std::array<claimed_draft, 4> read{};
  const auto denied = [&](std::span<claimed_draft> to, const prior_text& known) {
    return decode_claims(some_place, format, message, to, {}, known).error();
  };
  CHECK(denied(read, {}) == status{errc::invalid_argument, part::codec, wire_format::at_ids});
  CHECK(denied(read, wide.known()) == status{errc::vocabulary_mismatch, part::codec, wire_format::at_vocab_size});
  CHECK(denied(read, narrow) == status{errc::output_too_small, part::codec, 14});
  CHECK(denied(std::span(read).first(3), side.known()) == status{errc::output_too_small, part::codec, 4});
  CHECK(denied(read, side.known()).ok());
  CHECK(claims_bytes(format, 4, 0) == 0);
  wire_format noisy = format;
  noisy.ids = id_code::noise;
  for (const unsigned kind : {0u, 5u}) {
    prior_text without = side.known();
    without.noise.kind = static_cast<noise_kind>(kind);
    const status wrong{errc::invalid_argument, part::codec, wire_format::at_ids};
    CHECK(encode_claims(some_place, noisy, claims, {}, without, out).error() == wrong);
    CHECK(decode_claims(some_place, noisy, message, read, {}, without).error() == wrong);
  }
  noisy.ids = static_cast<id_code>(3);
  CHECK(check(noisy) == status{errc::invalid_argument, part::codec, wire_format::at_ids});
  wire_format counted = format;
  counted.format = law_format::token_and_count;
  counted.resolution = 9;
  CHECK(check(counted) == status{errc::invalid_argument, part::codec, wire_format::at_ids});
}

TEST_CASE("ids by a prior: a draft message and the code of its ids agree on the positions of the noise") {
  wire_format format = coded_ids(30, 4);
  format.ids = id_code::noise;
  format.check_bits = 0;
  prior_side side(3, 30, 10, 4);
  const claimed_draft claims[] = {{1, 0, 0}, {2, 0, 0}, {29, 0, 0}, {4, 0, 0}};
  std::array<std::byte, 64> out{}, alone{};
  std::size_t bytes = 0;
  REQUIRE(into(bytes, encode_claims(some_place, format, claims, {}, side.known(), out)).ok());
  const std::span<const std::byte> message = std::span(out).first(bytes);
  range_encoder coder(alone);
  coder.uniform(4, 5);
  REQUIRE(encode_ids(coder, side.table, side.memory, 10, {side.known().noise, 10}).ok());
  const std::span<const std::byte> code = std::span(alone).first(coder.finish());
  REQUIRE(message.size() == 1 + code.size());
  CHECK(std::equal(code.begin(), code.end(), message.begin() + 1));
}

TEST_CASE("ids by a prior: max_draft_bytes bounds the message of the least likely ids") {
  prior_content flat;  // one id has nearly all the weight
  flat.weights.assign(4096, 0);
  flat.weights[0] = 200;
  const prior_table table = read_prior(flat);
  const coupling_noise noise{noise_kind::philox, 1};
  for (const id_code ids : {id_code::prior, id_code::noise}) {
    for (const std::uint32_t drafts : {1u, 4u, 64u}) {
      wire_format format = coded_ids(4096, drafts);
      format.ids = ids;
      std::vector<token_id> memory(drafts + 1, 1);
      const std::vector<claimed_draft> claims(drafts, claimed_draft{4095, 0, 0});
      std::vector<std::byte> out(max_draft_bytes(format, drafts));
      std::size_t bytes = 0;
      REQUIRE(into(bytes, encode_claims(some_place, format, claims, {}, {&table, memory, 1, noise}, out)).ok());
      CHECK(bytes > 2 * drafts);
    }
  }
}
