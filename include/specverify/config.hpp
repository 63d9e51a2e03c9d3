// SPDX-License-Identifier: Apache-2.0
//! Defines the configuration macros of the library: namespaces, the assertion hook, and switches for SIMD and memory.
//!
//! Every function is in an inline namespace whose name contains the instruction set, the SIMD back end and the
//! floating-point mode. Therefore you can link object files that are built with different flags: they never share a
//! function body (one-definition rule). Plain types are in the enclosing namespace `v0`, so these object files can
//! exchange values. Member functions of these types must always be inlined (`SPECVERIFY_INLINE`).
#ifndef SPECVERIFY_CONFIG_HPP
#define SPECVERIFY_CONFIG_HPP

#include <specverify/version.hpp>

#if __cplusplus < 201703L && (!defined(_MSVC_LANG) || _MSVC_LANG < 201703L)
#error "specverify needs C++17 for cuda/ and device/, C++20 for the rest: compile with -std=c++17 or -std=c++20"
#endif

#if defined(__has_include)
#if __has_include(<specverify_user_config.hpp>)
#include <specverify_user_config.hpp>
#endif
#endif

// SPECVERIFY_WITH_XSIMD selects whether kernel/simd/pack.hpp uses xsimd (1) or never includes it (0). The default is 1
// if the header of xsimd is found and has batches of doubles for the target (x86 with SSE2, 64-bit Arm).
#ifndef SPECVERIFY_WITH_XSIMD
#define SPECVERIFY_WITH_XSIMD 0
#if defined(__has_include) && (defined(__SSE2__) || defined(_M_X64) || defined(__aarch64__) || defined(_M_ARM64))
#if __has_include(<xsimd/xsimd.hpp>)
#undef SPECVERIFY_WITH_XSIMD
#define SPECVERIFY_WITH_XSIMD 1
#endif
#endif
#endif

// SPECVERIFY_WITH_VECTORS selects the vector kernels without xsimd. 1 uses the vector types of g++ and clang; with 0,
// exec::simd runs the scalar kernels. The default is 1 if the compiler has these types and, on x86, the target has
// vector registers for them.
#ifndef SPECVERIFY_WITH_VECTORS
#if defined(__GNUC__) && !defined(__CUDACC__) && (!defined(__i386__) || defined(__SSE2__))
#define SPECVERIFY_WITH_VECTORS 1
#else
#define SPECVERIFY_WITH_VECTORS 0
#endif
#endif

#if SPECVERIFY_WITH_XSIMD || SPECVERIFY_WITH_VECTORS
#define SPECVERIFY_WITH_SIMD 1
#else
#define SPECVERIFY_WITH_SIMD 0
#endif

// SPECVERIFY_ASSERT(condition, message): checks a precondition that only a programming error can break. You can define
// it yourself. The default checks nothing under NDEBUG.
#ifndef SPECVERIFY_ASSERT
#ifdef NDEBUG
#define SPECVERIFY_ASSERT(condition, message) ((void)0)
#else
#include <cassert>
#define SPECVERIFY_ASSERT(condition, message) assert((condition) && (message))
#endif
#endif

#if defined(__CUDACC__)
#define SPECVERIFY_HD __host__ __device__
#else
#define SPECVERIFY_HD
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define SPECVERIFY_INLINE __forceinline
#else
#define SPECVERIFY_INLINE inline __attribute__((always_inline))
#endif

// Marks a condition that is nearly always true, so that compilers move the other branch out of line. This is useful
// because a pass of the engine evicts the session's code from the cache, and straight-line code can be prefetched.
#if defined(__GNUC__) || defined(__clang__)
#define SPECVERIFY_LIKELY(condition) static_cast<bool>(__builtin_expect(static_cast<bool>(condition), 1))
#else
#define SPECVERIFY_LIKELY(condition) (condition)
#endif

// Name of the instruction set level that this translation unit is compiled for.
#if defined(__CUDA_ARCH__)
#define SPECVERIFY_ISA_LEVEL cuda
#elif defined(__AVX512IFMA__) && defined(__AVX512VBMI2__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
#define SPECVERIFY_ISA_LEVEL avx512ifma
#elif defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SPECVERIFY_ISA_LEVEL avx512
#elif defined(__AVX512F__) && defined(__AVX512BW__)
#define SPECVERIFY_ISA_LEVEL avx512fbw
#elif defined(__AVX512F__) && defined(__AVX512DQ__)
#define SPECVERIFY_ISA_LEVEL avx512fdq
#elif defined(__AVX512F__) && defined(__AVX512ER__)
#define SPECVERIFY_ISA_LEVEL avx512fer
#elif defined(__AVX512F__)
#define SPECVERIFY_ISA_LEVEL avx512f
#elif defined(__AVX2__) && defined(__FMA__)
#define SPECVERIFY_ISA_LEVEL avx2fma
#elif defined(__AVX2__)
#define SPECVERIFY_ISA_LEVEL avx2
#elif defined(__AVX__) && defined(__FMA__)
#define SPECVERIFY_ISA_LEVEL avxfma
#elif defined(__AVX__)
#define SPECVERIFY_ISA_LEVEL avx
#elif defined(__SSE4_2__)
#define SPECVERIFY_ISA_LEVEL sse42
#elif defined(__SSE4_1__)
#define SPECVERIFY_ISA_LEVEL sse41
#elif defined(__SSSE3__)
#define SPECVERIFY_ISA_LEVEL ssse3
#elif defined(__SSE3__)
#define SPECVERIFY_ISA_LEVEL sse3
#elif defined(__SSE2__) || defined(_M_X64)
#define SPECVERIFY_ISA_LEVEL x86
#elif defined(__ARM_FEATURE_SVE)
#define SPECVERIFY_ISA_LEVEL sve
#elif defined(__ARM_NEON) || defined(_M_ARM64)
#define SPECVERIFY_ISA_LEVEL neon
#elif defined(__riscv_vector)
#define SPECVERIFY_ISA_LEVEL rvv
#else
#define SPECVERIFY_ISA_LEVEL generic
#endif

#if SPECVERIFY_WITH_XSIMD
#define SPECVERIFY_ISA_SIMD xsimd
#elif SPECVERIFY_WITH_VECTORS
#define SPECVERIFY_ISA_SIMD vectors
#else
#define SPECVERIFY_ISA_SIMD plain
#endif

#if defined(__FAST_MATH__)
#define SPECVERIFY_ISA_MATH fast
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0
#define SPECVERIFY_ISA_MATH finite
#else
#define SPECVERIFY_ISA_MATH ieee
#endif

// SPECVERIFY_ALLOCATOR is the allocator for memory that blocks and sessions own: a default-constructible class
// template, std::allocator by default. Because another allocator changes the layout of these classes, they get a
// separate namespace, whose name ends with SPECVERIFY_ALLOCATOR_NAME. This word must be different for each allocator in
// a program. The C library uses `c`.
#ifndef SPECVERIFY_ALLOCATOR
#define SPECVERIFY_ALLOCATOR std::allocator
#define SPECVERIFY_ISA_MEMORY
#elif !defined(SPECVERIFY_ALLOCATOR_NAME)
#error "SPECVERIFY_ALLOCATOR needs SPECVERIFY_ALLOCATOR_NAME: a word that no other allocator of the program has"
#else
#define SPECVERIFY_ISA_OWN_EXPANDED(name) _##name
#define SPECVERIFY_ISA_OWN(name) SPECVERIFY_ISA_OWN_EXPANDED(name)
#define SPECVERIFY_ISA_MEMORY SPECVERIFY_ISA_OWN(SPECVERIFY_ALLOCATOR_NAME)
#endif

#define SPECVERIFY_ISA_JOIN_EXPANDED(a, b, c, d) isa_##a##_##b##_##c##d
#define SPECVERIFY_ISA_JOIN(a, b, c, d) SPECVERIFY_ISA_JOIN_EXPANDED(a, b, c, d)
#define SPECVERIFY_ISA \
  SPECVERIFY_ISA_JOIN(SPECVERIFY_ISA_LEVEL, SPECVERIFY_ISA_SIMD, SPECVERIFY_ISA_MATH, SPECVERIFY_ISA_MEMORY)

// Encloses types that object files built with different flags can exchange.
#define SPECVERIFY_TYPES_BEGIN \
  namespace specverify {       \
  inline namespace v0 {
#define SPECVERIFY_TYPES_END \
  }                          \
  }

// Encloses functions, and classes with nontrivial member functions.
#define SPECVERIFY_NAMESPACE_BEGIN \
  namespace specverify {           \
  inline namespace v0 {            \
  inline namespace SPECVERIFY_ISA {
#define SPECVERIFY_NAMESPACE_END \
  }                              \
  }                              \
  }

// The compiled library contains the function bodies of sessions. A translation unit with SPECVERIFY_COMPILED omits
// them, except for src/specverify.cpp, which builds the library and defines SPECVERIFY_COMPILED_HERE.
//   SPECVERIFY_BODY      before the definition of a function that the library contains
//   SPECVERIFY_BODIES    1 if this translation unit must define such functions
//   SPECVERIFY_COMPILES  before a class or function template that the library instantiates
#if !defined(SPECVERIFY_COMPILED)
#define SPECVERIFY_BODY inline
#define SPECVERIFY_BODIES 1
#elif defined(SPECVERIFY_COMPILED_HERE)
#define SPECVERIFY_BODY
#define SPECVERIFY_BODIES 1
#define SPECVERIFY_COMPILES template
#else
#define SPECVERIFY_BODY
#define SPECVERIFY_BODIES 0
#define SPECVERIFY_COMPILES extern template
#endif

#endif
