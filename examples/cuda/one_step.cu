// SPDX-License-Identifier: Apache-2.0
// Runs one step of a batch on a stream: a token and the 16 largest entries for each row of bf16 logits.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>

using namespace specverify;

// Device memory of a step. The engine allocates it once.
struct step_memory {
  device_memory digests;       // device_batch_size(rows, transform) bytes, aligned to 64
  device_uniforms<> uniforms;  // keys, positions and rounds, read when the kernels run
  device_token* tokens;        // one per row
  device_supports supports;    // 16 entries per row
};

// Enqueues three kernels and returns, so a graph can capture it.
status enqueue_step(const device_rows<bfloat16_bits>& rows, double temperature, const step_memory& memory,
                    cudaStream_t stream) {
  device_transform transform;
  transform.temperature = temperature;
  const auto batch = make_device_batch(rows, transform, memory.digests);
  if (!batch) return batch.error();

  const exec::cuda on{stream};
  if (const status why = read_rows(on, *batch); !why.ok()) return why;
  if (const status why = sample(on, *batch, memory.uniforms.at(purpose::bonus_draw), memory.tokens); !why.ok())
    return why;
  return select(on, *batch, 16, memory.supports);
}
