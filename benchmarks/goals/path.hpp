// SPDX-License-Identifier: Apache-2.0
//! Defines one path, which is timed next to a plain sum of the same rows, and helpers for paths.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_PATH_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_PATH_HPP

#include "floors.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace bench_goals {

//! `call` works on one row.
struct path {
  std::string name;
  std::function<void(std::span<const float>)> call;
  int rows = 1;  // the call does its work once per this many calls
};

//! Returns memory for a row, aligned to 64 bytes. A vector begins 16 bytes after such an address, so wide stores would
//! cross lines.
inline std::shared_ptr<float> row_to_write(std::size_t size) {
  const std::size_t bytes = (size * sizeof(float) + 63) / 64 * 64;
  return {static_cast<float*>(std::aligned_alloc(64, bytes)), [](float* memory) { std::free(memory); }};
}

inline void must(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

}  // namespace bench_goals

#endif
