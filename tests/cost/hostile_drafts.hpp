// SPDX-License-Identifier: Apache-2.0
//! Draft messages with valid checks that cost the receiver as much as possible: random bodies, all zeros, all 0xff,
//! claims of the largest laws, and truncated honest messages, in formats of every kind, most with V = 2^24.
//! Include this header after codec/message.hpp, because a test may replace the decoder by one that counts.
#ifndef SPECVERIFY_TESTS_COST_HOSTILE_DRAFTS_HPP
#define SPECVERIFY_TESTS_COST_HOSTILE_DRAFTS_HPP

#include <specverify/session/options.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "unit/codec/message_kit.hpp"

namespace specverify_cost {

using namespace specverify;

inline constexpr std::uint32_t vocab_size = 1u << 24;
inline constexpr cloud_limits limits{};

//! A cloud with default limits accepts the first nine; the last three claim more than the block can hold.
inline constexpr std::array<wire_format, 12> law_formats{{
    {law_format::sparse_drop_zero, vocab_size, 65536, 512, 8, 1},
    {law_format::sparse_drop_zero, vocab_size, 513, 512, 8, 16},
    {law_format::sparse_drop_zero, vocab_size, 65536, 4096, 1, 1},
    {law_format::sparse_paper, vocab_size, 65536, 4096, 1, 1},
    {law_format::sparse_paper, vocab_size, 1, 512, 8, 1},
    {law_format::dense_lattice, vocab_size, 512, 0, 8, 1},
    {law_format::dense_lattice, vocab_size, 4096, 0, 1, 1, {0, hidden_format::none, false, true, 0, true}},
    {law_format::top_k_tail, vocab_size, 255, 512, 8, 1},
    {law_format::fp16_row, 512, 0, 0, 8, 1},
    {law_format::sparse_drop_zero, vocab_size, 65536, 0, 8, 1},
    {law_format::sparse_paper, vocab_size, 100, 0, 8, 1},
    {law_format::top_k_tail, vocab_size, 200, 0, 8, 1},
}};
inline constexpr std::array<wire_format, 2> claim_formats{{
    {law_format::token_only, vocab_size, 0, 0, 8, 1, {4, hidden_format::float16, true, true, 64}},
    {law_format::token_and_count, vocab_size, 1u << 31, 0, 8, 1},
}};

using message_bytes = std::vector<std::byte>;

//! Returns a message with this body and a valid kind and check. A range code begins after the first byte, but bits of
//! claims and attachments begin within it.
inline message_bytes sealed(const wire_format& format, std::span<const std::byte> body) {
  const bool inside = !carries_laws(format.format) || detail::attachment_bits(format, 0, 0) > detail::kind_bits;
  const std::size_t before = inside && !body.empty() ? 0 : 1;
  message_bytes made(before + body.size() + 1);
  std::copy(body.begin(), body.end(), made.begin() + static_cast<std::ptrdiff_t>(before));
  specverify_test::seal(format, message_kind::draft, made);
  return made;
}

//! The ids of a claim: those that the following random bytes encode, or the first ids.
enum class claimed { random_ids, first_ids };

//! Returns the shortest body that claims this many drafts, the first with this many ids, followed by random bytes.
inline message_bytes claim(const wire_format& format, std::uint32_t drafts, std::uint32_t size, claimed ids,
                           std::size_t more, std::mt19937_64& random) {
  message_bytes body(64);
  range_encoder coder(body);
  coder.uniform(drafts, std::uint64_t{format.max_draft_length} + 1);
  if (format.format != law_format::dense_lattice && (format.format != law_format::sparse_paper || !format.support_size))
    coder.uniform(size - 1, detail::law_entries(format));
  for (int i = 0; i < 3 && ids == claimed::first_ids; ++i) coder.uniform(0, std::uint64_t{1} << 40);
  body.resize(coder.finish() + more);
  for (std::size_t i = body.size() - more; i < body.size(); ++i) body[i] = static_cast<std::byte>(random());
  return sealed(format, body);
}

//! Returns an honest draft of this format with as many ids per law.
inline message_bytes honest(const wire_format& format, std::uint32_t size, std::mt19937_64& random) {
  specverify_test::draft_list list;
  for (std::uint32_t i = 0; i < format.max_draft_length; ++i) {
    if (format.format == law_format::top_k_tail) {
      list.add_top_k_tail(random, format.vocab_size, format.resolution, size, i);
      continue;
    }
    const bool zeros = format.format == law_format::sparse_paper;
    const std::uint32_t kept = zeros && format.support_size != 0 ? format.support_size
                               : zeros                           ? size
                                                                 : std::min(size, format.resolution);
    list.add(specverify_test::random_law(random, format.vocab_size, format.resolution, kept, zeros), i);
  }
  message_bytes out(std::size_t{1} << 16);
  draft_attachments attachments;
  if (format.attachments.resolution_with_draft) attachments.resolution = format.resolution;
  const auto made = encode_draft(specverify_test::some_place, format, list.view(), attachments, out);
  out.resize(made ? made->size() : 0);
  return out;
}

//! Messages of at most max_message_bytes, equal in every run.
inline std::vector<message_bytes> hostile(const wire_format& format) {
  std::mt19937_64 random(20);
  std::vector<message_bytes> made;
  const auto filled = [&](std::size_t bytes, auto byte) {
    message_bytes body(bytes);
    std::generate(body.begin(), body.end(), byte);
    return sealed(format, body);
  };
  for (int run = 0; run < 60; ++run) {
    made.push_back(filled(random() % (run < 40 ? 30 : 600), [&] { return static_cast<std::byte>(random()); }));
    made.push_back(filled(1 + random() % 30, [&, first = true]() mutable {
      return std::exchange(first, false) ? std::byte{0xe4} : static_cast<std::byte>(random());
    }));
  }
  for (const std::size_t bytes : {1u, 9u, 60u, 4000u, 16000u}) {
    made.push_back(filled(bytes, [] { return std::byte{0}; }));
    made.push_back(filled(bytes, [] { return std::byte{0xff}; }));
    made.push_back(filled(bytes, [] { return std::byte{0x7f}; }));
  }
  if (format.format == law_format::fp16_row || !carries_laws(format.format)) return made;
  const std::uint32_t most = detail::law_entries(format), served = std::min(most, limits.max_law_entries);
  for (const std::uint32_t size : {most, served, 1 + served / format.max_draft_length, 1u}) {
    for (std::size_t more = 0; more < 40; more += 1 + more / 8) {
      made.push_back(claim(format, format.max_draft_length, std::min(size, most), claimed::random_ids, more, random));
    }
    made.push_back(claim(format, format.max_draft_length, std::min(size, most), claimed::first_ids, 0, random));
  }
  for (const std::uint32_t size : {1u, 20u, served / format.max_draft_length}) {
    const message_bytes whole = honest(format, std::max(1u, size), random);
    if (whole.empty() || whole.size() > limits.max_message_bytes) continue;
    made.push_back(whole);
    for (std::size_t cut = whole.size() - 1; cut >= specverify_test::frame_bytes; cut -= 1 + cut / 12) {
      made.emplace_back(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
      specverify_test::seal(format, message_kind::draft, made.back());
    }
  }
  return made;
}

//! A cloud's block with these limits, and the workspace of decode_draft.
class receiver {
 public:
  explicit receiver(const wire_format& format, std::uint64_t entries = limits.max_law_entries)
      : format_(format),
        block_(std::move(received_draft_block::make({limits.max_draft_length, entries}).value())),
        memory_(detail::decode_space(static_cast<std::size_t>(entries)) + workspace_alignment) {}
  [[nodiscard]] status take(std::span<const std::byte> bytes) {
    workspace scratch(memory_);
    if (!carries_laws(format_.format))
      return decode_claims(specverify_test::some_place, format_, bytes, claims_, skipped_).error();
    return decode_draft(specverify_test::some_place, format_, bytes, block_, skipped_, scratch).error();
  }

 private:
  wire_format format_;
  received_draft_block block_;
  std::vector<std::byte> memory_;
  std::array<claimed_draft, 8> claims_{};
  std::array<token_id, 64> skipped_{};
};

}  // namespace specverify_cost

#endif
