// SPDX-License-Identifier: Apache-2.0
//! Loads the trained files of a run: the decision head of the scored systems, and the network of a learned window.
#ifndef EDGE_CLOUD_TRAINED_FILES_HPP
#define EDGE_CLOUD_TRAINED_FILES_HPP

#include <specverify/decision_head/weights.hpp>
#include <specverify/policy/dqn.hpp>

#include "file_bytes.hpp"
#include "run_settings.hpp"
#include "systems.hpp"

#include <memory>
#include <stdexcept>
#include <string>

namespace edge_cloud {

namespace detail {

[[noreturn]] inline void refuse(const std::filesystem::path& file, specverify::status why) {
  throw std::runtime_error(file.string() + ": " + why.text().c_str());
}

inline void require_file(const chosen_system& system, const std::filesystem::path& file, const char* what) {
  if (file.empty()) throw std::runtime_error("system " + system.text() + " needs " + what);
}

}  // namespace detail

//! Returns the decision head of a run. Throws if the file is invalid, or if the head needs states that sessions do not
//! send.
[[nodiscard]] inline specverify::decision_head load_head(const std::filesystem::path& file) {
  auto made = specverify::decision_head::make(file_bytes(file));
  if (!made.ok()) detail::refuse(file, made.error());
  if (made.value().view().shape.mode != specverify::hidden_mode::predicting) {
    throw std::runtime_error(
        file.string() + ": the decision head was trained on consuming states, but sessions send predicting states");
  }
  return std::move(made).value();
}

//! Throws if a head belongs to another model. `model` is drafter or target, and `expected` is the size of the head's
//! input.
inline void require_state_size(const std::string& model, std::uint32_t expected, std::uint32_t given) {
  if (expected == given) return;
  throw std::runtime_error("the decision head needs " + model + " states of " + std::to_string(expected) +
                           " numbers, but this model has " + std::to_string(given));
}

//! Returns the threshold that the edge sends to the cloud. `drafter_size`: size of the states that the edge will send;
//! throws if the head needs another size.
[[nodiscard]] inline double threshold_of(const run_settings& run, std::uint32_t drafter_size) {
  if (run.head.empty()) return run.threshold >= 0 ? run.threshold : 0.0;
  const specverify::decision_head head = load_head(run.head);
  require_state_size("drafter", head.view().shape.drafter_size, drafter_size);
  return run.threshold >= 0 ? run.threshold : head.view().threshold;
}

//! Returns the network of a run. Throws if the file is invalid.
[[nodiscard]] inline std::unique_ptr<const specverify::dqn_weights> load_policy(const std::filesystem::path& file) {
  auto made = std::make_unique<specverify::dqn_weights>();
  if (const auto read = specverify::read_dqn(file_bytes(file), made->values); !read) detail::refuse(file, read.error());
  return made;
}

//! Throws before anything starts if a system lacks a file that it needs.
inline void require_files(const chosen_system& system, const run_settings& run) {
  if (system.info().needs_head) {
    detail::require_file(system, run.head, "a decision head; give its weights with --head FILE (./run lab trains one)");
  }
  if (system.info().needs_network) {
    detail::require_file(system, run.policy,
                         "a trained network; give its weights with --policy FILE (./run lab trains one)");
  }
}

}  // namespace edge_cloud

#endif
