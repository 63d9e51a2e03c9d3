// SPDX-License-Identifier: Apache-2.0
// The compiled library: contains the function bodies that translation units with SPECVERIFY_COMPILED omit. Link it only
// to translation units with the same flags. For other flags the link fails, because the name of the inline namespace
// depends on the instruction set and the floating-point mode.
#ifndef SPECVERIFY_COMPILED
#define SPECVERIFY_COMPILED
#endif
#define SPECVERIFY_COMPILED_HERE
#include <specverify/session/cloud.hpp>
#include <specverify/session/edge.hpp>
#include <specverify/session/systems.hpp>
