// SPDX-License-Identifier: Apache-2.0
//! What kernels read and write: a batch of rows of logits, their transform, their digests; all in device memory.
//!
//! Use it to hand an engine's logits to cuda/digest.cuh, cuda/sample.cuh, cuda/select.cuh and cuda/argmax.cuh, which
//! leave tokens and statuses on the device.
//! Symbols:    as in row/digest.hpp. Row r begins at data + r * pitch.
//! Guarantees: plain structs, C++17, no default that reads memory. Every pointer is to device memory, and the host
//!             never follows one. Functions that enqueue kernels neither allocate nor synchronise nor copy back; all
//!             they do goes to `stream`, so that a graph can capture them.
//! Deviates:   rows of logits only; one temperature for all rows or one a row; no truncation, which `select_rows` and
//!             a law of its ids replace. Unlike the host's readings, biases and masks are not checked: their owner is
//!             the engine's own kernel.
//! See:        docs/algorithms/cuda.md, tests/device/digest_test.cpp
#ifndef SPECVERIFY_CUDA_ROWS_CUH
#define SPECVERIFY_CUDA_ROWS_CUH

#include <specverify/core/random.hpp>
#include <specverify/core/status.hpp>
#include <specverify/core/views.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

SPECVERIFY_TYPES_BEGIN
namespace cuda {

//! Rows of logits: float, float16_bits or bfloat16_bits.
template <class Scalar>
struct logit_rows {
  static_assert(is_row_scalar<Scalar> && !std::is_same_v<Scalar, double>, "rows hold float or 16-bit logits");
  const Scalar* data = nullptr;
  std::size_t pitch = 0;    //!< entries from one row to the next, at least `size`
  std::uint32_t count = 0;  //!< rows
  std::uint32_t size = 0;   //!< ids of a row, 1 .. max_vocab_size; padding behind them is never read
};

//! What stands between logits and law. One for all rows, or one a row.
struct batch_transform {
  double temperature = 1;                     //!< of all rows; below 1e-6: one-hot at the argmax
  const double* temperatures = nullptr;       //!< or one a row
  const std::uint64_t* mask_words = nullptr;  //!< bit v of word v / 64: v is allowed. Null: all are
  std::size_t mask_pitch = 0;                 //!< words from one row's mask to the next; 0: one mask for all
  const std::uint32_t* bias_begin = nullptr;  //!< count + 1 offsets into the two below; null: no bias
  const token_id* bias_ids = nullptr;         //!< of a row: strictly ascending
  const float* bias_values = nullptr;
};

//! What one read of a row found. Meaningful where `why` is ok.
struct batch_digest {
  status why{};                //!< row_has_nan, row_has_positive_infinity (`where` = least id), row_is_empty,
                               //!< invalid_temperature; under part::row
  token_id argmax = no_token;  //!< ties to the smaller id
  float maximum = 0;           //!< the logit of argmax, after bias and mask
  float reference = 0;         //!< of the exponents
  bool one_hot = false;        //!< the temperature was below 1e-6
  double temperature = 1;
  double coarse_total = 0;  //!< sum of the block sums, in their order
  double lower = 0;         //!< lower <= Z
  double upper = 0;         //!< Z <= upper
};

//! Digests of a batch and their arrays.
struct digest_batch {
  batch_digest* digests = nullptr;  //!< one a row
  double* block_sums = nullptr;     //!< one for 1024 ids
  float* lane_sums = nullptr;       //!< 16 for 1024 ids
  float* lane_maxima = nullptr;     //!< 16 for 1024 ids: the largest logit of each lane
  std::uint32_t count = 0;          //!< rows
  std::uint32_t blocks = 0;         //!< of 1024 ids in a row
};

//! Where random numbers of a batch stand. All three are read on the device, when the kernel runs.
struct batch_uniforms {
  const philox_key* keys = nullptr;
  std::uint32_t key_pitch = 0;               //!< 1: a key a row; 0: one for all
  const std::uint32_t* positions = nullptr;  //!< one a row
  const std::uint32_t* rounds = nullptr;     //!< one a row
  purpose use = purpose::draft_draw;
  std::uint32_t lane = 0;  //!< of trial 0
};

}  // namespace cuda
SPECVERIFY_TYPES_END

#endif
