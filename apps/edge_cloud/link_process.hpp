// SPDX-License-Identifier: Apache-2.0
//! Runs the process of the emulated link between the edge and the cloud.
#ifndef EDGE_CLOUD_LINK_PROCESS_HPP
#define EDGE_CLOUD_LINK_PROCESS_HPP

#include "link_settings.hpp"

namespace edge_cloud {

//! Returns the exit code of the process.
int run_link_process(const link_settings& link, std::uint16_t port, std::uint16_t cloud_port);

}  // namespace edge_cloud

#endif
