// SPDX-License-Identifier: Apache-2.0
//! The cloud as a process: the host behind a listening socket. Ended by SIGTERM or SIGINT, it leaves a report of what
//! it computed.
#ifndef EDGE_CLOUD_CLOUD_PROCESS_HPP
#define EDGE_CLOUD_CLOUD_PROCESS_HPP

#include "run_settings.hpp"

namespace edge_cloud {

//! The exit code of the process.
int run_cloud_process(const run_settings& run, std::uint16_t port);

}  // namespace edge_cloud

#endif
