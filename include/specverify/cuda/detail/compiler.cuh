// SPDX-License-Identifier: Apache-2.0
//! Includes CUDA's header, or stops with one error message if the compiler cannot compile CUDA kernels.
//!
//! A simulator that replaces CUDA's header must define SPECVERIFY_CUDA_SIMULATOR (tests/device/shim).
#ifndef SPECVERIFY_CUDA_DETAIL_COMPILER_CUH
#define SPECVERIFY_CUDA_DETAIL_COMPILER_CUH

#if defined(__CUDACC__) || defined(__CUDA__) || __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>
#endif

#if !defined(__CUDACC__) && !defined(__CUDA__) && !defined(SPECVERIFY_CUDA_SIMULATOR)
#error "specverify/cuda/*.cuh are kernels: compile this file with nvcc (name it .cu)"
// The compiler stops here, because this file does not exist, instead of at each line of each kernel.
#include <a_compiler_for_CUDA_is_needed>
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "specverify/cuda needs compute capability 8.0: name an architecture (nvcc -arch=sm_80, CUDA_ARCHITECTURES 80)"
#endif

#endif
