// SPDX-License-Identifier: Apache-2.0
// One step of a batch on a stream: a digest, a token and the 16 largest entries of each row of bf16 logits.
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>

using namespace specverify;

// Device memory of a step, made once by the engine.
struct step_memory {
  void* digests;                            // cuda::digest_batch_size(rows, vocabulary) bytes, aligned to 64
  const philox_key* key;                    // one for all rows
  const std::uint32_t *positions, *rounds;  // one a row
  cuda::batch_token* tokens;                // one a row
  cuda::support_batch supports;             // 16 entries a row
};

// Enqueues three kernels and returns. A graph may capture them: positions and rounds are read when they run.
status enqueue_step(const cuda::logit_rows<bfloat16_bits>& rows, double temperature, const step_memory& memory,
                    cudaStream_t stream) {
  cuda::batch_transform transform;
  transform.temperature = temperature;
  const cuda::digest_batch digests = cuda::digests_in(memory.digests, rows.count, rows.size);
  if (const status why = cuda::digest_rows(rows, transform, digests, stream); !why.ok()) return why;

  cuda::batch_draw draw;
  draw.uniforms.keys = memory.key;
  draw.uniforms.positions = memory.positions;
  draw.uniforms.rounds = memory.rounds;
  draw.uniforms.use = purpose::bonus_draw;
  if (const status why = cuda::sample_rows(rows, transform, digests, draw, memory.tokens, stream); !why.ok())
    return why;
  return cuda::select_rows(rows, transform, digests, 16, memory.supports, stream);
}
