// SPDX-License-Identifier: Apache-2.0
//! Every check on one batch. A new kernel brings its function and its line to this table and below:
//!
//!   cuda/                             compared with exec::seq by             how
//!   digest: read_rows                 check_digests, compare_kept            bits; truncated rows as well
//!   digest: read_rows, Z and W        check_totals                           bits
//!   argmax                            check_argmax                           bits
//!   sample                            check_draws                            token, trials, rule; near ties counted
//!   select                            check_selections                       ids and weights
//!   log_sum_exp, float and exact      check_numbers                          2e-6; bits
//!   softmax, integer_weights          check_numbers                          bits
//!   threshold: select_above           check_thresholds                       ids and weights
//!   lattice: quantize of a batch      check_laws                             ids and counts
//!   lattice: quantize of supports     check_sparse_laws                      ids and counts
//!   fp16_counts                       check_fp16_laws                        ids and counts
//!   temperature_perturbation          check_perturbations                    counts; near ties counted
//!   accept                            check_accepts                          answers; near ties counted
//!   residual                          check_residuals                        token, trials, rule; near ties counted
//!   verify: both rules                check_rounds                           verdicts, counters, row states
//!   blocks: read_rows_from_blocks     check_claims                           bits
//!   blocks: sample of claims          check_claims                           token, trials, rule
//!   all that need a whole row         check_insufficient                     digest_insufficient of claims
//!   kept_capacity                     check_capacity                         support_too_large
//!   known_answers                     check_known_answers                    known_answers.hpp
//!   streams and graphs                check_replay, check_two_streams        steps.hpp
#ifndef SPECVERIFY_TESTS_GPU_BATCH_CHECKS_HPP
#define SPECVERIFY_TESTS_GPU_BATCH_CHECKS_HPP

#include <gpu/checks.hpp>
#include <gpu/claim_checks.hpp>
#include <gpu/law_checks.hpp>
#include <gpu/round_checks.hpp>
#include <gpu/row_checks.hpp>

namespace gpu_tests {

//! What reads of rows find: digests, which come back, draws, supports, laws.
template <class Scalar>
copied_digests<Scalar> check_reads(scene& where, const batch<Scalar>& rows, report& found) {
  const shape& how = rows.how;
  const copied_digests<Scalar> digests = check_digests(rows, found["read_rows"]);
  check_totals(rows, found["Z and W"]);
  check_argmax(where, rows, found["argmax"]);
  check_draws(where, rows, digests, how.seed % 8 == 0 ? 1 : 32, found["sample"]);
  const std::uint32_t some[] = {16, 64, 1, 256, 200, 2048, 33, 500};
  check_selections(where, rows, some[how.seed % 8], found["select"]);
  check_numbers(where, rows, found["whole rows"]);
  check_thresholds(where, rows, how.seed % 2 == 0 ? 0.01 : 1e-4, found["threshold"]);
  check_laws(where, rows, how.seed % 3 == 0 ? 1000 : 100, found["lattice"]);
  check_fp16_laws(where, rows, found["fp16 law"]);
  check_sparse_laws(where, rows, 1 + static_cast<std::uint32_t>(how.seed % 64), 100, found["sparse lattice"]);
  if (how.truncates) check_capacity(where, rows, digests, 40, found["capacity"]);
  return digests;
}

//! What is decided of a row with random numbers and drafts, and engines' claims.
template <class Scalar>
void check_decisions(scene& where, const batch<Scalar>& rows, const copied_digests<Scalar>& digests, report& found) {
  check_perturbations(where, rows, found["perturbation"]);
  check_accepts(where, rows, digests, found["accept"]);
  check_residuals(where, rows, digests, found["residual"]);
  check_claims(where, rows, found["claims"], found["claims insufficient"]);
}

}  // namespace gpu_tests

#endif
