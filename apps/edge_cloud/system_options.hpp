// SPDX-License-Identifier: Apache-2.0
//! Adds the options --set and --list to a program whose options name systems.
#ifndef EDGE_CLOUD_SYSTEM_OPTIONS_HPP
#define EDGE_CLOUD_SYSTEM_OPTIONS_HPP

#include "systems.hpp"

#include <CLI/CLI.hpp>

namespace edge_cloud {

inline void add_settings_options(CLI::App& app, std::vector<std::string>& set) {
  app.add_option("--set", set,
                 "SETTING=NUMBER for every chosen method that has this setting; repeatable (names: --list)");
  const auto list = [] {
    std::fputs(list_of_systems().c_str(), stdout);
    throw CLI::Success();
  };
  app.add_flag_callback("--list", list, "list the methods and their settings, then exit")->trigger_on_parse();
}

}  // namespace edge_cloud

#endif
