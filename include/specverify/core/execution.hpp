// SPDX-License-Identifier: Apache-2.0
//! Defines execution policies, which select the implementation (scalar or vector) of an operation on a whole row. The
//! policy is the first argument of each such operation.
//!
//! `exec::seq` runs the scalar reference code, `exec::simd` the vector kernels for the instruction set of this
//! translation unit. `exec::simd` has type `exec::simd_on<Level>`, a different type per level, so that mixed builds
//! never share a template instance. Because `simd_on` derives from `seq`, a kernel without a vector version falls back
//! to the scalar version.
//! See: docs/algorithms/execution.md, tests/unit/core/execution_test.cpp
#ifndef SPECVERIFY_CORE_EXECUTION_HPP
#define SPECVERIFY_CORE_EXECUTION_HPP

#include <specverify/config.hpp>

#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! Names the instruction set of this translation unit. The type differs for each set of compiler flags.
struct isa_tag {};

namespace exec {

struct seq_policy {};

template <class Level>
struct simd_on : seq_policy {};

using simd_policy = simd_on<isa_tag>;

inline constexpr seq_policy seq{};
inline constexpr simd_policy simd{};

}  // namespace exec

#if __cplusplus >= 202002L
//! An execution policy that runs on the CPU.
template <class Policy>
concept execution_policy = std::is_base_of_v<exec::seq_policy, Policy>;
#endif  // C++20: kernels in a CUDA translation unit name policies but cannot use the concept

SPECVERIFY_NAMESPACE_END

#endif
