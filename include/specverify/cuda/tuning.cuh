// SPDX-License-Identifier: Apache-2.0
//! Defines parameters that control how work is divided among the multiprocessors of a GPU, one struct per compute
//! capability. They do not change results, except for the last bits of `log_sum_exp` without `exact`.
//!
//! Use `exec::cuda{stream, tuning_for(90)}` if you know the GPU; the default works on every GPU. If you use only a part
//! of a GPU, set `multiprocessors` to that part's number of multiprocessors.
//! Guarantees: constexpr, C++17; does not call the CUDA driver.
//! See:        docs/algorithms/cuda.md, tests/device/split_test.cpp
#ifndef SPECVERIFY_CUDA_TUNING_CUH
#define SPECVERIFY_CUDA_TUNING_CUH

#include <specverify/config.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

struct cuda_tuning {
  std::uint32_t capability = 80;        //!< 10 * major + minor
  std::uint32_t multiprocessors = 108;  //!< multiprocessors of the GPU
  std::uint32_t digest_blocks = 2;      //!< thread blocks of a digest that one multiprocessor runs at once
  std::uint32_t least_part = 4;         //!< minimum blocks of 1024 ids in a part of a row
  std::uint32_t digest_threads = 256;   //!< maximum threads in a thread block of a digest: whole warps, 32 to 256
  //! `verify_batch` reads all rows first if rounds * split_rounds is at most the multiprocessors (and the workspace can
  //! hold one digest per row). 0: never
  std::uint32_t split_rounds = 1;
};

//! The numbers of multiprocessors are from the data sheets of A100, RTX 3090, Jetson Orin, RTX 4090, H100, B200 and RTX
//! 5090. The other numbers were chosen by measurements on an H200; no other GPU was measured.
inline constexpr cuda_tuning cuda_tunings[] = {{80, 108}, {86, 82},   {87, 16},  {89, 128},
                                               {90, 132}, {100, 148}, {120, 170}};

//! Returns the tuning of the largest listed capability that is at most the given one, or of the first listed capability
//! if there is none.
[[nodiscard]] SPECVERIFY_INLINE constexpr cuda_tuning tuning_for(std::uint32_t capability) noexcept {
  cuda_tuning found = cuda_tunings[0];
  for (const cuda_tuning& one : cuda_tunings) {
    if (one.capability <= capability) found = one;
  }
  return found;
}

SPECVERIFY_TYPES_END

#endif
