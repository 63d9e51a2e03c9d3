// SPDX-License-Identifier: Apache-2.0
//! Finds a method by name, and returns the parts, the description, or a session of the method.
#ifndef SPECVERIFY_SESSION_DETAIL_SYSTEMS_BY_NAME_HPP
#define SPECVERIFY_SESSION_DETAIL_SYSTEMS_BY_NAME_HPP

#include <specverify/session/detail/system_list.hpp>
#include <specverify/session/system_info.hpp>

#include <array>
#include <concepts>
#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN
namespace detail {

//! Sets one member to a setting's value. Errors: setting_out_of_range.
template <class Number>
[[nodiscard]] constexpr errc set_number(Number& member, double value, double least, double most) noexcept {
  if (!numeric::is_finite(value) || value < least || value > most) return errc::setting_out_of_range;
  const auto made = static_cast<Number>(value);
  if (static_cast<double>(made) != value) return errc::setting_out_of_range;
  member = made;
  return errc::ok;
}

//! Applies the settings to a method. Errors: unknown_setting, setting_out_of_range (`where` = index in `given`);
//! setting_missing (`where` = index in the method's list).
template <class System>
[[nodiscard]] constexpr status apply(System& system, std::span<const setting> given) noexcept {
  for (std::uint32_t i = 0; i < given.size(); ++i) {
    errc why = errc::unknown_setting;
    system.settings([&](std::string_view name, auto& member, double least, double most, std::string_view) {
      if (same_name(name, given[i].name)) why = set_number(member, given[i].value, least, most);
    });
    if (why != errc::ok) return {why, part::session, i};
  }
  status missing;
  std::uint32_t index = 0;
  system.settings([&](std::string_view, const auto& member, double least, double, std::string_view) {
    if (static_cast<double>(member) < least) missing = {errc::setting_missing, part::session, index};
    ++index;
  });
  return missing;
}

//! Returns use(preset) for the method. Errors: as for the function below; qs-dqn: as for `dqn_window::make`.
template <class Result, class Use>
[[nodiscard]] constexpr Result with_system(system_list<>, std::string_view, std::span<const setting>,
                                           const dqn_weights*, const Use&) {
  return status{errc::unknown_system, part::session, 0};
}
template <class Result, class Use, class First, class... Rest>
[[nodiscard]] constexpr Result with_system(system_list<First, Rest...>, std::string_view name,
                                           std::span<const setting> settings, const dqn_weights* network,
                                           const Use& use) {
  if (!same_name(First::name, name)) return with_system<Result>(system_list<Rest...>{}, name, settings, network, use);
  First system;
  if (const status why = apply(system, settings); !why.ok()) return why;
  if constexpr (requires { system.network; }) system.network = network;
  if constexpr (requires { system.make(); }) {
    return use(system.make());
  } else {
    return system.make(use);
  }
}

}  // namespace detail

//! Returns use(preset) for a method, so `use` gets the types of the method's parts. Errors: unknown_system,
//! unknown_setting, setting_out_of_range, setting_missing, with `where` as for `shape_of`.
template <class Result, class Use>
[[nodiscard]] constexpr Result with_system(std::string_view system, std::span<const setting> settings, const Use& use) {
  return detail::with_system<Result>(detail::all_systems{}, system, settings, nullptr, use);
}

#if SPECVERIFY_BODIES
namespace detail {

template <class Sparsifier, class Skip, class Window>
[[nodiscard]] constexpr system_shape shape_of(const preset<Sparsifier, Skip, Window>& system,
                                              std::uint32_t vocab_size) noexcept {
  system_shape made;
  made.format = system.format_for(vocab_size);
  made.rule = system.rule;
  made.mode = system.mode;
  const guarantee carried = strength_of(made.format, system.rule);
  made.strength = carried < Skip::strength ? carried : Skip::strength;
  made.bonus = system.bonus;
  made.draw_from_row = system.draw_from_row;
  made.gates = Skip::strength != guarantee::unconditional;
  made.needs_uncertainty = Skip::needs_uncertainty;
  made.plans_rounds = !std::same_as<Window, fixed_window>;
  made.chooses_support =
      !std::same_as<Sparsifier, top_k> || made.format.format == law_format::top_k_tail || budgeted_window<Window>;
  return made;
}

// The table of methods, made from the list at compile time.

template <class System>
inline constexpr std::size_t setting_count = [] {
  std::size_t count = 0;
  System{}.settings([&](auto&&...) { ++count; });
  return count;
}();
template <class System>
inline constexpr auto settings_table = [] {
  std::array<setting_info, setting_count<System>> made{};
  std::size_t at = 0;
  System system;
  system.settings(
      [&]<class Number>(std::string_view name, Number& usual, double least, double most, std::string_view meaning) {
        made[at++] = {name, least, most, static_cast<double>(usual), std::integral<Number>, meaning};
      });
  return made;
}();

template <class Sparsifier, class Skip, class Window>
[[nodiscard]] constexpr system_info info_of(const preset<Sparsifier, Skip, Window>& system) noexcept {
  system_info made;
  made.strength = shape_of(system, max_vocab_size).strength;
  made.greedy = system.rule != wire_rule::token && system.noise == noise_kind::none;
  made.needs_attention = Skip::needs_attention;
  made.needs_hidden_states = made.needs_head = system.rule == wire_rule::semantic;
  return made;
}
template <class System>
[[nodiscard]] constexpr system_info info_of() noexcept {
  const System system;
  const auto take = [](const auto& preset) -> result<system_info> { return info_of(preset); };
  system_info made;
  if constexpr (requires { system.make(); }) {
    made = *take(system.make());
  } else {
    made = *system.make(take);
  }
  made.name = System::name;
  made.sentence = System::sentence;
  made.needs_network = requires { system.network; };
  made.settings = settings_table<System>;
  return made;
}
template <class... Systems>
[[nodiscard]] constexpr std::array<system_info, sizeof...(Systems)> table_of(system_list<Systems...>) noexcept {
  return {info_of<Systems>()...};
}
inline constexpr auto systems_table = table_of(all_systems{});

inline constexpr std::size_t names_size = [] {
  std::size_t size = 0;
  for (const system_info& one : systems_table) size += one.name.size() + 2;
  return size - 2;
}();
inline constexpr auto names_text = [] {
  std::array<char, names_size> made{};
  std::size_t at = 0;
  for (const system_info& one : systems_table) {
    for (std::size_t i = 0; at > 0 && i < 2; ++i) made[at++] = ", "[i];
    for (const char letter : one.name) made[at++] = letter;
  }
  return made;
}();

// The error message lists all methods, so every host's log shows the list.
static_assert(std::string_view(message(errc::unknown_system)).ends_with({names_text.data(), names_text.size()}));

}  // namespace detail

SPECVERIFY_BODY std::span<const system_info> systems() noexcept { return detail::systems_table; }
SPECVERIFY_BODY std::string_view system_names() noexcept {
  return {detail::names_text.data(), detail::names_text.size()};
}

SPECVERIFY_BODY result<system_info> find_system(std::string_view name) noexcept {
  for (const system_info& known : detail::systems_table)
    if (same_name(known.name, name)) return known;
  return status{errc::unknown_system, part::session, 0};
}

SPECVERIFY_BODY result<system_shape> shape_of(std::string_view system, std::span<const setting> settings,
                                              std::uint32_t vocab_size) noexcept {
  const auto use = [&](const auto& preset) -> result<system_shape> { return detail::shape_of(preset, vocab_size); };
  return with_system<result<system_shape>>(system, settings, use);
}

SPECVERIFY_BODY result<edge_session> make_edge(const edge_options& options, std::string_view system,
                                               std::span<const setting> settings, const dqn_weights* network) {
  const auto known = find_system(system);
  if (known && known->needs_network && network == nullptr) return status{errc::network_missing, part::session, 0};
  const auto use = [&](const auto& preset) { return make_edge(options, preset); };
  return detail::with_system<result<edge_session>>(detail::all_systems{}, system, settings, network, use);
}

SPECVERIFY_BODY result<cloud_session> make_cloud(const cloud_options& options, std::string_view system,
                                                 std::span<const setting> settings) {
  const auto use = [&](const auto& preset) { return make_cloud(options, preset); };
  return with_system<result<cloud_session>>(system, settings, use);
}

#endif

SPECVERIFY_NAMESPACE_END

#endif
