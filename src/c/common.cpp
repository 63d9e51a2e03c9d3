// SPDX-License-Identifier: Apache-2.0
// Implements C functions that need no session: statuses, secrets, fingerprints and defaults.
#include "options.hpp"

#include <specverify/core/level.hpp>
#include <specverify/vocabulary/fingerprint.hpp>

namespace specverify_c {
namespace {

// The numbers in the C headers must equal the library's numbers.
static_assert(static_cast<int>(sv::part::host) == 13 && specverify_errc_salt_missing == 160);
static_assert(SPECVERIFY_JOURNAL == static_cast<int>(sv::session_action::journal) &&
              SPECVERIFY_EVALUATE == static_cast<int>(sv::session_action::evaluate) &&
              SPECVERIFY_COMMITTED == static_cast<int>(sv::session_action::committed) &&
              SPECVERIFY_RETRACTED == static_cast<int>(sv::session_action::retracted) &&
              SPECVERIFY_SCORE == static_cast<int>(sv::session_action::score) &&
              SPECVERIFY_FAILED == static_cast<int>(sv::session_action::failed));
static_assert(SPECVERIFY_STOP_NONE == static_cast<int>(sv::stop_reason::none) &&
              SPECVERIFY_STOP_TOKEN == static_cast<int>(sv::stop_reason::stop_token) &&
              SPECVERIFY_STOP_BUDGET == static_cast<int>(sv::stop_reason::budget) &&
              SPECVERIFY_STOP_CANCELLED == static_cast<int>(sv::stop_reason::cancelled) &&
              SPECVERIFY_STOP_FINISHED == static_cast<int>(sv::stop_cause::finished) &&
              SPECVERIFY_STOP_CANCELLED == static_cast<int>(sv::stop_cause::cancelled));
static_assert(SPECVERIFY_EDGE_IDLE == static_cast<int>(sv::edge_state::idle) &&
              SPECVERIFY_EDGE_FINISHED == static_cast<int>(sv::edge_state::finished) &&
              SPECVERIFY_EDGE_FAILED == static_cast<int>(sv::edge_state::failed) &&
              SPECVERIFY_CLOUD_BLANK == static_cast<int>(sv::cloud_state::blank) &&
              SPECVERIFY_CLOUD_FINISHED == static_cast<int>(sv::cloud_state::finished) &&
              SPECVERIFY_CLOUD_FAILED == static_cast<int>(sv::cloud_state::failed));

static_assert(SPECVERIFY_TOKEN_TEXT == static_cast<int>(sv::token_class::text) &&
              SPECVERIFY_TOKEN_SPECIAL == static_cast<int>(sv::token_class::special) &&
              SPECVERIFY_TOKEN_BYTE == static_cast<int>(sv::token_class::byte));
static_assert(sizeof(sv::fingerprint_builder) <= sizeof(specverify_fingerprint) &&
              std::is_trivially_copyable_v<sv::fingerprint_builder>);

// Returns the builder whose bytes the caller keeps in `kept`. All zeros mean a new builder, because no builder consists
// of zeros.
[[nodiscard]] sv::fingerprint_builder builder_of(const specverify_fingerprint& kept) noexcept {
  sv::fingerprint_builder made;
  constexpr specverify_fingerprint none{};
  if (std::memcmp(&kept, &none, sizeof none) != 0) std::memcpy(static_cast<void*>(&made), &kept, sizeof made);
  return made;
}

}  // namespace

}  // namespace specverify_c

using namespace specverify_c;

specverify_status specverify_message(specverify_status why, char* out, size_t size) {
  return to_c(sv::to_string(from_c(why), {out, out == nullptr ? 0 : size}).error());
}

// A host's own numbers begin at 1000, so every errc must be smaller.
#define SPECVERIFY_ERRC(name, number, message) static_assert(number < 1000);
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC

const char* specverify_errc_name(uint32_t code) {
  switch (code) {
#define SPECVERIFY_ERRC(name, number, message) \
  case number:                                 \
    return #name;
#include <specverify/core/errc.def>
#undef SPECVERIFY_ERRC
    default:
      return nullptr;
  }
}

uint32_t specverify_abi(void) { return SPECVERIFY_ABI; }

uint32_t specverify_version(void) {
  return SPECVERIFY_VERSION_MAJOR * 10000 + SPECVERIFY_VERSION_MINOR * 100 + SPECVERIFY_VERSION_PATCH;
}

const char* specverify_vectors(void) {
#if defined(SPECVERIFY_EVERY_LEVEL)
  return name(sv::cpu_level());
#else
  return name(sv::vector_level::baseline);
#endif
}

specverify_status specverify_secret_from_hex(const char* text, uint8_t secret[16]) {
  if (secret == nullptr) return no_data;
  const sv::session_secret made = sv::secret_from_hex(text == nullptr ? "" : text);
  for (std::size_t i = 0; i < 2; ++i)
    sv::numeric::store_le(reinterpret_cast<std::byte*>(secret) + 8 * i, made.key().word[i], 8);
  return to_c(made.is_missing() ? refused(sv::errc::secret_missing) : sv::status{});
}

specverify_status specverify_fingerprint_add(specverify_fingerprint* tokens, int32_t id, const void* piece, size_t size,
                                             uint32_t token_class) {
  if (tokens == nullptr || (piece == nullptr && size > 0)) return no_data;
  if (token_class > SPECVERIFY_TOKEN_BYTE) return to_c(refused(sv::errc::invalid_argument, token_class));
  sv::fingerprint_builder builder = builder_of(*tokens);
  const sv::status why = builder.add(id, bytes_of(piece, size), static_cast<sv::token_class>(token_class));
  std::memcpy(static_cast<void*>(tokens), &builder, sizeof builder);
  return to_c(why);
}

specverify_status specverify_fingerprint_finish(const specverify_fingerprint* tokens, uint64_t* high, uint64_t* low) {
  if (tokens == nullptr || high == nullptr || low == nullptr) return no_data;
  const sv::vocabulary_fingerprint made = builder_of(*tokens).finish();
  *high = made.high;
  *low = made.low;
  return {};
}

specverify_status specverify_transform_init(specverify_transform* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_transform>()));
}

specverify_status specverify_edge_options_init(specverify_edge_options* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_edge_options>()));
}

specverify_status specverify_cloud_options_init(specverify_cloud_options* made, size_t size, uint32_t abi) {
  return to_c(begin(made, size, abi, usual<specverify_cloud_options>()));
}

specverify_status specverify_system_init(specverify_system* made, size_t size, uint32_t abi, const char* name) {
  specverify_system set = usual<specverify_system>();
  set.name = name;
  return to_c(begin(made, size, abi, set));
}

const char* specverify_system_name(uint32_t index) {
  for (const sv::system_info& known : sv::systems()) {
    if (!known.needs_network && index-- == 0) return known.name.data();  // a string literal, so a zero byte follows
  }
  return nullptr;
}
