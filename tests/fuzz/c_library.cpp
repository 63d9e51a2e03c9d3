// SPDX-License-Identifier: Apache-2.0
// The C library in the unit that includes this source before any header of the library: its sessions have an allocator
// of their own, and so bodies that specverify::compiled does not have.
#undef SPECVERIFY_COMPILED
#define SPECVERIFY_THIS_LEVEL baseline
#include "../../src/c/cloud.cpp"
#include "../../src/c/common.cpp"
#include "../../src/c/core.cpp"
#include "../../src/c/core_rows.cpp"
#include "../../src/c/dispatch.cpp"
#include "../../src/c/edge.cpp"
#include "../../src/c/pair.cpp"
