// SPDX-License-Identifier: Apache-2.0
//! A compiler without CUDA gets one plain sentence, and not an error for each line of a kernel.
// expect: are kernels: compile this file with nvcc
#include <specverify/cuda/tuning.cuh>
#ifdef SPECVERIFY_MUST_FAIL
#include <specverify/cuda/verify.cuh>
#endif

bool known(std::uint32_t capability) { return specverify::tuning_for(capability).capability == capability; }
