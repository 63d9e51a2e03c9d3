// SPDX-License-Identifier: Apache-2.0
// The same plan for every round.
#include <specverify/policy/window.hpp>

int main() {
  using namespace specverify;
  const fixed_window window{{6, 100, 16}};  // L = 6 drafts, resolution 100, K = 16
  observation seen;
  const draft_plan first = window.begin(seen);
  record_round(seen, first.max_draft_length, 2, 3, 120);  // 6 drafted, 2 accepted, 3 committed, 120 bytes sent
  if (seen.round != 2 || seen.position != 3 || seen.last_accepted != 2) return 1;
  return window.begin(seen) == first && window.proceed(seen.position, law{}, 400) ? 0 : 2;
}
