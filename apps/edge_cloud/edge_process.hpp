// SPDX-License-Identifier: Apache-2.0
//! The edge as a process: the host on one io_context with its connection, its deadline and the text on the screen.
#ifndef EDGE_CLOUD_EDGE_PROCESS_HPP
#define EDGE_CLOUD_EDGE_PROCESS_HPP

#include "edge_link.hpp"
#include "run_settings.hpp"

namespace edge_cloud {

//! The exit code of the process.
int run_edge_process(const run_settings& run, const make_link& link);
//! Over datagrams that may be lost.
int run_delivered_edge(run_settings run, const make_link& over);
//! The demo's link, which loses frames, is on the loopback.
int run_edge_process(const run_settings& run, std::uint16_t port);

}  // namespace edge_cloud

#endif
