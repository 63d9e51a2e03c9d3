// SPDX-License-Identifier: Apache-2.0
// Code that must not compile: headers after macros of other libraries, and kernels without nvcc.

// === foreign_macros
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

// === kernels_without_nvcc
//! A compiler without CUDA gets one plain sentence, and not an error for each line of a kernel.
// expect: are kernels: compile this file with nvcc
#include <specverify/cuda/tuning.cuh>
#ifdef SPECVERIFY_MUST_FAIL
#include <specverify/cuda/verify.cuh>
#endif

bool known(std::uint32_t capability) { return specverify::tuning_for(capability).capability == capability; }
