// SPDX-License-Identifier: Apache-2.0
//! Makes a session of a paper's method, if the method's name is known only at run time.
//!
//! For example, `make_edge(options, "k-sqs", {{"support_size", 32}})` makes an edge of K-SQS. If your code chooses the
//! method, use a preset (session/presets.hpp) instead, because the compiler then checks the settings.
//! Paper:      as session/presets.hpp.
//! Guarantees: the edge is the same as with the preset. `k-sqs`, `k_sqs` and `ksqs` are one name. An unknown setting,
//!             or a value outside its range, is an error.
//! Deviates:   as session/presets.hpp.
//! Cost:       O(number of methods); only `make_edge` and `make_cloud` allocate.
//! See:        docs/algorithms/systems.md, tests/unit/session/systems_test.cpp
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

//! Returns all methods, in the order of docs/algorithms/systems.md.
[[nodiscard]] std::span<const system_info> systems() noexcept;
//! Returns all names as one text, for messages: "target, qs, k-sqs, ...".
[[nodiscard]] std::string_view system_names() noexcept;

//! Returns the description of a method. Errors: unknown_system.
[[nodiscard]] result<system_info> find_system(std::string_view name) noexcept;

//! Returns the shape of a method for a vocabulary of V tokens. Errors: unknown_system; unknown_setting and
//! setting_out_of_range (`where` = index in `settings`); setting_missing (`where` = index in the method's own list).
[[nodiscard]] result<system_shape> shape_of(std::string_view system, std::span<const setting> settings,
                                            std::uint32_t vocab_size) noexcept;

//! Makes an edge for a method. If a setting occurs twice, the last value is used. `network` is the trained network of
//! qs-dqn, and must outlive the edge. Errors: as for `shape_of`; network_missing; as for `make_edge` with a preset.
[[nodiscard]] result<edge_session> make_edge(const edge_options& options, std::string_view system,
                                             std::span<const setting> settings, const dqn_weights* network = nullptr);
[[nodiscard]] inline result<edge_session> make_edge(const edge_options& options, std::string_view system,
                                                    std::initializer_list<setting> settings = {},
                                                    const dqn_weights* network = nullptr) {
  return make_edge(options, system, std::span(settings.begin(), settings.size()), network);
}

//! Makes a cloud whose buffers have room for the method's messages. Errors: as for `shape_of`; as for `make_cloud` with
//! a preset.
[[nodiscard]] result<cloud_session> make_cloud(const cloud_options& options, std::string_view system,
                                               std::span<const setting> settings);
[[nodiscard]] inline result<cloud_session> make_cloud(const cloud_options& options, std::string_view system,
                                                      std::initializer_list<setting> settings = {}) {
  return make_cloud(options, system, std::span(settings.begin(), settings.size()));
}

SPECVERIFY_NAMESPACE_END

#include <specverify/session/detail/systems_by_name.hpp>

#endif
