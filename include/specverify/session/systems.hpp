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

#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/session/system_info.hpp>

#include <initializer_list>
#include <span>
#include <string_view>

SPECVERIFY_TYPES_BEGIN

struct dqn_weights;

SPECVERIFY_TYPES_END
SPECVERIFY_NAMESPACE_BEGIN

//! All systems, in the order of the pages.
[[nodiscard]] std::span<const system_info> systems() noexcept;
//! Their names for a message: "target, qs, k-sqs, ...".
[[nodiscard]] std::string_view system_names() noexcept;

//! Errors: unknown_system.
[[nodiscard]] result<system_info> find_system(std::string_view name) noexcept;

//! The shape of a system for a vocabulary of V tokens. Errors: unknown_system; unknown_setting and setting_out_of_range
//! (`where` = index in `settings`); setting_missing (`where` = index in the system's own list).
[[nodiscard]] result<system_shape> shape_of(std::string_view system, std::span<const setting> settings,
                                            std::uint32_t vocab_size) noexcept;

//! An edge of the system. The last of two equal settings counts. `network`: of a system that needs one; it outlives the
//! edge. Errors: those of `shape_of`; network_missing; those of `make_edge` with a preset.
[[nodiscard]] result<edge_session> make_edge(const edge_options& options, std::string_view system,
                                             std::span<const setting> settings, const dqn_weights* network = nullptr);
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

#include <specverify/session/detail/systems_by_name.hpp>

#endif
