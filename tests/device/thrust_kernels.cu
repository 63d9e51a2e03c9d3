// SPDX-License-Identifier: Apache-2.0
// Every function of device/ on a CUDA stream, as a unit that nvcc compiles (scripts/thrust_cuda).
#include <specverify/device/argmax.hpp>
#include <specverify/device/digest.hpp>
#include <specverify/device/integer_weights.hpp>
#include <specverify/device/lattice.hpp>
#include <specverify/device/log_sum_exp.hpp>
#include <specverify/device/sample.hpp>
#include <specverify/device/select.hpp>
#include <specverify/device/softmax.hpp>

namespace specverify {

struct everything {
  device_argmax* best;
  device_token* tokens;
  device_value* values;
  device_supports supports;
  device_laws laws;
  device_weights weights;
  device_probabilities probabilities;
};

template <class Policy, class Scalar>
status do_all(const Policy& policy, const device_batch<Scalar>& batch, const device_uniforms<>& random,
              const everything& out) {
  const exec::thrust_on<Policy> how{policy};
  status why = argmax(how, batch.rows, batch.transform, out.best);
  if (why.ok()) why = read_rows(how, batch, {true, true});
  if (why.ok()) why = sample(how, batch, random.at(purpose::draft_draw), out.tokens);
  if (why.ok()) why = select(how, batch, 16, out.supports);
  if (why.ok()) why = quantize(how, batch, 100, out.laws);
  if (why.ok()) why = quantize(how, batch.rows.count, out.supports, 100, out.laws);
  if (why.ok()) why = log_sum_exp(how, batch.rows, batch.transform, out.values);
  if (why.ok()) why = softmax(how, batch.rows, batch.transform, out.probabilities);
  return why.ok() ? integer_weights(how, batch.rows, batch.transform, out.weights) : why;
}

status do_all_on(cudaStream_t stream, const device_batch<float>& batch, const device_uniforms<>& random,
                 const everything& out) {
  return do_all(thrust::cuda::par_nosync.on(stream), batch, random, out);
}

}  // namespace specverify
