// SPDX-License-Identifier: Apache-2.0
//! Runs the process of a server for unknown devices: listens, authenticates devices, and serves the sessions one engine
//! pass at a time. On SIGTERM or SIGINT the process ends and writes a report of peak usage and refusals.
#ifndef EDGE_CLOUD_SERVE_SERVE_PROCESS_HPP
#define EDGE_CLOUD_SERVE_SERVE_PROCESS_HPP

#include "../run_settings.hpp"
#include "serve_settings.hpp"

namespace edge_cloud {

//! Returns the exit code of the process. Throws std::runtime_error if the settings are invalid.
int run_serve_process(run_settings run, serve_settings settings);

}  // namespace edge_cloud

#endif
