// SPDX-License-Identifier: Apache-2.0
//! How many files and sockets the system lets this process have at once, and what the server may do with them.
#ifndef EDGE_CLOUD_SERVE_OPEN_FILES_HPP
#define EDGE_CLOUD_SERVE_OPEN_FILES_HPP

#include <cstdint>

namespace edge_cloud {

inline constexpr std::uint64_t own_open_files = 48;  //!< of the server itself: what listens, its log, files of a moment

//! Raises the soft limit of open files to the hard one, and says it.
[[nodiscard]] std::uint64_t raised_open_files();

//! Of so many open files connections get this share at most, and sessions as many: neither takes the other's. Throws
//! std::runtime_error: there are too few to serve anybody.
[[nodiscard]] std::uint64_t share_of_open_files(std::uint64_t most);

}  // namespace edge_cloud

#endif
