// SPDX-License-Identifier: Apache-2.0
//! Limits the open files and sockets of this process, and divides them between connections and sessions.
#ifndef EDGE_CLOUD_SERVE_OPEN_FILES_HPP
#define EDGE_CLOUD_SERVE_OPEN_FILES_HPP

#include <cstdint>

namespace edge_cloud {

inline constexpr std::uint64_t own_open_files = 48;  //!< for the server itself: listening socket, log, temporary files

//! Raises the soft limit of open files to the hard limit, and returns it.
[[nodiscard]] std::uint64_t raised_open_files();

//! Returns the maximum number of connections, which is also the maximum number of sessions, for this many open files.
//! Connections cannot use up the share of the sessions, and vice versa. Throws std::runtime_error if there are too few
//! to serve anyone.
[[nodiscard]] std::uint64_t share_of_open_files(std::uint64_t most);

}  // namespace edge_cloud

#endif
