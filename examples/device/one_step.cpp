// SPDX-License-Identifier: Apache-2.0
// Runs one step of a batch with Thrust: a token and the 16 largest entries for each row of bf16 logits.
#include <specverify/device/digest.hpp>
#include <specverify/device/sample.hpp>
#include <specverify/device/select.hpp>

using namespace specverify;

// Device memory of a step. The engine allocates it once.
struct step_memory {
  device_memory digests;       // device_batch_size(rows, transform) bytes, aligned to 64
  device_uniforms<> uniforms;  // keys, positions and rounds
  device_token* tokens;        // one per row
  device_supports supports;    // 16 entries per row
};

// Any policy of Thrust: thrust::device, thrust::cuda::par(allocator).on(stream), thrust::omp::par.
template <class Policy>
status run_step(const Policy& policy, const device_rows<bfloat16_bits>& rows, double temperature,
                const step_memory& memory) {
  device_transform transform;
  transform.temperature = temperature;
  const auto batch = make_device_batch(rows, transform, memory.digests);
  if (!batch) return batch.error();

  const exec::thrust_on<Policy> how{policy};
  if (const status why = read_rows(how, *batch); !why.ok()) return why;
  if (const status why = sample(how, *batch, memory.uniforms.at(purpose::bonus_draw), memory.tokens); !why.ok())
    return why;
  return select(how, *batch, 16, memory.supports);
}
