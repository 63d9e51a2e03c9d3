// SPDX-License-Identifier: Apache-2.0
//! The papers' systems by a name that is known at run time: the only list of them, for hosts in C++ and C, for programs
//! and their help texts.
//!
//! Use it when a person or a file chooses the system: `make_edge(options, "k-sqs", {{"support_size", 32}})`. If the
//! code chooses it, a preset (session/presets.hpp) does the same, and the compiler checks its settings.
//! Paper:      as session/presets.hpp.
//! Guarantees: a name makes the edge that its preset makes. `k-sqs`, `k_sqs` and `ksqs` are one name. Settings are
//!             checked before anything is made: an unknown one is an error, and so is one outside its range.
//! Deviates:   as session/presets.hpp.
//! See:        docs/algorithms/systems.md, tests/unit/session/systems_test.cpp, examples/docs/systems.cpp
#ifndef SPECVERIFY_SESSION_SYSTEMS_HPP
#define SPECVERIFY_SESSION_SYSTEMS_HPP

#include <specverify/core/detail/decimal.hpp>
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>

#include <initializer_list>
#include <span>
#include <string_view>

SPECVERIFY_TYPES_BEGIN

//! A number that a system is set to; a switch is 0 or 1.
struct setting {
  std::string_view name{};
  double value = 0;
};

//! A setting that a system has.
struct setting_info {
  std::string_view name{};
  double least = 0, most = 0;  //!< its range
  double usual = 0;            //!< its default; outside the range: it must be given
  bool whole = false;          //!< only whole numbers
  std::string_view meaning{};

  [[nodiscard]] SPECVERIFY_INLINE constexpr bool must_be_given() const noexcept { return usual < least; }
};

struct system_info {
  std::string_view name{};
  std::string_view sentence{};
  guarantee strength = guarantee::lossy;  //!< of its text with default settings
  bool greedy = false;                    //!< the text is the target's argmax, or near it
  bool needs_attention = false;           //!< the drafter's engine gives attention rows
  bool needs_hidden_states = false;       //!< both engines give hidden states
  bool needs_head = false;                //!< the cloud's host scores mismatches with a decision head
  bool needs_network = false;             //!< the edge's host gives the weights of a trained network
  std::span<const setting_info> settings{};
};

//! A system with its settings, without its parts.
struct system_shape {
  wire_format format{};  //!< of its draft messages
  wire_rule rule = wire_rule::token;
  session_mode mode = session_mode::draft;
  guarantee strength = guarantee::lossy;  //!< of its text
  bool bonus = true;
  bool draw_from_row = false;
  bool gates = false;             //!< the edge may commit tokens on its own
  bool needs_uncertainty = false;  //!< the gate measures how certain the drafter is
  bool plans_rounds = false;      //!< the number of drafts changes from round to round
  bool chooses_support = false;   //!< the number of tokens of a law changes
};

struct dqn_weights;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! All systems, in the order of the pages.
[[nodiscard]] std::span<const system_info> systems() noexcept;
//! Their names for a message: "target, qs, k-sqs, ...".
[[nodiscard]] std::string_view system_names() noexcept;

//! Whether two names are one: hyphens and underscores do not count.
[[nodiscard]] constexpr bool same_name(std::string_view a, std::string_view b) noexcept {
  const auto is_mark = [](char letter) { return letter == '-' || letter == '_'; };
  std::size_t i = 0, j = 0;
  for (;; ++i, ++j) {
    while (i < a.size() && is_mark(a[i])) ++i;
    while (j < b.size() && is_mark(b[j])) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (a[i] != b[j]) return false;
  }
}

//! Errors: unknown_system.
[[nodiscard]] inline result<system_info> find_system(std::string_view name) noexcept {
  for (const system_info& known : systems())
    if (same_name(known.name, name)) return known;
  return status{errc::unknown_system, part::session, 0};
}

//! Reads "support_size=32". The name is a part of `text`. Errors: invalid_argument (not a name, '=' and a number).
[[nodiscard]] inline result<setting> setting_from(std::string_view text) noexcept {
  const std::size_t equals = text.find('=');
  const auto value = equals == text.npos ? std::nullopt : detail::number_from<double>(text.substr(equals + 1));
  if (!value || equals == 0) return status{errc::invalid_argument, part::session, 0};
  return setting{text.substr(0, equals), *value};
}

//! The shape of a system for a vocabulary of V tokens. Errors: unknown_system; unknown_setting and setting_out_of_range
//! (`where` = index in `settings`); setting_missing (`where` = index in the system's own list).
[[nodiscard]] result<system_shape> shape_of(std::string_view system, std::span<const setting> settings,
                                            std::uint32_t vocab_size) noexcept;

//! An edge of the system. The last of two equal settings counts. `network`: of a system that needs one; it outlives the
//! edge. Errors: those of `shape_of`; network_missing; those of `make_edge` with a preset.
[[nodiscard]] result<edge_session> make_edge(const edge_options& options, std::string_view system,
                                             std::span<const setting> settings,
                                             const dqn_weights* network = nullptr);
[[nodiscard]] inline result<edge_session> make_edge(const edge_options& options, std::string_view system,
                                                    std::initializer_list<setting> settings = {},
                                                    const dqn_weights* network = nullptr) {
  return make_edge(options, system, std::span(settings.begin(), settings.size()), network);
}

//! A cloud whose buffers have room for the system's messages. Errors: those of `shape_of`; those of `make_cloud` with a
//! preset.
[[nodiscard]] result<cloud_session> make_cloud(const cloud_options& options, std::string_view system,
                                               std::span<const setting> settings);
[[nodiscard]] inline result<cloud_session> make_cloud(const cloud_options& options, std::string_view system,
                                                      std::initializer_list<setting> settings = {}) {
  return make_cloud(options, system, std::span(settings.begin(), settings.size()));
}

SPECVERIFY_NAMESPACE_END

#if !defined(SPECVERIFY_COMPILED)
#include <specverify/session/detail/systems_by_name.hpp>
#endif

#endif
