// SPDX-License-Identifier: Apache-2.0
//! Includes the steps of the search for the nearest lattice point: the scalar version, and the vector version if the
//! build has it.
#ifndef SPECVERIFY_KERNEL_LATTICE_HPP
#define SPECVERIFY_KERNEL_LATTICE_HPP

#include <specverify/kernel/scalar/lattice.hpp>
#if SPECVERIFY_WITH_SIMD
#include <specverify/kernel/simd/lattice.hpp>
#endif

#endif
