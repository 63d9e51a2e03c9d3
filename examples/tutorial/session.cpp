// SPDX-License-Identifier: Apache-2.0
// Step 5: run both, and look at what the link carried. Each side may as well be a process on another machine.
#include "sides.hpp"

#include <unistd.h>

#include <cstdio>
#include <thread>

int main() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return 1;
  specverify::status served;
  std::thread server([&] { served = run_cloud(ends[1]); });
  const auto figures = run_device(ends[0], [](const specverify::session_output& out) {
    for (const specverify::token_id token : out.tokens) std::printf(" %d", token);
  });
  ::close(ends[0]);  // before the join: a cloud that refused the device waits for the link's end
  server.join();
  ::close(ends[1]);
  if (!figures || !served.ok()) return 2;
  std::printf("\n%.2f tokens per round, %.0f bits per token\n", tokens_per_round(*figures),
              uplink_bits_per_token(*figures));
  return tokens_per_round(*figures) > 1 && std::fflush(stdout) == 0 ? 0 : 3;
}
