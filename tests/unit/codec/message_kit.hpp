// SPDX-License-Identifier: Apache-2.0
//! Laws and drafts for the tests of the codec: supports of several shapes, counts from random compositions.
#ifndef SPECVERIFY_TESTS_UNIT_CODEC_MESSAGE_KIT_HPP
#define SPECVERIFY_TESTS_UNIT_CODEC_MESSAGE_KIT_HPP

#include <specverify/codec/message.hpp>
#include <specverify/core/random.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "support/into.hpp"

namespace specverify_test {

using namespace specverify;

//! A law that owns its arrays.
struct owned_law {
  std::vector<token_id> ids;
  std::vector<std::uint32_t> counts;
  std::uint32_t vocab_size = 0;
  [[nodiscard]] law view() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t count : counts) sum += count;
    return {ids.data(), counts.data(), static_cast<std::uint32_t>(ids.size()), 0, sum, vocab_size};
  }
};

//! `size` different numbers that `draw` gives, ascending. Values of `limit` and above are drawn again.
template <class Number, class Draw>
std::vector<Number> distinct(std::uint32_t size, std::uint32_t limit, Draw draw) {
  std::vector<bool> taken(limit);
  std::vector<Number> numbers;
  numbers.reserve(size);
  while (numbers.size() < size) {
    const std::uint32_t number = draw();
    if (number >= limit || taken[number]) continue;
    taken[number] = true;
    numbers.push_back(static_cast<Number>(number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

//! `size` different ids: uniform, or rank r with probability about 1 / r (Zipf).
inline std::vector<token_id> random_ids(std::mt19937_64& random, std::uint32_t vocab_size, std::uint32_t size,
                                        bool zipf) {
  return distinct<token_id>(size, vocab_size, [&] {
    if (!zipf) return static_cast<std::uint32_t>(random() % vocab_size);
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::uint32_t>(std::exp(u * std::log(vocab_size + 1.0))) - 1;
  });
}

//! `size` counts that sum to `resolution`: uniform over compositions (positive, or zeros allowed), or peaked on the
//! first part.
inline std::vector<std::uint32_t> random_counts(std::mt19937_64& random, std::uint32_t resolution, std::uint32_t size,
                                                bool zeros, bool peaked = false) {
  std::vector<std::uint32_t> counts(size, zeros ? 0 : 1);
  const std::uint32_t spare = zeros ? resolution : resolution - size;
  if (peaked) {
    counts[0] += spare;
    return counts;
  }
  // Bars among stars.
  const std::uint32_t places = spare + size - 1;
  const auto bars =
      distinct<std::uint32_t>(size - 1, places, [&] { return static_cast<std::uint32_t>(random() % places); });
  std::uint32_t last = 0, part = 0;
  for (const std::uint32_t bar : bars) {
    counts[part++] += bar - last;
    last = bar + 1;
  }
  counts[part] += places - last;
  return counts;
}

inline owned_law random_law(std::mt19937_64& random, std::uint32_t vocab_size, std::uint32_t resolution,
                            std::uint32_t size, bool zeros, bool zipf = false) {
  return {random_ids(random, vocab_size, size, zipf), random_counts(random, resolution, size, zeros), vocab_size};
}

//! Drafts that own their laws.
struct draft_list {
  std::vector<std::unique_ptr<owned_law>> laws;
  std::vector<draft> drafts;
  void add(owned_law from, std::uint32_t number) {
    laws.push_back(std::make_unique<owned_law>(std::move(from)));
    drafts.push_back(
        draw(laws.back()->view(), uniforms{philox{philox_key{{7, 0}}}, number, 1}.at(purpose::draft_draw)));
  }
  //! K ids and a tail on a lattice of `resolution` units, as a law: every unit is V - K counts.
  void add_top_k_tail(std::mt19937_64& random, std::uint32_t vocab_size, std::uint32_t resolution, std::uint32_t size,
                      std::uint32_t number) {
    const std::uint32_t unit = vocab_size > size ? vocab_size - size : 1;
    auto units = random_counts(random, resolution, size + (vocab_size > size ? 1 : 0), true);
    auto made =
        std::make_unique<owned_law>(owned_law{random_ids(random, vocab_size, size, random() % 2 == 0), {}, vocab_size});
    for (std::uint32_t i = 0; i < size; ++i) made->counts.push_back(units[i] * unit);
    law from{made->ids.data(),  made->counts.data(), size, vocab_size > size ? units[size] : 0,
             resolution * unit, vocab_size};
    laws.push_back(std::move(made));
    drafts.push_back(draw(from, uniforms{philox{philox_key{{9, 0}}}, number, static_cast<std::uint32_t>(random())}.at(
                                    purpose::draft_draw)));
  }
  [[nodiscard]] std::span<const draft> view() const { return drafts; }
};

inline bool same_law(const law& a, const law& b) {
  return a.size == b.size && a.resolution == b.resolution && a.vocab_size == b.vocab_size &&
         a.tail_count == b.tail_count && std::equal(a.ids, a.ids + a.size, b.ids) &&
         std::equal(a.counts, a.counts + a.size, b.counts);
}

inline received_draft_block make_block(const wire_format& format) {
  auto block = received_draft_block::make(
      {format.max_draft_length, std::max<std::uint64_t>(1, max_draft_entries(format, format.max_draft_length))});
  return std::move(block.value());
}

inline constexpr wire_place some_place{0x99aabbccddeeff00u, 0x10203};
inline constexpr std::array<std::uint8_t, 3> check_widths{0, 8, 16};
//! Bytes of a draft with laws that are neither laws nor attachments: its kind, and a check of 8 bits.
inline constexpr std::size_t frame_bytes = 2;

//! Takes what decode_claims returns apart: how many claims there are, and what came with them.
[[nodiscard]] inline status into(std::uint32_t& count, const result<claims_message>& made) {
  if (made) count = static_cast<std::uint32_t>(made->claims.size());
  return made.error();
}
[[nodiscard]] inline status into(std::uint32_t& count, draft_attachments& attachments,
                                 const result<claims_message>& made) {
  if (made) attachments = made->attachments;
  return into(count, made);
}

// What a forger sends who knows all that both sides know.

//! Writes kind and check of a steady message.
inline void seal(const wire_format& format, message_kind kind, std::span<std::byte> message) {
  message[0] = (message[0] & std::byte{0xf0}) | static_cast<std::byte>(kind);
  const std::size_t check = detail::check_bytes(format);
  specverify::numeric::store_le(message.data() + message.size() - check, detail::check_of(some_place, kind),
                                static_cast<unsigned>(check));
}
//! Writes header and checksum of a hello; they repeat fields that it has.
inline void seal_hello(std::span<std::byte> message) {
  detail::end_headed(message_kind::hello, detail::load_head(message, detail::hello_head_at), message.size(), message);
}
inline void seal_refuse(const hello_name& answered, std::span<std::byte> message) {
  detail::end_headed(message_kind::refuse, {answered}, message.size(), message);
}

//! Writes `width` bits of a message from `bit` on.
inline void put_bits(std::span<std::byte> message, std::size_t bit, unsigned width, std::uint64_t value) {
  for (unsigned i = 0; i < width; ++i) {
    std::byte& byte = message[(bit + i) / 8];
    const auto mask = static_cast<std::byte>(1u << (bit + i) % 8);
    byte = (value >> i & 1u) != 0 ? byte | mask : byte & ~mask;
  }
}

}  // namespace specverify_test

#endif
