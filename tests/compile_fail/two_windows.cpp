// SPDX-License-Identifier: Apache-2.0
//! Two windows for one edge.
// expect-first: make_edge takes one window
#include <specverify/session/edge.hpp>

namespace sv = specverify;

#ifdef SPECVERIFY_MUST_FAIL
using second = sv::fixed_window;
#else
using second = sv::top_k;
#endif

bool made() { return sv::make_edge(sv::edge_options{}, sv::fixed_window{}, second{}).ok(); }
