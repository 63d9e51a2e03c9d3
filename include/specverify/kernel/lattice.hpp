// SPDX-License-Identifier: Apache-2.0
//! The steps of the nearest lattice point: the scalar ones, and the vector ones where the build has them.
#ifndef SPECVERIFY_KERNEL_LATTICE_HPP
#define SPECVERIFY_KERNEL_LATTICE_HPP

#include <specverify/kernel/scalar/lattice.hpp>
#if SPECVERIFY_WITH_SIMD
#include <specverify/kernel/simd/lattice.hpp>
#endif

#endif
