// SPDX-License-Identifier: Apache-2.0
// The compiled library: what SPECVERIFY_COMPILED leaves out of other units. Link it to units with the same flags;
// others find no symbols (the inline namespace names the instruction set and the arithmetic).
#ifndef SPECVERIFY_COMPILED
#define SPECVERIFY_COMPILED
#endif
#define SPECVERIFY_COMPILED_HERE
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/session/systems.hpp>
