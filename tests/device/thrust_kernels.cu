// SPDX-License-Identifier: Apache-2.0
// Every function of device/ on a CUDA stream, for one type of row. nvcc compiles this unit (scripts/nvcc --thrust).
#include <specverify/device/accept.hpp>
#include <specverify/device/argmax.hpp>
#include <specverify/device/digest.hpp>
#include <specverify/device/fp16_counts.hpp>
#include <specverify/device/integer_weights.hpp>
#include <specverify/device/lattice.hpp>
#include <specverify/device/log_sum_exp.hpp>
#include <specverify/device/residual.hpp>
#include <specverify/device/sample.hpp>
#include <specverify/device/select.hpp>
#include <specverify/device/softmax.hpp>
#include <specverify/device/temperature_perturbation.hpp>
#include <specverify/device/threshold.hpp>
#include <specverify/device/verify.hpp>

namespace specverify {

struct everything {
  device_argmax* best;
  device_token* tokens;
  device_value* values;
  device_disagreement* disagreements;
  device_acceptance* accepted;
  const drafted_token* drafted;
  const token_id* drafts;
  const law* subtracted;
  device_supports supports;
  device_laws laws;
  device_weights weights;
  device_probabilities probabilities;
  device_verdicts verdicts;
};

template <class Policy, class Scalar>
status draw_all(const exec::thrust_on<Policy>& how, const device_rounds<Scalar>& rounds,
                const device_batch<Scalar>& batch, const device_uniforms<>& random, const everything& out) {
  status why = argmax(how, batch.rows, batch.transform, out.best);
  if (why.ok()) why = read_rows(how, batch, {true, true});
  if (why.ok()) why = sample(how, batch, random.at(purpose::draft_draw), out.tokens);
  if (why.ok()) why = accept(how, batch, out.drafted, random.at(purpose::acceptance), out.accepted);
  if (why.ok()) why = residual(how, batch, out.subtracted, random.at(purpose::residual_draw), out.tokens);
  if (why.ok()) why = verify_batch(how, device_token_rule{}, rounds, random, out.verdicts);
  return why.ok() ? verify_batch(how, device_greedy_rule{}, rounds, out.verdicts) : why;
}

template <class Policy, class Scalar>
status list_all(const exec::thrust_on<Policy>& how, const device_batch<Scalar>& batch, const device_uniforms<>& random,
                const everything& out) {
  status why = select(how, batch, 16, out.supports);
  if (why.ok()) why = select_above(how, batch, 0.01, out.supports);
  if (why.ok()) why = fp16_counts(how, batch, out.laws);
  if (why.ok()) why = quantize(how, batch, 100, out.laws);
  if (why.ok()) why = quantize(how, batch.rows.count, out.supports, 100, out.laws);
  if (why.ok()) why = log_sum_exp(how, batch.rows, batch.transform, out.values);
  if (why.ok()) why = softmax(how, batch.rows, batch.transform, out.probabilities);
  if (why.ok()) why = integer_weights(how, batch.rows, batch.transform, out.weights);
  return why.ok() ? temperature_perturbation(how, batch, out.drafts, {}, random, out.disagreements) : why;
}

#if defined(THRUST_CUB_WRAPPED_NAMESPACE)
namespace thrust = THRUST_CUB_WRAPPED_NAMESPACE::thrust;
#endif
#if !defined(SPECVERIFY_SCALAR)
#define SPECVERIFY_SCALAR float
#endif
status do_all(cudaStream_t stream, const device_rounds<SPECVERIFY_SCALAR>& rounds,
              const device_batch<SPECVERIFY_SCALAR>& batch, const device_uniforms<>& random, const everything& out) {
  const exec::thrust_on how{thrust::cuda::par.on(stream)};
  const status why = draw_all(how, rounds, batch, random, out);
  return why.ok() ? list_all(how, batch, random, out) : why;
}

}  // namespace specverify
