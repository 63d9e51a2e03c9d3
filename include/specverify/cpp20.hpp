// SPDX-License-Identifier: Apache-2.0
//! Says what is missing, instead of a page of errors, when a header with concepts or spans is compiled as older C++.
//! Without it, and good for C++17, are the headers that CUDA kernels include: core/random, core/status, core/views,
//! core/execution, row/transform, row/acceptance, row/residual, verify/verdict, distribution/law, kernel/, cuda/,
//! device/batch, device/results and device/rounds.
#ifndef SPECVERIFY_CPP20_HPP
#define SPECVERIFY_CPP20_HPP

#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "specverify needs C++20: compile with -std=c++20"
#endif

#endif
