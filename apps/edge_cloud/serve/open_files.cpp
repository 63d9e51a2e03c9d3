// SPDX-License-Identifier: Apache-2.0
#include "open_files.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <sys/resource.h>

namespace edge_cloud {

std::uint64_t raised_open_files() {
  constexpr rlim_t enough = rlim_t{1} << 22;
  rlimit found{};
  if (::getrlimit(RLIMIT_NOFILE, &found) != 0) return 256;
  const rlim_t before = found.rlim_cur;
  found.rlim_cur = std::min(found.rlim_max, enough);
  return ::setrlimit(RLIMIT_NOFILE, &found) == 0 ? found.rlim_cur : before;
}

std::uint64_t share_of_open_files(std::uint64_t most) {
  constexpr std::uint64_t least = own_open_files + 16;
  if (most >= least) return (most - own_open_files) / 2;
  throw std::runtime_error("this process may open " + std::to_string(most) + " files, but needs at least " +
                           std::to_string(least) + "; raise the limit with ulimit -n");
}

}  // namespace edge_cloud
