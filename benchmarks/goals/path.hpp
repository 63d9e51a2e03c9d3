// SPDX-License-Identifier: Apache-2.0
//! One path that is timed next to a plain sum of the same rows, and what paths share.
#ifndef SPECVERIFY_BENCHMARKS_GOALS_PATH_HPP
#define SPECVERIFY_BENCHMARKS_GOALS_PATH_HPP

#include "floors.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>

namespace bench_goals {

//! `call` works on one row.
struct path {
  std::string name;
  std::function<void(std::span<const float>)> call;
};

inline void must(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

}  // namespace bench_goals

#endif
