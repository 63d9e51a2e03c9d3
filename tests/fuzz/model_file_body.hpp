// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a safetensors file of the bundled models. The result must be an error with words, or tensors that
// fill the file.
#ifndef SPECVERIFY_TESTS_FUZZ_MODEL_FILE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_MODEL_FILE_BODY_HPP

#include <cstdlib>
#include <vector>

#include "../../models/tinylm/safetensors.cpp"  // nothing else of the models is needed

namespace specverify_fuzz {

//! Returns true if the bytes are a file of tensors.
inline bool model_file_input(std::span<const std::byte> bytes) {
  std::vector<std::uint8_t> exact(bytes.size());  // ends at the end of an allocation
  for (std::size_t i = 0; i < bytes.size(); ++i) exact[i] = static_cast<std::uint8_t>(bytes[i]);
  const auto read = tinylm::parse_safetensors(exact);
  if (read.ok() == !read.error.empty()) std::abort();
  if (!read.ok()) return false;
  for (const auto& [name, tensor] : read->tensors) {
    std::size_t count = 1;
    for (const std::size_t extent : tensor.shape) count *= extent;
    if (count != tensor.values.size() || count == 0 || count > exact.size()) std::abort();
  }
  exact.push_back(0);
  if (tinylm::parse_safetensors(exact).ok()) std::abort();
  return true;
}

}  // namespace specverify_fuzz

#endif
