// SPDX-License-Identifier: Apache-2.0
//! Adds the option --prior to a program that runs sessions, and checks that a method uses the table.
#ifndef EDGE_CLOUD_PRIOR_OPTION_HPP
#define EDGE_CLOUD_PRIOR_OPTION_HPP

#include "systems.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

namespace edge_cloud {

//! `use` describes how this program uses the table.
inline void add_prior_option(CLI::App& app, std::filesystem::path& prior, const std::string& use) {
  app.add_option("--prior", prior,
                 "file with a table of id weights, made by ./run prior; with it, methods that send only ids, such as "
                 "shared-noise, encode them in fewer bits; " +
                     use)
      ->check(CLI::ExistingFile);
}

//! Throws std::invalid_argument if a table is given but no system can use it.
inline void check_prior_use(const std::filesystem::path& prior, std::span<const std::string> systems) {
  if (prior.empty()) return;
  const auto uses = [](const std::string& text) { return sends_only_ids(chosen_system(text)); };
  if (std::any_of(systems.begin(), systems.end(), uses)) return;
  throw std::invalid_argument("--prior " + prior.string() +
                              ": none of the systems sends only ids; choose for example shared-noise, or omit --prior");
}

}  // namespace edge_cloud

#endif
