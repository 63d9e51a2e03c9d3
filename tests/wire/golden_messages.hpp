// SPDX-License-Identifier: Apache-2.0
//! The values behind tests/wire/golden.txt, written out once more for the C++ side.
#ifndef SPECVERIFY_TESTS_WIRE_GOLDEN_MESSAGES_HPP
#define SPECVERIFY_TESTS_WIRE_GOLDEN_MESSAGES_HPP

#include <specverify/codec/message.hpp>
#include <specverify/codec/token_prior.hpp>
#include <specverify/core/random.hpp>
#include <specverify/delivery/datagram.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "unit/codec/prior_kit.hpp"

namespace specverify_test {

using namespace specverify;

struct golden {
  std::string name;
  std::vector<std::byte> bytes;
};

inline constexpr wire_place golden_place{0xfedcba9876543210u, 300};
inline constexpr hello_name golden_name{0x0123456789abcdefu, 0xa1b2c3d4u};

//! A hello with the head that all golden ones have.
inline hello_message golden_hello() {
  hello_message value;
  value.session_id = golden_name.session_id;
  value.nonce = golden_name.nonce;
  value.round = golden_place.round;
  value.length = 66000;
  value.prefix_hash = golden_place.prefix_hash;
  return value;
}

//! One drafted law of 40 ids with spread counts; ids and counts come from small formulas that the Python side repeats.
struct golden_law {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
  law view(std::uint32_t vocab_size) const {
    std::uint32_t sum = 0;
    for (const std::uint32_t count : counts) sum += count;
    return {ids.data(), counts.data(), static_cast<std::uint32_t>(ids.size()), 0, sum, vocab_size};
  }
};

//! A source whose every draw lands on a share of the law: the drafted token is the one that holds this share.
struct golden_source {
  std::uint32_t share = 0;  //!< of 2^32
  constexpr random_block operator()(random_counter) const noexcept { return {{share, 0, 0, 0}}; }
};

//! A table of 12 ids with two lists after one id and two lists after two ids.
inline specverify_test::prior_content golden_prior() {
  specverify_test::prior_content made;
  for (unsigned id = 0; id < 12; ++id) made.weights.push_back(static_cast<std::uint8_t>((7 * id + 3) % 40));
  made.one = {{{0}, {{0, 5}}}, {{5}, {{1, 16}, {7, 30}}}};
  made.two = {{{3, 5}, {{2, 9}}}, {{5, 1}, {{5, 20}, {11, 12}}}};
  for (unsigned set = 1; set < prior_source_sets; ++set) {
    for (unsigned source = 0; source < prior_sources; ++source)
      made.mixing[set][source] = static_cast<std::uint8_t>((set >> source & 1u) != 0 ? 10 + 3 * set + source : 0);
  }
  return made;
}

inline std::vector<golden> golden_messages() {
  std::vector<golden> all;
  const auto add = [&](const char* name, auto&& encode) {
    std::vector<std::byte> out(4096);
    const result<std::span<std::byte>> made = encode(std::span<std::byte>(out));
    out.resize(made ? made->size() : 0);
    all.push_back({name, std::move(out)});
  };
  const wire_format sparse{law_format::sparse_drop_zero, 128256, 100, 0, 8, 1};
  const auto hello_of_edge = [] {
    hello_message value = golden_hello();
    value.fingerprint_low = 0x1020304050607080u;
    value.fingerprint_high = 0x90a0b0c0d0e0f001u;
    value.strength = guarantee::honest_drafter;
    value.rule = wire_rule::token;
    value.mode = session_mode::draft;
    value.prompt_length = 12;
    value.token_budget = 128;
    value.format = {law_format::sparse_paper, 128256, 100, 16, 8, 64};
    value.temperature = 0.7;
    value.truncation = {50, 0.95, 0.01, truncation_order::top_p_then_top_k};
    value.text_chunk = 512;
    return value;
  };
  add("hello", [&](std::span<std::byte> out) { return encode_hello(hello_of_edge(), out); });
  add("hello_of_cloud", [&](std::span<std::byte> out) {
    hello_fields fields;
    fields.add({299, 5, 1, 2, 0xfacade01u});
    fields.add_stop_tokens(0x1112131415161718u);
    fields.add_check(16);
    hello_message value = hello_of_edge();
    value.fields = fields.bytes();
    value.format.check_bits = 16;
    return encode_hello(value, out);
  });
  add("hello_noise", [&](std::span<std::byte> out) {
    hello_fields fields;
    fields.add(coupling_noise{noise_kind::philox, 0x2122232425262728u});
    hello_message value = hello_of_edge();
    value.rule = wire_rule::greedy;
    value.noise = noise_kind::philox;
    value.fields = fields.bytes();
    return encode_hello(value, out);
  });
  add("hello_prior", [&](std::span<std::byte> out) {
    hello_fields fields;
    fields.add(prior_fingerprint{0x3132333435363738u, 0x4142434445464748u}, id_code::prior);
    hello_message value = golden_hello();
    value.format = {.format = law_format::token_only, .vocab_size = 4096, .max_draft_length = 8, .ids = id_code::prior};
    value.fields = fields.bytes();
    return encode_hello(value, out);
  });
  add("hello_prior_noise", [&](std::span<std::byte> out) {
    hello_fields fields;
    fields.add(coupling_noise{noise_kind::sglang, 0x2122232425262728u});
    fields.add(prior_fingerprint{0x3132333435363738u, 0x4142434445464748u}, id_code::noise);
    hello_message value = golden_hello();
    value.rule = wire_rule::greedy;
    value.noise = noise_kind::sglang;
    value.format = {.format = law_format::token_only, .vocab_size = 4096, .max_draft_length = 8, .ids = id_code::noise};
    value.fields = fields.bytes();
    return encode_hello(value, out);
  });
  add("hello_semantic", [](std::span<std::byte> out) {
    hello_message value = golden_hello();
    value.strength = guarantee::lossy;
    value.rule = wire_rule::semantic;
    value.format = {law_format::token_only, 32000, 0, 0, 8, 1, {2048, hidden_format::int8, true, true, 300}};
    value.temperature = 0;
    value.bonus = false;
    value.threshold = 0.375;
    value.text_chunk = 24;
    static constexpr std::byte optional[] = {std::byte{7}, std::byte{2}, std::byte{0}, std::byte{0xAB},
                                             std::byte{0xCD}};
    value.fields = optional;
    return encode_hello(value, out);
  });
  const auto feedback_with = [&](const char* name, std::uint8_t check_bits) {
    add(name, [&](std::span<std::byte> out) {
      wire_format format = sparse;
      format.check_bits = check_bits;
      return encode_feedback(golden_place, format, 8, {5, 128000, 1, 0}, out);
    });
  };
  feedback_with("feedback", 8);
  feedback_with("feedback_unchecked", 0);
  feedback_with("feedback_checked", 16);
  add("feedback_stop", [&](std::span<std::byte> out) {
    return encode_feedback(golden_place, sparse, 8, {2, no_token, 0, 1}, out);
  });
  add("text", [&](std::span<std::byte> out) {
    const token_id tokens[] = {0, 1, 128255, 77777, 65536};
    return encode_text(golden_place, sparse, 512, tokens, out);
  });
  add("request", [&](std::span<std::byte> out) {
    const std::uint64_t words[] = {0xa5};
    return encode_request(golden_place, sparse, 8, {0, words}, out);
  });
  add("supply", [&](std::span<std::byte> out) {
    const std::uint64_t words[] = {0x81};
    const std::byte payload[] = {std::byte{1}, std::byte{2}, std::byte{254}};
    wire_format padded = sparse;
    padded.pad_to = 32;
    return encode_supply(golden_place, padded, 8, {0, words, payload}, out);
  });
  add("refuse", [](std::span<std::byte> out) {
    return encode_refuse(golden_name, {errc::unknown_session, part::session, 7}, out);
  });
  add("stop", [](std::span<std::byte> out) {
    return encode_stop({stop_cause::budget, 66000, golden_place.prefix_hash}, out);
  });

  const auto draft_of = [&](const wire_format& format, const std::vector<golden_law>& laws,
                            const draft_attachments& attachments = {}) {
    return [format, &laws, &add, attachments](const char* name) {
      std::vector<draft> drafts;
      for (std::size_t i = 0; i < laws.size(); ++i) {
        drafts.push_back(draw(
            laws[i].view(format.vocab_size),
            uniforms{golden_source{static_cast<std::uint32_t>(0x9e3779b9u * (i + 1))}, 0, 0}.at(purpose::draft_draw)));
      }
      add(name, [&](std::span<std::byte> out) {
        return encode_draft(golden_place, format, std::span<const draft>(drafts), attachments, out);
      });
    };
  };
  // 8, 64 and 1 positive counts of 100; 16 ids with zeros; 12 ids of a dense law; half floats.
  std::vector<golden_law> positive(3), zeros(2), dense(2), rows(1);
  for (std::uint32_t i = 0; i < 8; ++i)
    positive[0].ids.push_back(static_cast<token_id>(i * i * 2000 + 17)),
        positive[0].counts.push_back(i < 7 ? 3 + i : 100 - 42);
  for (std::uint32_t i = 0; i < 64; ++i)
    positive[1].ids.push_back(static_cast<token_id>(i * 2003 + i % 7)), positive[1].counts.push_back(i < 36 ? 2 : 1);
  positive[2].ids.push_back(128255), positive[2].counts.push_back(100);
  for (std::uint32_t i = 0; i < 16; ++i) {
    zeros[0].ids.push_back(static_cast<token_id>(i < 15 ? i : 128255)), zeros[0].counts.push_back(i == 3    ? 90
                                                                                                  : i == 15 ? 10
                                                                                                            : 0);
    zeros[1].ids.push_back(static_cast<token_id>(100 + i * 7919)), zeros[1].counts.push_back(i < 15 ? 6 : 10);
  }
  for (std::uint32_t i = 0; i < 12; ++i)
    dense[0].ids.push_back(static_cast<token_id>(i * 10007)), dense[0].counts.push_back(i < 11 ? 20 : 20);
  dense[1].ids = {5, 6, 128255}, dense[1].counts = {200, 39, 1};
  rows[0].ids = {0, 2, 3, 9}, rows[0].counts = {1u << 23, 1, 1023, 3u << 20};
  draft_of(sparse, positive)("draft_drop_zero");
  draft_of({law_format::sparse_paper, 128256, 100, 16, 8, 1}, zeros)("draft_paper");
  draft_of({law_format::sparse_paper, 128256, 100, 0, 8, 64}, zeros)("draft_paper_announced_padded");
  draft_of({law_format::dense_lattice, 128256, 240, 0, 8, 1}, dense)("draft_dense");
  const token_id alone[] = {128255};
  const draft_attachments announced{alone, {}, {}, 240};
  draft_of({law_format::dense_lattice, 128256, 720, 0, 8, 1, {0, hidden_format::none, false, false, 5, true}}, dense,
           announced)("draft_dense_announced");
  draft_of({law_format::fp16_row, 10, 0, 0, 8, 1}, rows)("draft_fp16_row");
  draft_of(sparse, {})("draft_empty");
  const claimed_draft ids[] = {{5, 0, 0}, {31999, 0, 0}}, counts[] = {{5, 1, 100}, {31999, 100, 100}};
  add("claims", [&](std::span<std::byte> out) {
    return encode_claims(golden_place, {law_format::token_only, 32000, 0, 0, 8, 1}, std::span(ids), out);
  });
  add("claims_counted", [&](std::span<std::byte> out) {
    return encode_claims(golden_place, {law_format::token_and_count, 32000, 100, 0, 8, 1}, std::span(counts), out);
  });
  // The same claims and a law with a tail, with everything that can travel with them.
  const attachment_format everything{3, hidden_format::int8, true, true, 300}, on_request{3, hidden_format::float16};
  const token_id skipped[] = {1, 31999, 77};
  const float states[2][3] = {{0.5f, -2.0f, 1.0f}, {0.0f, 1.0f, -0.25f}};
  std::vector<std::byte> vectors(2 * hidden_bytes(everything)), halves(2 * hidden_bytes(on_request));
  for (std::size_t i = 0; i < 2; ++i) {
    (void)encode_hidden(states[i], everything.hidden, std::span(vectors).subspan(7 * i, 7));
    (void)encode_hidden(states[i], on_request.hidden, std::span(halves).subspan(6 * i, 6));
  }
  const draft_attachments attachments{skipped, {999999.0f, 0.0f, 0.25f, 0.0f, 0.05f}, vectors};
  add("claims_beside", [&](std::span<std::byte> out) {
    return encode_claims(golden_place, {law_format::token_only, 32000, 0, 0, 8, 1, everything}, std::span(ids),
                         attachments, out);
  });
  golden_law kept;
  for (std::uint32_t i = 0; i < 30; ++i) {
    kept.ids.push_back(static_cast<token_id>(i * 1009 + 5));
    kept.counts.push_back((i < 20 ? 11 : i == 25 ? 0 : 2) * (32000 - 30));
  }
  law tailed = kept.view(32000);
  tailed.tail_count = 17;
  tailed.resolution = 255 * (32000 - 30);
  const draft tail[] = {draw(tailed, uniforms{golden_source{0x9e3779b9u}, 0, 0}.at(purpose::draft_draw)),
                        draw(tailed, uniforms{golden_source{0xffffff00u}, 0, 0}.at(purpose::draft_draw))};
  add("draft_tail", [&](std::span<std::byte> out) {
    return encode_draft(golden_place, {law_format::top_k_tail, 32000, 255, 0, 8, 1}, std::span<const draft>(tail), out);
  });
  add("draft_tail_beside", [&](std::span<std::byte> out) {
    return encode_draft(golden_place, {law_format::top_k_tail, 32000, 255, 64, 8, 32, everything},
                        std::span<const draft>(tail), attachments, out);
  });
  // Drawn from a row: their probabilities there are 1/3, to the nearest unit, and one unit.
  std::vector<std::byte> probabilities(2 * drafted_probability_bytes);
  (void)encode_drafted_probability(1, 3, probabilities);
  (void)encode_drafted_probability(1, 0xffffffffu, std::span(probabilities).subspan(drafted_probability_bytes));
  add("draft_tail_of_row", [&](std::span<std::byte> out) {
    wire_format format{law_format::top_k_tail, 32000, 255, 64, 8, 1};
    format.attachments.max_skipped = 63;
    format.attachments.drafted_probability = true;
    draft_attachments of_row;
    of_row.skipped = skipped;
    of_row.probabilities = probabilities;
    return encode_draft(golden_place, format, std::span<const draft>(tail), of_row, out);
  });
  add("request_hidden", [&](std::span<std::byte> out) {
    const std::uint64_t words[] = {0x42};
    return encode_request(golden_place, {law_format::token_only, 32000, 0, 0, 8, 1, on_request}, 8, {1, words}, out);
  });
  add("supply_hidden", [&](std::span<std::byte> out) {
    const std::uint64_t words[] = {0x42};
    return encode_supply(golden_place, {law_format::token_only, 32000, 0, 0, 8, 1, on_request}, 8, {1, words, halves},
                         out);
  });
  // A table of id weights, its fingerprint (low, high), and the code of the ids from index 4 on.
  const specverify_test::prior_content weights = golden_prior();
  const prior_table table = specverify_test::read_prior(weights);
  add("prior_table", [&](std::span<std::byte> out) -> result<std::span<std::byte>> {
    const std::vector<std::byte> file = specverify_test::prior_file(weights);
    std::copy(file.begin(), file.end(), out.begin());
    return out.first(file.size());
  });
  add("prior_fingerprint", [&](std::span<std::byte> out) -> result<std::span<std::byte>> {
    numeric::store_le(out.data(), table.fingerprint().low, 8);
    numeric::store_le(out.data() + 8, table.fingerprint().high, 8);
    return out.first(16);
  });
  add("prior_ids", [&](std::span<std::byte> out) -> result<std::span<std::byte>> {
    const token_id text[] = {3, 5, 1, 5, 1, 5, 7, 3, 5, 2, 0, 0, 11, 4};
    range_encoder coder(out);
    if (const status why = encode_ids(coder, table, text, 4); !why.ok()) return why;
    return out.first(coder.finish());
  });
  // Drafts that the table codes, after the text 3, 5, 1, 5; also with skipped ids before them, and with shared noise.
  const auto coded = [&](const char* name, std::uint32_t most_skipped, std::span<const token_id> ahead,
                         std::span<const claimed_draft> drafts, const coupling_noise& noise = {noise_kind::none, 0}) {
    add(name, [&](std::span<std::byte> out) {
      wire_format format{.format = law_format::token_only, .vocab_size = 12, .max_draft_length = 8};
      format.attachments.max_skipped = most_skipped;
      format.ids = noise.kind == noise_kind::none ? id_code::prior : id_code::noise;
      std::vector<token_id> memory{3, 5, 1, 5};
      memory.resize(20);
      draft_attachments attached;
      attached.skipped = ahead;
      return encode_claims(golden_place, format, drafts, attached, {&table, memory, 4, noise}, out);
    });
  };
  const token_id ahead[] = {1, 5};
  const claimed_draft four[] = {{1, 0, 0}, {5, 0, 0}, {7, 0, 0}, {3, 0, 0}},
                      three[] = {{7, 0, 0}, {3, 0, 0}, {5, 0, 0}};
  coded("claims_coded", 0, {}, four);
  coded("claims_coded_beside", 5, ahead, three);
  coded("claims_coded_noise", 5, ahead, three, {noise_kind::philox, 0x2122232425262728u});
  coded("claims_coded_hashes", 0, {}, four, {noise_kind::sglang, 0x2122232425262728u});
  // Datagrams of delivery.
  const auto control = [&](const char* name, const control_datagram& given) {
    add(name, [&](std::span<std::byte> out) { return out.first(write_control(given, out.first<13>()).size()); });
  };
  const auto data = [&](const char* name, const incarnation& of, bool from_client, data_datagram given) {
    add(name, [&](std::span<std::byte> out) {
      const std::size_t head = std::size_t{1} + of.check_bytes;
      std::copy(given.message.begin(), given.message.end(), out.begin() + static_cast<std::ptrdiff_t>(head));
      write_data_head(of, from_client, given, out.first(head));
      return out.first(head + given.message.size());
    });
  };
  const std::byte abc[] = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  control("datagram_connect", {datagram_kind::connect, {0x01020304, 0, 2, true}});
  control("datagram_accept", {datagram_kind::accept, {0x01020304, 0x0a0b0c0d, 4, false}});
  data("datagram_up", {0x01020304, 0x0a0b0c0d, 4}, true, {9, 6, true, abc});
  data("datagram_down", {0x01020304, 0x0a0b0c0d, 2}, false, {70000, 65541, false, abc});
  data("datagram_bare", {0x01020304, 0x0a0b0c0d, 0}, false, {3, 1, false, {}});
  control("datagram_reset", {datagram_kind::reset, {0, 0, 4, false}, crc32c(all[all.size() - 3].bytes)});
  return all;
}

}  // namespace specverify_test

#endif
