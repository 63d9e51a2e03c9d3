// SPDX-License-Identifier: Apache-2.0
// Every kernel of cuda/ for every type of row, as a unit that nvcc compiles; scripts/kernel_limits reads what ptxas
// says.
#include <specverify/cuda/argmax.cuh>
#include <specverify/cuda/digest.cuh>
#include <specverify/cuda/sample.cuh>
#include <specverify/cuda/select.cuh>
#if __cplusplus >= 202002L  // next to the rest of the library
#include <specverify/specverify.hpp>
#endif

namespace specverify::cuda {

#if defined(SPECVERIFY_PLANTED_ARRAY)  // what must be refused: an array outside of registers, a fused sum
__global__ void planted_kernel(const int* in, int* out, float* sums) {
  int local[64] = {};
  for (int i = 0; i < 64; ++i) local[in[i] & 63] += i;
  sums[0] = sums[1] * sums[2] + sums[3];
  out[0] = local[in[64] & 63] + local[in[65] & 63];
}
#else

template <class Scalar>
status all_of_a_step(const logit_rows<Scalar>& rows, const digest_batch& digests, batch_argmax* best,
                     batch_token* tokens, const support_batch& supports) {
  const batch_transform transform;
  status why = argmax_rows(rows, transform, best, nullptr);
  if (why.ok()) why = digest_rows(rows, transform, digests, nullptr);
  if (why.ok()) why = sample_rows(rows, transform, digests, batch_draw{}, tokens, nullptr);
  return why.ok() ? select_rows(rows, transform, digests, 16, supports, nullptr) : why;
}

template status all_of_a_step<float>(const logit_rows<float>&, const digest_batch&, batch_argmax*, batch_token*,
                                     const support_batch&);
template status all_of_a_step<float16_bits>(const logit_rows<float16_bits>&, const digest_batch&, batch_argmax*,
                                            batch_token*, const support_batch&);
template status all_of_a_step<bfloat16_bits>(const logit_rows<bfloat16_bits>&, const digest_batch&, batch_argmax*,
                                             batch_token*, const support_batch&);

#endif

}  // namespace specverify::cuda

#include "../../examples/cuda/one_step.cu"
