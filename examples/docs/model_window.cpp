// SPDX-License-Identifier: Apache-2.0
// The same drafter on a slow and on a fast link.
#include <specverify/policy/model_window.hpp>

int main() {
  using namespace specverify;
  model_window window;
  window.model.vocab_size = 50272;     // in a session it may be left out
  window.model.times = {8e-3, 45e-3};  // 8 ms per draft, 45 ms per verification
  observation seen;
  seen.uplink_rate = 350e3f;
  const draft_plan slow = window.begin(seen);
  seen.uplink_rate = 4e6f;
  const draft_plan fast = window.begin(seen);
  if (slow.resolution != 240 || slow.max_draft_length >= fast.max_draft_length) return 1;
  // nothing is accepted any more
  for (int round = 0; round < 100; ++round) record_round(seen, 5, 0, 1, 500, fast.resolution);
  return window.begin(seen).max_draft_length == 1 ? 0 : 2;
}
