// SPDX-License-Identifier: Apache-2.0
//! Reports one clear error if a header that needs C++20 (concepts, spans) is compiled as older C++. Headers that CUDA
//! kernels include, for example core/random.hpp, row/transform.hpp, distribution/law.hpp and the headers of kernel/,
//! must also compile as C++17, so they do not include this file.
#ifndef SPECVERIFY_CPP20_HPP
#define SPECVERIFY_CPP20_HPP

#if __cplusplus < 202002L && (!defined(_MSVC_LANG) || _MSVC_LANG < 202002L)
#error "specverify needs C++20: compile with -std=c++20"
#endif

#endif
