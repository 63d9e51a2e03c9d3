// SPDX-License-Identifier: Apache-2.0
//! Execution policies: the first argument of every vocabulary-wide operation.
//!
//! `exec::seq` runs the scalar reference, `exec::simd` the vector kernels of this translation unit's instruction set
//! (`exec::simd_on<Level>`, a type of its own per level, so that mixed builds never share a template instance).
//! A kernel without a vector version falls back to the scalar one: `simd_on` derives from `seq`.
//! See: docs/algorithms/execution.md, tests/unit/core/execution_test.cpp
#ifndef SPECVERIFY_CORE_EXECUTION_HPP
#define SPECVERIFY_CORE_EXECUTION_HPP

#include <specverify/config.hpp>

#include <type_traits>

SPECVERIFY_NAMESPACE_BEGIN

//! Names the instruction set of this translation unit; a distinct type for each set of compiler flags.
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
//! A policy that runs on the host.
template <class Policy>
concept execution_policy = std::is_base_of_v<exec::seq_policy, Policy>;
#endif  // C++20: kernels that a CUDA unit includes name policies, and no concept

SPECVERIFY_NAMESPACE_END

#endif
