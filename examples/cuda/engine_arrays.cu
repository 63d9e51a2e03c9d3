// SPDX-License-Identifier: Apache-2.0
// Converts a serving engine's arrays to a batch and back: one kernel before verify_batch and one after. A graph can
// capture all three.
#include <specverify/cuda/verify.cuh>

using namespace specverify;

// Arrays of the engine, in device memory. A null pointer in `sampling` means that the option is off.
struct engine_arrays {
  struct {
    const float* temperatures;  // indexed by request, like the next ones
    const std::int32_t* top_k;  // below 1, or at least V: off
    const float* top_p;
    const float* min_p;
  } sampling;
  const std::int32_t* draft_ids;  // of all requests
  std::int32_t* tokens;           // output, requests x width: tokens to commit, then -1
  std::uint32_t width;            // maximum drafts of a request, plus 1
};

// Arrays that the kernel below writes, in device memory. The rounds point to them.
struct batch_arrays {
  double* temperatures;         // indexed by row
  row_truncation* truncations;  // indexed by row
  device_draft* drafts;         // indexed by draft
};

// One thread block per request, whose rows begin at draft_begin[i] + i.
__global__ void take_kernel(engine_arrays in, device_rounds<float> rounds, batch_arrays out) {
  const std::uint32_t i = blockIdx.x, first = rounds.draft_begin[i], last = rounds.draft_begin[i + 1];
  row_truncation cut;
  if (in.sampling.top_k != nullptr && in.sampling.top_k[i] > 0)
    cut.top_k = static_cast<std::uint32_t>(in.sampling.top_k[i]);
  if (cut.top_k >= rounds.rows.size) cut.top_k = 0;
  if (in.sampling.top_p != nullptr) cut.top_p = static_cast<double>(in.sampling.top_p[i]);
  if (in.sampling.min_p != nullptr) cut.min_p = static_cast<double>(in.sampling.min_p[i]);
  for (std::uint32_t at = first + threadIdx.x; at <= last; at += blockDim.x) {
    out.temperatures[at + i] =
        in.sampling.temperatures == nullptr ? 1.0 : static_cast<double>(in.sampling.temperatures[i]);
    out.truncations[at + i] = cut;
    if (at < last) out.drafts[at] = {in.draft_ids[at], 0, 0, {}};  // a point mass
  }
}

__global__ void give_kernel(engine_arrays out, device_rounds<float> rounds, const device_verdict* verdicts) {
  const std::uint32_t i = blockIdx.x;
  const verdict& made = verdicts[i].decided;
  const bool usable = verdicts[i].why.ok() && made.outcome == verdict_outcome::decided;
  for (std::uint32_t k = threadIdx.x; k < out.width; k += blockDim.x) {
    std::int32_t token = -1;
    if (usable && k < made.accepted) token = rounds.drafts[rounds.draft_begin[i] + k].token;
    if (usable && k == made.accepted) token = made.next_token;
    out.tokens[i * out.width + k] = token;
  }
}

// Call it before verify_memory_size, because the workspace depends on whether rows may be truncated. Set kept_capacity
// yourself.
inline void point_to(device_rounds<float>& rounds, const batch_arrays& arrays) {
  rounds.drafts = arrays.drafts;
  rounds.transform.temperatures = arrays.temperatures;
  rounds.transform.truncations = arrays.truncations;
}

template <class... Parameters>
status launch(cudaStream_t stream, std::uint32_t blocks, void (*kernel)(Parameters...), Parameters... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(32);
  config.stream = stream;
  const cudaError_t why = cudaLaunchKernelEx(&config, kernel, arguments...);
  return why == cudaSuccess ? status{} : status{errc::engine_failed, part::host, static_cast<std::uint32_t>(why)};
}

status enqueue_step(const engine_arrays& engine, const device_rounds<float>& rounds, const batch_arrays& arrays,
                    const device_uniforms<>& random, device_verdict* verdicts, device_memory scratch,
                    cudaStream_t stream) {
  if (const status why = launch(stream, rounds.count, take_kernel, engine, rounds, arrays); !why.ok()) return why;
  const status why =
      verify_batch(exec::cuda{stream}, device_token_rule{}, rounds, random, {verdicts, nullptr}, scratch);
  if (!why.ok()) return why;
  return launch(stream, rounds.count, give_kernel, engine, rounds, static_cast<const device_verdict*>(verdicts));
}
