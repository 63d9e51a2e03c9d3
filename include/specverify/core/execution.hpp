// SPDX-License-Identifier: Apache-2.0
//! Defines execution policies. A policy is the first argument of each operation on a row and selects the
//! implementation.
//!
//! `exec::seq` runs the scalar reference code. `exec::simd` runs the vector kernels for the instruction set of this
//! translation unit; a kernel without a vector version runs the scalar code. Translation units with different compiler
//! flags have different types of `exec::simd`, so they never share a template instance.
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
