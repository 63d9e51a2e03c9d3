// SPDX-License-Identifier: Apache-2.0
//! Computes the disk usage of a file in blocks of 4 KiB.
#ifndef EDGE_CLOUD_SERVE_DISK_BLOCKS_HPP
#define EDGE_CLOUD_SERVE_DISK_BLOCKS_HPP

#include <cstdint>

namespace edge_cloud {

inline constexpr std::uint64_t block_bytes = 4096;  //!< a small folder takes one block

//! Returns the bytes of a file's blocks.
[[nodiscard]] constexpr std::uint64_t in_blocks(std::uint64_t file_bytes) noexcept {
  return (file_bytes + block_bytes - 1) / block_bytes * block_bytes;
}

}  // namespace edge_cloud

#endif
