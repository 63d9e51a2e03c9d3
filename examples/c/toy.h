// SPDX-License-Identifier: Apache-2.0
// Defines the models of the three programs. The logits are a function of the last token; the small model gets the large
// model's logits with noise.
#ifndef TOY_H
#define TOY_H

#include <stdint.h>

enum { toy_vocab_size = 1000 };

static inline float toy_logit(int32_t last, uint32_t v, float noise) {
  uint32_t bits = ((v + 1) * 2654435761u) ^ (((uint32_t)last + 1) * 2246822519u);
  bits = (bits ^ (bits >> 15)) * 739982445u;
  const float large = (float)(bits >> 16) / 65536, small = (float)(bits & 65535) / 65536;
  return 16 * large * large * large + noise * small;
}

#endif
