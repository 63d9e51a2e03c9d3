// SPDX-License-Identifier: Apache-2.0
//! The server of strangers as a process: listens, lets devices in, serves their sessions one pass of an engine at a
//! time. Ended by SIGTERM or SIGINT, it leaves a report of what it held at most and what it refused.
#ifndef EDGE_CLOUD_SERVE_SERVE_PROCESS_HPP
#define EDGE_CLOUD_SERVE_SERVE_PROCESS_HPP

#include "../run_settings.hpp"
#include "serve_settings.hpp"

namespace edge_cloud {

//! The exit code of the process. Throws std::runtime_error with what is wrong with the settings.
int run_serve_process(run_settings run, serve_settings settings);

}  // namespace edge_cloud

#endif
