// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a table of id weights, and by a table that was read any bytes as the code of ids. An input is
// V - 1 (1 byte), size of the file (2 bytes), file, code of 64 ids. A table must give every id a part, and ids that
// were read must be encoded as the same bytes.
#ifndef SPECVERIFY_TESTS_FUZZ_PRIOR_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_PRIOR_BODY_HPP

#include <specverify/codec/token_prior.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace specverify_fuzz {

inline constexpr std::size_t prior_head = 3;

//! Aborts unless the parts of all ids after a text follow one another without a gap, each above 0.
inline void check_parts(const specverify::token_prior& prior, std::uint32_t vocab_size) {
  using namespace specverify;
  std::uint64_t first = 0;
  for (std::uint32_t id = 0; id < vocab_size; ++id) {
    const token_prior::interval part = prior.part_of(static_cast<token_id>(id));
    const bool whole = part.first == first && part.width > 0 && prior.at(part.first) == static_cast<token_id>(id) &&
                       prior.at(part.first + part.width - 1) == static_cast<token_id>(id);
    if (!whole) std::abort();
    first += part.width;
  }
  if (first != prior.total() || first > std::uint64_t{1} << 32) std::abort();
}

//! Decodes ids with noise, which must be in the vocabulary and, if the code is good, encode to the same bytes.
inline void check_noise(const specverify::prior_table& table, std::span<const std::byte> code) {
  using namespace specverify;
  const id_noise noise{{noise_kind::philox, 7}, 3};
  std::array<token_id, 8> ids{};
  range_decoder decoder(code);
  if (!decode_ids(decoder, table, ids, 0, noise).ok()) std::abort();
  for (const token_id id : ids) {
    if (id < 0 || static_cast<std::uint32_t>(id) >= table.vocab_size()) std::abort();
  }
  const auto used = decoder.finish();
  if (!used) return;
  std::array<std::byte, 6 * 8 + 8> again{};
  range_encoder encoder(again);
  if (!encode_ids(encoder, table, ids, 0, noise).ok() || encoder.finish() != *used ||
      !std::equal(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(*used), code.begin()))
    std::abort();
}

//! Returns 0 if the table is refused, 1 if only the code is, 2 if both are good.
inline int prior_input(std::span<const std::byte> input) {
  using namespace specverify;
  if (input.size() < prior_head) return 0;
  const std::uint32_t vocab_size = std::to_integer<std::uint32_t>(input[0]) + 1;
  const auto size = static_cast<std::size_t>(numeric::load_le(input.data() + 1, 2));
  const auto rest = input.subspan(prior_head);
  const auto table = prior_table::read(rest.first(std::min(size, rest.size())), vocab_size);
  if (!table) return table.error().code == errc::ok ? (std::abort(), 0) : 0;
  const auto code = rest.subspan(std::min(size, rest.size()));
  std::array<token_id, 64> ids{};
  range_decoder decoder(code);
  if (!decode_ids(decoder, *table, ids, 0).ok()) std::abort();
  for (const token_id id : ids) {
    if (id < 0 || static_cast<std::uint32_t>(id) >= vocab_size) std::abort();
  }
  check_parts(token_prior(*table, ids), vocab_size);
  check_noise(*table, code);
  const auto used = decoder.finish();
  if (!used) return 1;
  std::array<std::byte, 4 * 64 + 8> again{};
  range_encoder encoder(again);
  if (!encode_ids(encoder, *table, ids, 0).ok()) std::abort();
  const bool same = encoder.finish() == *used && encoder.decodable() &&
                    std::equal(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(*used), code.begin());
  if (!same) std::abort();
  return 2;
}

}  // namespace specverify_fuzz

#endif
