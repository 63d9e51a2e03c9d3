// SPDX-License-Identifier: Apache-2.0
// Replaces serve_commands.cpp if OpenSSL or spdlog is missing.
#include "serve_commands.hpp"

#include <CLI/CLI.hpp>

#include <stdexcept>

namespace edge_cloud {

struct serve_commands::options {};

serve_commands::serve_commands() = default;
serve_commands::~serve_commands() = default;

void serve_commands::add_to(CLI::App& app) {
  for (const char* name : {"serve", "device"})
    app.add_subcommand(name, "not available, because this program was built without OpenSSL or spdlog")->allow_extras();
}

std::optional<int> serve_commands::run(const CLI::App& app) {
  if (!app.got_subcommand("serve") && !app.got_subcommand("device")) return std::nullopt;
  throw std::runtime_error(
      "this program was built without OpenSSL or spdlog: install both (Debian: libssl-dev, "
      "libspdlog-dev), configure and build again");
}

}  // namespace edge_cloud
