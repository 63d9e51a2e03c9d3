// SPDX-License-Identifier: Apache-2.0
//! Runs the process of the cloud: the host with a listening socket. On SIGTERM or SIGINT the process ends and writes a
//! report of its computations.
#ifndef EDGE_CLOUD_CLOUD_PROCESS_HPP
#define EDGE_CLOUD_CLOUD_PROCESS_HPP

#include "run_settings.hpp"

namespace edge_cloud {

//! Returns the exit code of the process.
int run_cloud_process(const run_settings& run, std::uint16_t port);

}  // namespace edge_cloud

#endif
