// SPDX-License-Identifier: Apache-2.0
//! What the functions of a batch write for each row, in device memory: tokens, tests, supports, laws.
//!
//! Guarantees: plain structs, C++17; each says in `why` whether the rest means anything. The results are functions of
//!             their row alone: neither its place in the batch nor its neighbours matter.
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
  bool near_tie = false;  //!< the runner-up is within 2^-20 of the larger of both magnitudes
  double margin = 0;      //!< largest minus second largest logit; +infinity when no other id is allowed
};

//! Limits of a draw.
struct device_draw {
  std::uint32_t trial_cap = 32;  //!< envelope trials before the exact rule; 0: the exact rule at once
};

//! A token drawn for a row: by `sample` (row/sample.hpp) or by `residual` (row/residual.hpp).
struct device_token {
  status why{};  //!< that of the row's digest, or of the draw
  token_id token = no_token;
  std::uint32_t trials = 0;  //!< envelope trials made
  bool exact = false;        //!< the exact rule gave the token
  bool fallback = false;     //!< of a residual: it had no mass, the token comes from p
};

//! An accept test (row/acceptance.hpp).
struct device_acceptance {
  status why{};  //!< that of the row's digest; token_out_of_range, invalid_resolution
  bool accepted = false;
  bool near_tie = false;  //!< both sides of the test agree to 2^-20: another backend may decide otherwise
  bool exact = false;     //!< the bracket of the digest did not decide, more of Z was computed
};

//! A number of a row: its log-sum-exp, for one.
struct device_value {
  status why{};
  double value = 0;
};

//! The sum W of a row's integer weights.
struct device_total {
  status why{};
  std::uint64_t total_weight = 0;
};

//! Where the integer weights of a batch go: row r has `pitch` places from r * pitch on.
struct device_weights {
  device_total* rows = nullptr;     //!< one a row
  std::uint32_t* values = nullptr;  //!< one an id; a row in error writes none
  std::size_t pitch = 0;
};

//! Where the laws of a batch go as floats: row r has `pitch` places from r * pitch on.
struct device_probabilities {
  status* rows = nullptr;   //!< one a row
  float* values = nullptr;  //!< one an id; a row in error writes none
  std::size_t pitch = 0;
};

//! Which entries of a row were selected.
struct device_support {
  status why{};                    //!< that of the row's digest; support_too_large (`where` = entries)
  std::uint32_t size = 0;          //!< how many
  bool complete = false;           //!< every id of positive weight is among them
  std::uint64_t total_weight = 0;  //!< W of the row, or 0: not asked for
};

//! Where the supports of a batch go: row r has `pitch` places from r * pitch on.
struct device_supports {
  device_support* rows = nullptr;    //!< one a row
  token_id* ids = nullptr;           //!< ascending
  std::uint32_t* weights = nullptr;  //!< integer weights, positive
  std::size_t pitch = 0;
};

//! A law that was made of a row: ids with counts (distribution/law.hpp).
struct device_law {
  status why{};
  std::uint32_t size = 0;        //!< listed ids
  std::uint32_t resolution = 0;  //!< the sum of all counts
};

//! How often draws at random temperatures gave another token (uncertainty/temperature_perturbation.hpp).
struct device_disagreement {
  status why{};                     //!< that of the row's digest; token_out_of_range
  std::uint32_t disagreements = 0;  //!< draws that gave another token
  std::uint32_t samples = 0;        //!< M
  std::uint32_t reads = 0;          //!< of the row, that were needed to decide
};

//! Where the laws of a batch go: row r has `pitch` places from r * pitch on.
struct device_laws {
  device_law* rows = nullptr;       //!< one a row
  token_id* ids = nullptr;          //!< ascending
  std::uint32_t* counts = nullptr;  //!< positive
  std::size_t pitch = 0;
};

SPECVERIFY_TYPES_END

#endif
