// SPDX-License-Identifier: Apache-2.0
// The functions without a session.
#include "core.hpp"
#include "options.hpp"

#include <specverify/codec/bit_cost.hpp>
#include <specverify/codec/message.hpp>

#include <array>

using namespace specverify_c;

SPECVERIFY_LEVEL_TABLES(level_calls, specverify_c_levels);

namespace {

[[nodiscard]] const level_calls& calls() noexcept {
  static const level_calls& found = specverify_c_levels_at(sv::cpu_level());
  return found;
}

[[nodiscard]] std::span<std::byte> bytes_of(specverify_space space) noexcept {
  return {static_cast<std::byte*>(space.data), space.data == nullptr ? 0 : space.size};
}

// A specverify_draft as an encoder takes it.
class given_draft {
 public:
  given_draft() = default;
  explicit given_draft(const specverify_draft& from) noexcept : from_(&from) {}
  [[nodiscard]] sv::token_id token() const noexcept { return from_->token; }
  [[nodiscard]] sv::law source_law() const noexcept { return from_c(from_->law); }

 private:
  const specverify_draft* from_;
};

// Of the system's laws. Errors: those of shape_of; unsupported (they do not travel).
[[nodiscard]] sv::result<sv::wire_format> format_of(const named_system& system, std::uint32_t vocab_size) noexcept {
  const auto shape = sv::shape_of(system.name, system.settings(), vocab_size);
  if (!shape) return shape.error();
  return carries_laws(shape->format.format) ? sv::result(shape->format) : refused(sv::errc::unsupported);
}

// What a codec works with.
struct codec_terms {
  sv::wire_context context;
  sv::wire_format format;
};
[[nodiscard]] sv::result<codec_terms> terms_of(const specverify_round* round,
                                               const specverify_system* system) noexcept {
  const auto set = taken(round);
  if (!set) return set.error();
  const auto named = system_of(system);
  if (!named) return named.error();
  const auto format = format_of(*named, set->vocab_size);
  if (!format) return format.error();
  if (const sv::status why = check(*format); !why.ok()) return why;
  return codec_terms{{set->session_id, set->epoch, set->round, set->base_length, set->prefix_hash, 0}, *format};
}

// Memory cut from the caller's space and never given back.
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

[[nodiscard]] specverify_status key_of(const sv::philox_key& made, specverify_key* key) noexcept {
  key->word[0] = made.word[0];
  key->word[1] = made.word[1];
  return {};
}

constexpr specverify_status no_data{static_cast<std::uint16_t>(sv::errc::null_span), 13, 0};

[[nodiscard]] sv::session_secret secret_at(const std::uint8_t* secret) noexcept {
  std::uint8_t bytes[16];
  std::memcpy(bytes, secret, sizeof bytes);
  return secret_of(bytes);
}

}  // namespace

specverify_status specverify_round_init(specverify_round* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_round>()));
}

specverify_status specverify_target_init(specverify_target* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_target>()));
}

specverify_status specverify_draft_key(const uint8_t secret[16], uint64_t session_id, specverify_key* key) {
  if (secret == nullptr || key == nullptr) return no_data;
  const sv::session_secret its = secret_at(secret);
  if (its.is_missing()) return to_c(refused(sv::errc::secret_missing));
  return key_of(sv::derive_draft_key(its, session_id), key);
}

specverify_status specverify_verdict_key(const uint8_t secret[16], uint64_t session_id, uint64_t salt,
                                         specverify_key* key) {
  if (secret == nullptr || key == nullptr) return no_data;
  const sv::session_secret its = secret_at(secret);
  if (its.is_missing()) return to_c(refused(sv::errc::secret_missing));
  if (salt == 0) return to_c(refused(sv::errc::salt_missing));
  return key_of(sv::derive_verdict_key(its, session_id, salt), key);
}

specverify_status specverify_draft_law(const specverify_system* system, const specverify_row* row,
                                       const specverify_transform* transform, specverify_space space,
                                       specverify_law* law) {
  if (row == nullptr || law == nullptr) return no_data;
  const auto named = system_of(system);
  if (!named) return to_c(named.error());
  const auto its_transform = from_c(transform);
  if (!its_transform) return to_c(its_transform.error());
  const specverify_row its_row = value_of(row);
  if (const sv::status wrong = check_row(its_row); !wrong.ok()) return to_c(wrong);
  const auto made = calls().make_law({*named, its_row, *its_transform}, bytes_of(space));
  if (made.ok()) *law = to_c(*made);
  return to_c(made.error());
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
  const auto named = system_of(system);
  if (!named) return to_c(named.error());
  const specverify_law its = value_of(law);
  if (const sv::status wrong = check_law(its); !wrong.ok()) return to_c(wrong);
  const auto format = format_of(*named, its.vocab_size);
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
  // The encoder looks at the laws. Where there is too little room, it is asked a second time how much would do.
  const std::span<std::byte> space(static_cast<std::byte*>(out), out == nullptr ? 0 : *size);
  const auto written = encode_draft(terms->context, terms->format, all, space);
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
  const memory_hooks hooks{&from, arena::allocate, arena::deallocate};
  const making_scope scope(&hooks);
  auto block = sv::received_draft_block::make({most, entries});
  if (!block) return to_c(block.error());
  sv::workspace scratch{from.left};
  const auto read = decode_draft(terms->context, format, bytes_of(message), *block, scratch);
  if (!read) return to_c(read.error());
  if (const sv::status wrong = check_aligned(drafts); !wrong.ok()) return to_c(wrong);
  if (drafts == nullptr || *count < block->size()) return to_c(refused(sv::errc::output_too_small, block->size()));
  for (std::uint32_t i = 0; i < block->size(); ++i) drafts[i] = {(*block)[i].token(), to_c((*block)[i].source_law())};
  *count = block->size();
  return {};
}

specverify_status specverify_verify(const specverify_round* round, const specverify_draft* drafts, size_t count,
                                    const specverify_target* target, specverify_space space,
                                    specverify_verdict* verdict) {
  const auto at = taken(round);
  if (!at) return to_c(at.error());
  const auto set = taken(target);
  if (!set) return to_c(set.error());
  const auto transform = from_c(set->transform);
  if (!transform) return to_c(transform.error());
  const auto stops = array_of(set->stop_tokens, set->stop_count, offsetof(specverify_target, stop_tokens));
  if (!stops) return to_c(stops.error());
  if (set->rows == nullptr || (drafts == nullptr && count > 0)) return no_data;
  for (const sv::status wrong : {check_aligned(set->rows), check_aligned(drafts)})
    if (!wrong.ok()) return to_c(wrong);
  if (count > sv::max_wire_draft_length) return to_c(refused(sv::errc::draft_too_long, sv::max_wire_draft_length));
  if (set->row_count <= count) return to_c(refused(sv::errc::too_few_rows, set->row_count));
  for (std::size_t i = 0; i < count; ++i) {
    if (const sv::status wrong = check_draft(drafts[i], i); !wrong.ok()) return to_c(wrong);
    if (drafts[i].law.vocab_size != at->vocab_size) return to_c(refused(sv::errc::vocabulary_mismatch, i));
  }
  for (std::size_t i = 0; i <= count; ++i) {
    if (const sv::status wrong = check_row(set->rows[i]); !wrong.ok())
      return to_c({wrong.code, wrong.reporter, static_cast<std::uint32_t>(i)});
    if (set->rows[i].scalar != set->rows[0].scalar) return to_c(refused(sv::errc::invalid_argument, i));
    if (set->rows[i].valid_size != at->vocab_size) return to_c(refused(sv::errc::row_size_mismatch, i));
  }
  const auto said = calls().verify(
      {span_of(drafts, count), *set, *transform, at->base_length, at->round, at->vocab_size}, bytes_of(space));
  if (!said) return to_c(said.error());
  specverify_verdict made{};
  made.accepted = said->accepted;
  made.next_token = said->next_token;
  made.commit_length = said->commit_length;
  made.source = static_cast<std::uint32_t>(said->source);
  made.stop = static_cast<std::uint32_t>(said->stop);
  made.near_ties = said->counters.near_ties;
  return to_c(give(made, verdict));
}
