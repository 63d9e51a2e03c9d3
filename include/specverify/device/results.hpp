// SPDX-License-Identifier: Apache-2.0
//! Defines the results of functions on a batch, one struct per row in device memory: tokens, accept tests, supports,
//! distributions.
//!
//! Guarantees: plain structs, C++17. A result is valid only if its status `why` is ok. It depends only on its row, and
//!             not on the rest of the batch. However, the last bits of `log_sum_exp` (cuda/log_sum_exp.cuh) can depend
//!             on the number of rows.
//! See:        docs/algorithms/cuda.md, tests/device/batch_test.cpp
#ifndef SPECVERIFY_DEVICE_RESULTS_HPP
#define SPECVERIFY_DEVICE_RESULTS_HPP

#include <specverify/core/status.hpp>
#include <specverify/core/views.hpp>

#include <cstddef>
#include <cstdint>

SPECVERIFY_TYPES_BEGIN

//! The greedy token of a row (row/argmax.hpp).
struct device_argmax {
  status why{};  //!< row_has_nan, row_has_positive_infinity (`where` = least id), row_is_empty; under part::row
  token_id token = no_token;
  bool near_tie = false;  //!< the margin is at most 2^-20 times the larger magnitude of the two logits
  double margin = 0;      //!< largest minus second largest logit; +infinity if no other id is allowed
};

//! Limits of a draw.
struct device_draw {
  std::uint32_t trial_cap = 32;  //!< maximum envelope trials before the exact rule; 0: only the exact rule
};

//! A token drawn for a row by `sample` (row/sample.hpp) or `residual` (row/residual.hpp).
struct device_token {
  status why{};  //!< status of the row's digest, or of the draw
  token_id token = no_token;
  std::uint32_t trials = 0;  //!< number of envelope trials
  bool exact = false;        //!< whether the exact rule drew the token
  bool fallback = false;     //!< the token is drawn from p, because the residual had no mass
};

//! An accept test (row/acceptance.hpp).
struct device_acceptance {
  status why{};  //!< status of the row's digest; token_out_of_range, invalid_resolution
  bool accepted = false;
  bool near_tie = false;  //!< backends may disagree, because the sides of the test differ by at most a relative 2^-20
  bool exact = false;     //!< the digest's bounds did not decide, so Z was computed more precisely
};

//! A number per row, for example a log-sum-exp.
struct device_value {
  status why{};
  double value = 0;
};

//! Total weight W of a row.
struct device_total {
  status why{};
  std::uint64_t total_weight = 0;
};

//! Destination of the integer weights of a batch: row r has `pitch` entries starting at r * pitch.
struct device_weights {
  device_total* rows = nullptr;     //!< indexed by row
  std::uint32_t* values = nullptr;  //!< one per id; not written for a row with an error
  std::size_t pitch = 0;
};

//! Destination of the distributions of a batch as floats: row r has `pitch` entries starting at r * pitch.
struct device_probabilities {
  status* rows = nullptr;   //!< indexed by row
  float* values = nullptr;  //!< one per id; not written for a row with an error
  std::size_t pitch = 0;
};

//! Result of a selection from a row.
struct device_support {
  status why{};                    //!< status of the row's digest; support_too_large (`where` = entries)
  std::uint32_t size = 0;          //!< number of selected entries
  bool complete = false;           //!< whether every id of positive weight is selected
  std::uint64_t total_weight = 0;  //!< W of the row, or 0 if not requested
};

//! Destination of the supports of a batch: row r has `pitch` entries starting at r * pitch.
struct device_supports {
  device_support* rows = nullptr;    //!< indexed by row
  token_id* ids = nullptr;           //!< ascending
  std::uint32_t* weights = nullptr;  //!< integer weights, positive
  std::size_t pitch = 0;
};

//! A row's distribution: ids with counts (distribution/law.hpp).
struct device_law {
  status why{};
  std::uint32_t size = 0;        //!< listed ids
  std::uint32_t resolution = 0;  //!< sum of all counts
};

//! Number of draws at random temperatures that gave a different token (uncertainty/temperature_perturbation.hpp).
struct device_disagreement {
  status why{};                     //!< status of the row's digest; token_out_of_range
  std::uint32_t disagreements = 0;  //!< draws that gave a different token
  std::uint32_t samples = 0;        //!< M
  std::uint32_t reads = 0;          //!< reads of the row that the decision needed
};

//! Destination of the distributions of a batch: row r has `pitch` entries starting at r * pitch.
struct device_laws {
  device_law* rows = nullptr;       //!< indexed by row
  token_id* ids = nullptr;          //!< ascending
  std::uint32_t* counts = nullptr;  //!< positive
  std::size_t pitch = 0;
};

SPECVERIFY_TYPES_END

#endif
