// SPDX-License-Identifier: Apache-2.0
// Compiles the C library in this unit; include it before any header of the library. The sessions have an allocator of
// their own, so specverify::compiled does not have these bodies.
#undef SPECVERIFY_COMPILED
#define SPECVERIFY_THIS_LEVEL baseline
#include "../../src/c/cloud.cpp"
#include "../../src/c/common.cpp"
#include "../../src/c/core.cpp"
#include "../../src/c/core_rows.cpp"
#include "../../src/c/dispatch.cpp"
#include "../../src/c/edge.cpp"
#include "../../src/c/pair.cpp"
