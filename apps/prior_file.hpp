// SPDX-License-Identifier: Apache-2.0
//! Reads the file of a table of id weights (codec/prior_table.hpp) for the programs.
#ifndef SPECVERIFY_APPS_PRIOR_FILE_HPP
#define SPECVERIFY_APPS_PRIOR_FILE_HPP

#include <specverify/codec/prior_table.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace programs {

//! Returns the table in the bytes of a file. Throws std::runtime_error with `name` and the library's error if the table
//! is damaged or belongs to another vocabulary.
[[nodiscard]] inline specverify::prior_table read_prior(std::span<const std::byte> bytes, std::uint32_t vocab_size,
                                                        const std::string& name) {
  auto read = specverify::prior_table::read(bytes, vocab_size);
  if (!read) throw std::runtime_error(name + ": " + read.error().text().c_str());
  return std::move(*read);
}

//! Returns the table in a file. Throws as above, and if the file is missing or empty.
[[nodiscard]] inline specverify::prior_table read_prior_file(const std::filesystem::path& file,
                                                             std::uint32_t vocab_size) {
  std::string bytes;
  std::error_code ignored;
  std::ifstream in(file, std::ios::binary);
  // a folder can be opened, but a stream throws when it reads from one
  if (!std::filesystem::is_directory(file, ignored)) bytes.assign(std::istreambuf_iterator<char>(in), {});
  if (!in || bytes.empty()) throw std::runtime_error("cannot read " + file.string());
  return read_prior(std::as_bytes(std::span(bytes)), vocab_size, file.string());
}

}  // namespace programs

#endif
