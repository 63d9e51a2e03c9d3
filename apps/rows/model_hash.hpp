// SPDX-License-Identifier: Apache-2.0
//! Computes the hash of a model's file, which is stored with recorded rows.
#ifndef SPECVERIFY_APPS_ROWS_MODEL_HASH_HPP
#define SPECVERIFY_APPS_ROWS_MODEL_HASH_HPP

#include "../../models/tinylm/files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <span>
#include <stdexcept>
#include <string>

namespace recorded {

//! Returns the SHA-256 in hexadecimal. The file is mapped, because otherwise the weights would be in memory twice.
inline std::string hash_of(const std::string& file) {
  const int opened = ::open(file.c_str(), O_RDONLY);
  struct stat about {};
  void* mapped = MAP_FAILED;
  if (opened >= 0 && ::fstat(opened, &about) == 0 && about.st_size > 0)
    mapped = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, opened, 0);
  if (opened >= 0) ::close(opened);
  if (mapped == MAP_FAILED) throw std::runtime_error(file + ": cannot be mapped");
  const std::span bytes(static_cast<const std::uint8_t*>(mapped), static_cast<std::size_t>(about.st_size));
  std::string hash = tinylm::hexadecimal(tinylm::sha256(bytes));
  ::munmap(mapped, bytes.size());
  return hash;
}

}  // namespace recorded

#endif
