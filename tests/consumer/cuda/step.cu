// SPDX-License-Identifier: Apache-2.0
// A host of kernels: what is refused before anything is launched needs no GPU.
#include "one_step.cu"

#if __cplusplus >= 202002L  // next to the rest of the library
#include <specverify/specverify.hpp>
#endif

int main() {
  const bfloat16_bits row[4]{};
  const step_memory memory{};
  if (enqueue_step({nullptr, 4, 1, 4}, 1.0, memory, nullptr).code != errc::null_span) return 1;
  if (enqueue_step({row, 3, 1, 4}, 1.0, memory, nullptr).code != errc::size_mismatch) return 2;
  if (enqueue_step({row, 4, 1, 4}, -1.0, memory, nullptr).code != errc::invalid_temperature) return 3;
#if __cplusplus >= 202002L
  const float logits[4]{0.0f, 1.0f, 3.0f, 2.0f};
  const auto best = argmax(exec::seq, row_view<float>{row_kind::logits, logits, 4}, {});
  if (!best || best->token != token_id{2}) return 4;
#endif
  return 0;
}
