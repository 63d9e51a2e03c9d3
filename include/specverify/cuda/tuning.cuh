// SPDX-License-Identifier: Apache-2.0
//! How work is cut for a processor: one aggregate for each compute capability. Results never depend on it.
//!
//! Use `exec::cuda{stream, tuning_for(90)}` where the card is known; the default suits all of them. Where a card has
//! another number of multiprocessors (a part of a card, for one), set `multiprocessors` yourself.
//! Guarantees: constexpr, C++17; nothing here asks the driver.
//! See:        docs/algorithms/cuda.md, tests/device/split_test.cpp
#ifndef SPECVERIFY_CUDA_TUNING_CUH
#define SPECVERIFY_CUDA_TUNING_CUH

#include <specverify/config.hpp>

#include <cstdint>

SPECVERIFY_TYPES_BEGIN

struct cuda_tuning {
  std::uint32_t capability = 80;        //!< 10 * major + minor
  std::uint32_t multiprocessors = 108;  //!< of the largest card of this capability
  std::uint32_t digest_blocks = 2;      //!< thread blocks of a digest that one multiprocessor runs at once
  std::uint32_t least_part = 4;         //!< blocks of 1024 ids in a part of a row, at least
  std::uint32_t digest_threads = 256;   //!< of a thread block of a digest, at most: whole warps, 32 to 256
  //! `verify_batch` reads all rows first where so many times the rounds are at most the multiprocessors (and the
  //! scratch holds a digest a row). 0: never
  std::uint32_t split_rounds = 1;
};

//! From the cards' data sheets: A100, RTX 3090, Jetson Orin, RTX 4090, H100, B200, RTX 5090. The other numbers were
//! chosen on an H200; no other card is measured.
inline constexpr cuda_tuning cuda_tunings[] = {{80, 108}, {86, 82},   {87, 16},  {89, 128},
                                               {90, 132}, {100, 148}, {120, 170}};

//! The tuning of the nearest listed capability that is not above the given one; of the first one below that.
[[nodiscard]] SPECVERIFY_INLINE constexpr cuda_tuning tuning_for(std::uint32_t capability) noexcept {
  cuda_tuning found = cuda_tunings[0];
  for (const cuda_tuning& one : cuda_tunings) {
    if (one.capability <= capability) found = one;
  }
  return found;
}

SPECVERIFY_TYPES_END

#endif
