// SPDX-License-Identifier: Apache-2.0
//! Behind the macros of other libraries the headers compile, and so does a pair of sessions; the macros stay in force.
// expect: SPECVERIFY_FOREIGN
#include <support/foreign.hpp>
#include <thread>

#include <support/foreign_macros.hpp>

#include <specverify_c.h>
#include <specverify_c_core.h>
#if defined(SPECVERIFY_MUST_FAIL)
#include <specverify/verify/token.hpp>
const bool checked = check(true);
#else
#include <specverify/all.hpp>
#include <specverify/testing/chi_square.hpp>
#include <specverify/testing/enumerate_law.hpp>
#include <specverify/testing/exact_mass.hpp>
#include <specverify/testing/message_pipe.hpp>
#include <specverify/testing/uniform_script.hpp>

#include "host.cpp"
#endif
