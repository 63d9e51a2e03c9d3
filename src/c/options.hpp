// SPDX-License-Identifier: Apache-2.0
// Checks the options of the C headers and converts them to the library's types.
#ifndef SPECVERIFY_SRC_C_OPTIONS_HPP
#define SPECVERIFY_SRC_C_OPTIONS_HPP

#include "convert.hpp"

#include <specverify/session/systems.hpp>

#include <string_view>

namespace specverify_c {

// Calls visit(number, member) for each number of the C struct and the library's member, and visit(number, member, most)
// if the number is a choice of at most `most`.
template <class Visit>
constexpr void for_each_number(specverify_edge_options& c, sv::edge_options& made, Visit&& visit) noexcept {
  visit(c.session_id, made.session_id);
  visit(c.vocab_size, made.vocab_size);
  visit(c.token_budget, made.token_budget);
  visit(c.max_text_length, made.max_text_length);
  visit(c.pad_to, made.pad_to);
  visit(c.fingerprint_high, made.fingerprint.high);
  visit(c.fingerprint_low, made.fingerprint.low);
  visit(c.threshold, made.threshold);
  visit(c.retry_timeout, made.retry_timeout);
  visit(c.salt, made.salt);
  visit(c.retry_limit, made.retry_limit);
  visit(c.check_bits, made.check_bits, 16u);
  visit(c.text_chunk, made.text_chunk);
  visit(c.on_link_loss, made.on_link_loss, 2u);
  visit(c.max_ahead, made.max_ahead);
  visit(c.journal_drafts, made.journal_drafts, 2u);
  visit(c.mode, made.mode, 1u);
  visit(c.ids, made.ids, static_cast<std::uint32_t>(sv::id_code::noise));
}
template <class Visit>
constexpr void for_each_number(specverify_cloud_options& c, sv::cloud_options& made, Visit&& visit) noexcept {
  visit(c.vocab_size, made.vocab_size);
  visit(c.salt, made.salt);
  visit(c.max_text_length, made.max_text_length);
  visit(c.required, made.required, 2u);
  visit(c.fingerprint_high, made.fingerprint.high);
  visit(c.fingerprint_low, made.fingerprint.low);
  visit(c.trial_cap, made.trial_cap);
  visit(c.text_chunk, made.text_chunk);
  visit(c.lazy, made.lazy);
  visit(c.check_bits, made.check_bits, 16u);
  visit(c.noise, made.noise, static_cast<std::uint32_t>(sv::last_noise_kind));
}

// Returns the default numbers. The type of a C link does not show whether the link keeps the order of messages, so the
// default check has 16 bits.
template <class Struct, class Options>
[[nodiscard]] constexpr Struct numbers_of(Options from) noexcept {
  from.check_bits = 16;
  Struct made{};
  for_each_number(made, from, []<class Number>(Number& to, auto its, auto...) { to = static_cast<Number>(its); });
  return made;
}
template <>
inline constexpr auto blank<specverify_edge_options> = numbers_of<specverify_edge_options>(sv::edge_options{});
template <>
inline constexpr auto blank<specverify_cloud_options> = numbers_of<specverify_cloud_options>(sv::cloud_options{});

template <>
inline constexpr auto blank<specverify_round> = [] {
  specverify_round made{};
  made.check_bits = sv::wire_format{}.check_bits;
  return made;
}();
template <>
inline constexpr auto blank<specverify_target> = [] {
  specverify_target made{};
  made.remaining_budget = UINT32_MAX;
  made.trial_cap = sv::cloud_options{}.trial_cap;
  return made;
}();

// Converts options. Errors: the errors of the arrays; invalid_argument (`where` = offset of an unknown choice, or of a
// transform with biases or a mask. A session would read these arrays for every row, so they would have to outlive the
// session).
template <class Options, class Struct>
[[nodiscard]] sv::result<Options> options_of(Struct set) noexcept {
  const auto transform = from_c(set.transform);
  if (!transform) return transform.error();
  if (!transform->bias_ids.empty() || !transform->mask_words.empty())
    return refused(sv::errc::invalid_argument, offsetof(Struct, transform));
  const auto stops = array_of(set.stop_tokens, set.stop_count, offsetof(Struct, stop_tokens));
  if (!stops) return stops.error();
  Options made;
  made.secret = secret_of(set.secret);
  made.transform = *transform;
  made.stop_tokens = *stops;
  sv::status wrong;
  for_each_number(set, made, [&]<class Member>(const auto& from, Member& to, auto... most) {
    const auto offset = reinterpret_cast<const char*>(&from) - reinterpret_cast<const char*>(&set);
    if (wrong.ok() && (false || ... || (from > most)))
      wrong = refused(sv::errc::invalid_argument, static_cast<std::size_t>(offset));
    to = static_cast<Member>(from);
  });
  if (!wrong.ok()) return wrong;
  return made;
}

// A system with the name and the settings that the caller passed.
struct named_system {
  std::string_view name;
  std::array<sv::setting, 16> all;
  std::size_t count;

  [[nodiscard]] std::span<const sv::setting> settings() const noexcept { return std::span(all).first(count); }
};

// Returns the caller's system. Errors: as for `taken`; null_span (no name; `where` = offset of a pointer that must not
// be null), misaligned, unknown_setting (more settings than any system has).
[[nodiscard]] inline sv::result<named_system> system_of(const specverify_system* given) noexcept {
  const auto set = taken(given);
  if (!set) return set.error();
  if (set->name == nullptr) return refused(sv::errc::null_span, offsetof(specverify_system, name));
  const auto settings = array_of(set->settings, set->setting_count, offsetof(specverify_system, settings));
  if (!settings) return settings.error();
  named_system made{set->name, {}, set->setting_count};
  if (made.count > made.all.size()) return refused(sv::errc::unknown_setting, made.all.size());
  for (std::size_t i = 0; i < made.count; ++i) {
    const char* const name = (*settings)[i].name;
    made.all[i] = {name == nullptr ? "" : name, (*settings)[i].value};
  }
  return made;
}

// Returns a system's shape. Errors: as for system_of and for sv::shape_of.
[[nodiscard]] inline sv::result<sv::system_shape> shape_of(const specverify_system* given,
                                                           std::uint32_t vocab_size) noexcept {
  const auto system = system_of(given);
  return system ? sv::shape_of(system->name, system->settings(), vocab_size) : system.error();
}

}  // namespace specverify_c

#endif
