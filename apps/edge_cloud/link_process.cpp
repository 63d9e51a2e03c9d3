// SPDX-License-Identifier: Apache-2.0
#include "link_process.hpp"

#include "link_emulator.hpp"

#include <cstdio>

#include <unistd.h>

namespace edge_cloud {

int run_link_process(const link_settings& link, std::uint16_t port, std::uint16_t cloud_port) {
  const link_emulator running(link, cloud_port, port);
  std::printf("link from port %u to port %u; end with ctrl-c\n", running.port(), cloud_port);
  ::pause();
  return 0;
}

}  // namespace edge_cloud
