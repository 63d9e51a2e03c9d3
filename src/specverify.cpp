// SPDX-License-Identifier: Apache-2.0
// The compiled library: what SPECVERIFY_COMPILED leaves out of other units. Link it to units with the same flags; others
// find no symbols (the inline namespace names the instruction set and the arithmetic).
#ifndef SPECVERIFY_COMPILED
#define SPECVERIFY_COMPILED
#endif
#include <specverify/session/cloud.hpp>
#include <specverify/session/detail/cloud_answers.hpp>
#include <specverify/session/detail/cloud_extras.hpp>
#include <specverify/session/detail/cloud_link.hpp>
#include <specverify/session/detail/cloud_round.hpp>
#include <specverify/session/detail/cloud_start.hpp>
#include <specverify/session/detail/context_bodies.hpp>
#include <specverify/session/detail/edge_ahead.hpp>
#include <specverify/session/detail/edge_answers.hpp>
#include <specverify/session/detail/edge_link.hpp>
#include <specverify/session/detail/edge_round.hpp>
#include <specverify/session/detail/edge_start.hpp>
#include <specverify/session/edge.hpp>
