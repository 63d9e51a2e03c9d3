// SPDX-License-Identifier: Apache-2.0
//! Includes the kernels of the row module: the scalar kernels, and the vector kernels if the build has them.
#ifndef SPECVERIFY_KERNEL_KERNELS_HPP
#define SPECVERIFY_KERNEL_KERNELS_HPP

#include <specverify/kernel/scalar/argmax.hpp>
#include <specverify/kernel/scalar/digest.hpp>
#include <specverify/kernel/scalar/integer_weights.hpp>
#include <specverify/kernel/scalar/log_sum_exp.hpp>
#include <specverify/kernel/scalar/noise.hpp>
#include <specverify/kernel/scalar/select.hpp>
#include <specverify/kernel/scalar/softmax.hpp>
#include <specverify/kernel/scalar/tempered.hpp>
#if SPECVERIFY_WITH_SIMD
#include <specverify/kernel/simd/argmax.hpp>
#include <specverify/kernel/simd/digest.hpp>
#include <specverify/kernel/simd/integer_weights.hpp>
#include <specverify/kernel/simd/log_sum_exp.hpp>
#include <specverify/kernel/simd/noise.hpp>
#include <specverify/kernel/simd/select.hpp>
#include <specverify/kernel/simd/softmax.hpp>
#include <specverify/kernel/simd/tempered.hpp>
#include <specverify/kernel/simd/tops.hpp>
#endif

#endif
