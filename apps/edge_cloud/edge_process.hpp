// SPDX-License-Identifier: Apache-2.0
//! Runs the process of the edge: the host, the connection and the deadline on one io_context, with the text on the
//! screen.
#ifndef EDGE_CLOUD_EDGE_PROCESS_HPP
#define EDGE_CLOUD_EDGE_PROCESS_HPP

#include "edge_link.hpp"
#include "run_settings.hpp"

namespace edge_cloud {

//! Returns the exit code of the process.
int run_edge_process(const run_settings& run, const make_link& link);
//! Runs the edge over a link whose datagrams may be lost.
int run_delivered_edge(run_settings run, const make_link& over);
//! Runs the edge over the demo's emulated link on the loopback interface, which may lose frames.
int run_edge_process(const run_settings& run, std::uint16_t port);

}  // namespace edge_cloud

#endif
