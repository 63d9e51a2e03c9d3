// SPDX-License-Identifier: Apache-2.0
// The C library in the unit that includes this source before any header of the library: its sessions have an allocator
// of their own, and so bodies that specverify::compiled does not have.
#undef SPECVERIFY_COMPILED
#define SPECVERIFY_THIS_LEVEL baseline
#include "../../src/c/levels.hpp"

SPECVERIFY_LEVEL_TABLES(specverify_c::level_calls, specverify_c_levels);
#undef SPECVERIFY_LEVEL_TABLES  // each source declares the table, and this unit has them all
#define SPECVERIFY_LEVEL_TABLES(type, name) static_assert(true, "a semicolon follows")

#include "../../src/c/cloud.cpp"
#include "../../src/c/common.cpp"
#include "../../src/c/core.cpp"
#include "../../src/c/edge.cpp"
#include "../../src/c/level.cpp"
#include "../../src/c/level_core.cpp"
#include "../../src/c/level_edge.cpp"
#include "../../src/c/options.cpp"
#include "../../src/c/pair.cpp"
