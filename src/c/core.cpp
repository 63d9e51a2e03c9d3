// SPDX-License-Identifier: Apache-2.0
// Implements the functions that need no session.
#include "options.hpp"

#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/message.hpp>

using namespace specverify_c;

namespace {

// Adapts a specverify_draft to the encoder's draft concept.
class given_draft {
 public:
  given_draft() = default;
  explicit given_draft(const specverify_draft& from) noexcept : from_(&from) {}
  [[nodiscard]] sv::token_id token() const noexcept { return from_->token; }
  [[nodiscard]] sv::law source_law() const noexcept { return from_c(from_->law); }

 private:
  const specverify_draft* from_;
};

// Returns the wire format of a system. Errors: as for shape_of; unsupported (the system sends no distributions).
[[nodiscard]] sv::result<sv::wire_format> format_of(const specverify_system* system,
                                                    std::uint32_t vocab_size) noexcept {
  const auto shape = shape_of(system, vocab_size);
  if (!shape) return shape.error();
  return carries_laws(shape->format.format) ? sv::result(shape->format) : refused(sv::errc::unsupported);
}

// Arguments for the encoder and the decoder.
struct codec_terms {
  sv::wire_place place;
  sv::wire_format format;
};
[[nodiscard]] sv::result<codec_terms> terms_of(const specverify_round* round,
                                               const specverify_system* system) noexcept {
  const auto set = taken(round);
  if (!set) return set.error();
  auto format = format_of(system, set->vocab_size);
  if (!format) return format.error();
  if (set->check_bits != 0 && set->check_bits != 8 && set->check_bits != 16)
    return refused(sv::errc::invalid_argument, offsetof(specverify_round, check_bits));
  format->check_bits = static_cast<std::uint8_t>(set->check_bits);
  if (const sv::status why = check(*format); !why.ok()) return why;
  return codec_terms{{set->prefix_hash, set->round}, *format};
}

// An allocator that takes memory from the caller's space and never frees it.
struct arena {
  std::span<std::byte> left;
  static void* allocate(void* self, std::size_t size, std::size_t alignment) {
    arena& from = *static_cast<arena*>(self);
    void* at = from.left.data();
    std::size_t room = from.left.size();
    if (std::align(alignment, size, at, room) == nullptr) return nullptr;
    from.left = from.left.last(room - size);
    return at;
  }
  static void deallocate(void*, void*, std::size_t, std::size_t) {}
};

[[nodiscard]] double bits_of(const sv::wire_format& format, const sv::law& law) noexcept {
  std::uint32_t positive = 0;
  for (std::uint32_t i = 0; i < law.size; ++i) positive += law.counts[i] > 0 ? 1u : 0u;
  switch (format.format) {
    case sv::law_format::dense_lattice:
      return static_cast<double>(sv::dense_law_bits(law.vocab_size, law.resolution));
    case sv::law_format::sparse_paper:
      return sv::top_k_law_bits(law.vocab_size, law.size, law.resolution);
    case sv::law_format::fp16_row:
      return static_cast<double>(sv::full_law_bits(law.vocab_size, 16));
    case sv::law_format::top_k_tail:
      return sv::top_k_tail_law_bits(law.vocab_size, law.size, format.resolution);
    default:
      return sv::drop_zero_law_bits(law.vocab_size, positive, law.resolution);
  }
}

// Reads the secret and computes the key derive(secret).
template <class Derive>
[[nodiscard]] specverify_status key_of(const std::uint8_t* secret, specverify_key* key, Derive&& derive) noexcept {
  if (secret == nullptr || key == nullptr) return no_data;
  const sv::session_secret its = secret_of(secret);
  if (its.is_missing()) return to_c(refused(sv::errc::secret_missing));
  const sv::result<sv::philox_key> made = derive(its);
  if (made.ok()) *key = {{made->word[0], made->word[1]}};
  return to_c(made.error());
}

}  // namespace

specverify_status specverify_round_init(specverify_round* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_round>()));
}

specverify_status specverify_target_init(specverify_target* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_target>()));
}

specverify_status specverify_draft_key(const uint8_t secret[16], uint64_t session_id, specverify_key* key) {
  return key_of(secret, key, [&](const auto& its) { return sv::derive_draft_key(its, session_id); });
}

specverify_status specverify_verdict_key(const uint8_t secret[16], uint64_t session_id, uint64_t salt,
                                         specverify_key* key) {
  return key_of(secret, key, [&](const auto& its) -> sv::result<sv::philox_key> {
    if (salt == 0) return refused(sv::errc::salt_missing);
    return sv::derive_verdict_key(its, session_id, salt);
  });
}

specverify_status specverify_draw(const specverify_law* law, specverify_key key, uint32_t position, uint32_t round,
                                  int32_t* token) {
  if (law == nullptr || token == nullptr) return no_data;
  const specverify_law its = value_of(law);
  if (const sv::status wrong = check_law(its); !wrong.ok()) return to_c(wrong);
  const sv::philox source{{{key.word[0], key.word[1]}}};
  *token = draw(from_c(its), sv::uniforms{source, position, round}.at(sv::purpose::draft_draw)).token();
  return {};
}

specverify_status specverify_law_bits(const specverify_system* system, const specverify_law* law, double* bits) {
  if (law == nullptr || bits == nullptr) return no_data;
  const specverify_law its = value_of(law);
  if (const sv::status wrong = check_law(its); !wrong.ok()) return to_c(wrong);
  const auto format = format_of(system, its.vocab_size);
  if (format.ok()) *bits = bits_of(*format, from_c(its));
  return to_c(format.error());
}

specverify_status specverify_encode(const specverify_round* round, const specverify_system* system,
                                    const specverify_draft* drafts, size_t count, void* out, size_t* size) {
  if (size == nullptr || (drafts == nullptr && count > 0)) return no_data;
  const auto terms = terms_of(round, system);
  if (!terms) return to_c(terms.error());
  if (count > terms->format.max_draft_length)
    return to_c(refused(sv::errc::draft_too_long, terms->format.max_draft_length));
  if (const sv::status wrong = check_aligned(drafts); !wrong.ok()) return to_c(wrong);
  std::array<given_draft, sv::max_wire_draft_length> room;
  for (std::size_t i = 0; i < count; ++i) {
    if (const sv::status wrong = check_arrays(drafts[i].law); !wrong.ok())
      return to_c({wrong.code, wrong.reporter, static_cast<std::uint32_t>(i)});
    room[i] = given_draft(drafts[i]);
  }
  const std::span<const given_draft> all = std::span<const given_draft>(room).first(count);
  // The encoder checks the distributions. If the space is too small, a second encoding computes the bytes needed.
  const std::span<std::byte> space(static_cast<std::byte*>(out), out == nullptr ? 0 : *size);
  const auto written = encode_draft(terms->place, terms->format, all, space);
  if (written.ok()) *size = written->size();
  if (written.error().code != sv::errc::output_too_small) return to_c(written.error());
  const auto needed = draft_bytes(terms->format, all, {});
  return to_c(needed.ok() ? refused(sv::errc::output_too_small, *needed) : needed.error());
}

specverify_status specverify_decode(const specverify_round* round, const specverify_system* system,
                                    specverify_space message, specverify_space space, specverify_draft* drafts,
                                    size_t* count) {
  if (count == nullptr) return no_data;
  const auto terms = terms_of(round, system);
  if (!terms) return to_c(terms.error());
  const sv::wire_format& format = terms->format;
  const std::uint32_t most = format.max_draft_length;
  const std::uint64_t entries = sv::max_draft_entries(format, most);
  const std::size_t decoding = sv::decode_draft_workspace_size(format);
  const std::size_t needed = static_cast<std::size_t>(entries) * 8 + most * sizeof(sv::received_draft) + decoding + 256;
  arena from{bytes_of(space)};
  if (from.left.size() < needed) return to_c(refused(sv::errc::output_too_small, needed));
  const specverify_allocator hooks{sizeof hooks, &from, arena::allocate, arena::deallocate};
  const making_scope scope(&hooks);
  auto block = sv::received_draft_block::make({most, entries});
  if (!block) return to_c(block.error());
  sv::workspace scratch{from.left};
  const auto read = decode_draft(terms->place, format, bytes_of(message), *block, scratch);
  if (!read) return to_c(read.error());
  if (const sv::status wrong = check_aligned(drafts); !wrong.ok()) return to_c(wrong);
  if (drafts == nullptr || *count < block->size()) return to_c(refused(sv::errc::output_too_small, block->size()));
  for (std::uint32_t i = 0; i < block->size(); ++i) drafts[i] = {(*block)[i].token(), to_c((*block)[i].source_law())};
  *count = block->size();
  return {};
}
