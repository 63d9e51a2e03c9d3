// SPDX-License-Identifier: Apache-2.0
//! Includes the kernels that multiply matrix rows by input vectors and sum in lanes: the scalar kernel, and the vector
//! kernel if the build has it.
#ifndef SPECVERIFY_KERNEL_LANE_DOTS_HPP
#define SPECVERIFY_KERNEL_LANE_DOTS_HPP

#include <specverify/kernel/scalar/lane_dots.hpp>
#if SPECVERIFY_WITH_SIMD
#include <specverify/kernel/simd/lane_dots.hpp>
#endif

#endif
