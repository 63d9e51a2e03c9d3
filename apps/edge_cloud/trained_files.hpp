// SPDX-License-Identifier: Apache-2.0
//! What somebody trained and a run is given as a file: the decision head of the scored systems, the network of a
//! learned window.
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
  throw std::runtime_error(file.string() + ": " + specverify::message(why.code));
}

inline void require_file(const chosen_system& system, const std::filesystem::path& file, const char* what) {
  if (file.empty()) throw std::runtime_error("system " + system.text() + " needs " + what);
}

}  // namespace detail

//! The head of a run. Throws what is wrong with the file; a head of states that no session carries is wrong.
[[nodiscard]] inline specverify::decision_head load_head(const std::filesystem::path& file) {
  auto made = specverify::decision_head::make(file_bytes(file));
  if (!made.ok()) detail::refuse(file, made.error());
  if (made.value().view().shape.mode != specverify::hidden_mode::predicting) {
    throw std::runtime_error(
        file.string() + ": the decision head was trained on consuming states, but a session sends predicting ones");
  }
  return std::move(made).value();
}

//! A head of another model than the one that will feed it is refused. `model`: drafter or target; `expected`: of the
//! head.
inline void require_state_size(const std::string& model, std::uint32_t expected, std::uint32_t given) {
  if (expected == given) return;
  throw std::runtime_error("the decision head needs " + model + " states of " + std::to_string(expected) +
                           " numbers, but this model has " + std::to_string(given));
}

//! The threshold that the edge tells the cloud. `drafter_size`: of the states that the edge will send; throws where the
//! head wants others.
[[nodiscard]] inline double threshold_of(const run_settings& run, std::uint32_t drafter_size) {
  if (run.head.empty()) return run.threshold >= 0 ? run.threshold : 0.0;
  const specverify::decision_head head = load_head(run.head);
  require_state_size("drafter", head.view().shape.drafter_size, drafter_size);
  return run.threshold >= 0 ? run.threshold : head.view().threshold;
}

//! The network of a run. Throws what is wrong with the file.
[[nodiscard]] inline std::unique_ptr<const specverify::dqn_weights> load_policy(const std::filesystem::path& file) {
  auto made = std::make_unique<specverify::dqn_weights>();
  if (const auto read = specverify::read_dqn(file_bytes(file), made->values); !read) detail::refuse(file, read.error());
  return made;
}

//! A system without what it needs cannot run: says so before anything starts.
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
