// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a file of recorded rows (rows-1). The result must be one of the named defects, or rows that can
// all be read.
#ifndef SPECVERIFY_TESTS_FUZZ_ROWS_FILE_BODY_HPP
#define SPECVERIFY_TESTS_FUZZ_ROWS_FILE_BODY_HPP

#include "../../apps/rows/rows_reader.hpp"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

namespace specverify_fuzz {

//! Returns true if the bytes are a file of rows.
inline bool rows_file_input(std::span<const std::byte> bytes) {
  const int held = ::memfd_create("rows", 0);  // a file without a place on a disk
  if (held < 0 || ::write(held, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  std::optional<recorded::rows_file> rows;
  try {
    rows.emplace("/proc/self/fd/" + std::to_string(held));
  } catch (const recorded::bad_rows&) {
  }
  ::close(held);
  if (!rows) return false;
  if (rows->size() == 0 || rows->vocab_size() == 0 || rows->tokens().size() != rows->size()) std::abort();
  for (const std::int32_t token : rows->tokens())
    if (token < 0 || static_cast<std::uint32_t>(token) >= rows->vocab_size()) std::abort();
  if (rows->vocab_size() > 4096) return true;  // a row that is cut to the top ids takes few bytes, whatever V is
  std::vector<float> row(rows->vocab_size());
  for (std::size_t i = 0; i < rows->size(); ++i) {
    for (const recorded::side which : recorded::both_sides) {
      try {
        rows->logits(which, i, row);
      } catch (const recorded::bad_rows&) {
        continue;
      }
      for (const float value : row)
        if (std::isnan(value)) std::abort();
    }
    for (const char* name : {"hidden_p", "hidden_q", "attention"}) {
      double sum = 0;
      if (rows->has(name))
        for (const float value : rows->floats(name, i)) sum += static_cast<double>(value);
      static_cast<void>(sum);
    }
  }
  return true;
}

}  // namespace specverify_fuzz

#endif
