// SPDX-License-Identifier: Apache-2.0
// Every kernel of cuda/ for every type of row, as a unit that nvcc compiles; scripts/nvcc --limits reads what ptxas
// says.
#include <specverify/cuda/accept.cuh>
#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/blocks.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/fp16_counts.cuh>
#include <specverify/cuda/integer_weights.cuh>
#include <specverify/cuda/known_answers.cuh>
#include <specverify/cuda/lattice.cuh>
#include <specverify/cuda/log_sum_exp.cuh>
#include <specverify/cuda/residual.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>
#include <specverify/cuda/softmax.cuh>
#include <specverify/cuda/temperature_perturbation.cuh>
#include <specverify/cuda/threshold.cuh>
#include <specverify/cuda/verify.cuh>
#if __cplusplus >= 202002L  // next to the rest of the library
#include <specverify/specverify.hpp>
#endif

namespace specverify {

#if defined(SPECVERIFY_PLANTED_ARRAY)  // what must be refused: an array outside of registers, a fused sum
__global__ void planted_kernel(const int* in, int* out, float* sums) {
  int local[64] = {};
  for (int i = 0; i < 64; ++i) local[in[i] & 63] += i;
  sums[0] = sums[1] * sums[2] + sums[3];
  out[0] = local[in[64] & 63] + local[in[65] & 63];
}
#elif !defined(SPECVERIFY_HEADERS_ALONE)

template <class Scalar>
status all_of_a_step(const device_batch<Scalar>& batch, const device_uniforms<>& random, device_argmax* best,
                     device_token* tokens, const device_supports& supports) {
  status why = argmax(exec::cuda{}, batch.rows, batch.transform, best);
  if (why.ok()) why = read_rows(exec::cuda{}, batch);
  if (why.ok()) why = sample(exec::cuda{}, batch, random.at(purpose::draft_draw), tokens);
  return why.ok() ? select(exec::cuda{}, batch, 16, supports) : why;
}

template <class Scalar>
status all_laws(const device_batch<Scalar>& batch, const device_supports& kept, const device_laws& laws) {
  const status why = quantize(exec::cuda{}, batch, 100, laws);
  return why.ok() ? quantize(exec::cuda{}, batch.rows.count, kept, 100, laws) : why;
}

// What is said of whole rows.
template <class Scalar>
status all_of_rows(const device_batch<Scalar>& batch, device_value* values, const device_probabilities& laws,
                   const device_weights& weights) {
  const exec::cuda how{};
  status why = read_rows(how, batch, {true, true});
  if (why.ok()) why = log_sum_exp(how, batch.rows, batch.transform, values);
  if (why.ok()) why = log_sum_exp(how, batch.rows, batch.transform, values, {true});
  if (why.ok()) why = softmax(how, batch.rows, batch.transform, laws);
  return why.ok() ? integer_weights(how, batch.rows, batch.transform, weights) : why;
}

// Lists of ids.
template <class Scalar>
status all_lists(const device_batch<Scalar>& batch, const device_laws& laws, const device_supports& supports) {
  const status why = fp16_counts(exec::cuda{}, batch, laws);
  return why.ok() ? select_above(exec::cuda{}, batch, 1e-3, supports) : why;
}

template <class Scalar>
status all_of_verification(const device_batch<Scalar>& batch, const device_rounds<Scalar>& rounds,
                           const device_uniforms<>& random, const drafted_token* drafted, const law* laws,
                           device_acceptance* tests, device_token* tokens, const device_verdicts& out,
                           device_memory scratch) {
  status why = accept(exec::cuda{}, batch, drafted, random.at(purpose::acceptance), tests);
  if (why.ok()) why = residual(exec::cuda{}, batch, laws, random.at(purpose::residual_draw), tokens);
  if (why.ok()) why = verify_batch(exec::cuda{}, device_token_rule{}, rounds, random, out, scratch);
  return why.ok() ? verify_batch(exec::cuda{}, device_greedy_rule{}, rounds, out) : why;
}

template <class Scalar>
status token_from_blocks(const device_batch<Scalar>& batch, const device_row_blocks& claims,
                         const device_uniforms<>& random, device_token* tokens) {
  const status why = read_rows_from_blocks(exec::cuda{}, batch, claims);
  return why.ok() ? sample(exec::cuda{}, batch, claims, random.at(purpose::draft_draw), tokens) : why;
}

#define SPECVERIFY_KERNELS_OF(Scalar)                                                                                 \
  template status all_of_a_step(const device_batch<Scalar>&, const device_uniforms<>&, device_argmax*, device_token*, \
                                const device_supports&);                                                              \
  template status all_laws(const device_batch<Scalar>&, const device_supports&, const device_laws&);                  \
  template status all_of_rows(const device_batch<Scalar>&, device_value*, const device_probabilities&,                \
                              const device_weights&);                                                                 \
  template status all_lists(const device_batch<Scalar>&, const device_laws&, const device_supports&);                 \
  template status temperature_perturbation(exec::cuda, const device_batch<Scalar>&, const token_id*,                  \
                                           const perturbation_options&, const device_uniforms<>&,                     \
                                           device_disagreement*);                                                     \
  template status all_of_verification(const device_batch<Scalar>&, const device_rounds<Scalar>&,                      \
                                      const device_uniforms<>&, const drafted_token*, const law*, device_acceptance*, \
                                      device_token*, const device_verdicts&, device_memory);                          \
  template status token_from_blocks(const device_batch<Scalar>&, const device_row_blocks&, const device_uniforms<>&,  \
                                    device_token*)
SPECVERIFY_KERNELS_OF(float);
SPECVERIFY_KERNELS_OF(bfloat16_bits);
#if !defined(SPECVERIFY_WITHOUT_FLOAT16)  // a third of the time
SPECVERIFY_KERNELS_OF(float16_bits);
#endif

status answers_of_a_device(device_answers* answers) { return known_answers(exec::cuda{}, answers); }

#endif

}  // namespace specverify

#if !defined(SPECVERIFY_PLANTED_ARRAY) && !defined(SPECVERIFY_HEADERS_ALONE)
#include "../../examples/cuda/one_step.cu"
#include "../../examples/cuda/verify_batch.cu"
#endif
