// SPDX-License-Identifier: Apache-2.0
//! Includes the products of matrix rows and input vectors, summed in lanes: the scalar version, and the vector version
//! if the build has it.
#ifndef SPECVERIFY_KERNEL_LANE_DOTS_HPP
#define SPECVERIFY_KERNEL_LANE_DOTS_HPP

#include <specverify/kernel/scalar/lane_dots.hpp>
#if SPECVERIFY_WITH_SIMD
#include <specverify/kernel/simd/lane_dots.hpp>
#endif

#endif
