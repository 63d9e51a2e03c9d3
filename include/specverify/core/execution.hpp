// SPDX-License-Identifier: Apache-2.0
//! Defines execution policies, which select the implementation (scalar or vector) of an operation on a whole row. The
//! policy is the first argument of each such operation.
//!
//! `exec::seq` runs the scalar reference code, and `exec::simd` runs the vector kernels for the instruction set of this
//! translation unit. Each set of compiler flags has its own type of `exec::simd`, so translation units with different
//! flags never share a template instance. Because this type derives from the type of `exec::seq`, a kernel without a
//! vector version falls back to the scalar version.
//! See: docs/algorithms/execution.md, tests/unit/core/execution_test.cpp
#ifndef SPECVERIFY_CORE_EXECUTION_HPP
#define SPECVERIFY_CORE_EXECUTION_HPP

#include <specverify/config.hpp>

#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! Stands for the instruction set of this translation unit: a different type for each set of compiler flags.
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
#endif  // C++20; kernels in CUDA translation units of C++17 name policies, but cannot use the concept

SPECVERIFY_NAMESPACE_END

#endif
