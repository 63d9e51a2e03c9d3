// SPDX-License-Identifier: Apache-2.0
// Declares the table of the functions that are built once per instruction-set level (docs/algorithms/level.md). These
// functions have the types of the C headers, which are the same at every level.
#ifndef SPECVERIFY_SRC_C_LEVELS_HPP
#define SPECVERIFY_SRC_C_LEVELS_HPP

#include "memory.hpp"

#include <specverify_c.h>
#include <specverify_c_core.h>
#include <specverify/core/level.hpp>

namespace specverify_c {

#define SPECVERIFY_C_CALL(count, name) decltype(specverify_##name) name;
#include "functions.def"

struct level_calls {
#define SPECVERIFY_C_CALL(count, name) decltype(&specverify_##name) name;
#include "functions.def"
};

}  // namespace specverify_c

#endif
