// SPDX-License-Identifier: Apache-2.0
// What belongs to no session: statuses, secrets, memory.
#include "convert.hpp"

#include <specverify/core/level.hpp>

namespace specverify_c {
namespace {

// The headers' numbers are the library's.
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

void* heap_allocate(void*, std::size_t size, std::size_t alignment) {
  return ::operator new (size, std::align_val_t{alignment}, std::nothrow);
}
void heap_deallocate(void*, void* memory, std::size_t, std::size_t alignment) {
  ::operator delete (memory, std::align_val_t{alignment});
}

}  // namespace

sv::result<memory_hooks> hooks_of(const specverify_allocator* given) noexcept {
  if (given == nullptr) return memory_hooks{nullptr, heap_allocate, heap_deallocate};
  const auto set = taken(given, specverify_allocator{});
  if (!set) return set.error();
  if (set->allocate == nullptr || set->deallocate == nullptr) return refused(sv::errc::null_span);
  return memory_hooks{set->self, set->allocate, set->deallocate};
}

sv::session_secret secret_of(const std::uint8_t (&bytes)[16]) noexcept {
  std::array<std::byte, 16> made{};
  std::memcpy(made.data(), bytes, made.size());
  return sv::session_secret(made);
}

}  // namespace specverify_c

using namespace specverify_c;

specverify_status specverify_message(specverify_status why, char* out, size_t size) {
  return to_c(sv::to_string(from_c(why), {out, out == nullptr ? 0 : size}).error());
}

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
  if (secret == nullptr) return to_c(refused(sv::errc::null_span));
  const sv::session_secret made = sv::secret_from_hex(text == nullptr ? "" : text);
  for (std::size_t i = 0; i < 2; ++i)
    sv::numeric::store_le(reinterpret_cast<std::byte*>(secret) + 8 * i, made.key().word[i], 8);
  return to_c(made.is_missing() ? refused(sv::errc::secret_missing) : sv::status{});
}
