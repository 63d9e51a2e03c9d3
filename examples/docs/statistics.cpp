// SPDX-License-Identifier: Apache-2.0
// Two rounds counted, then the figures that have one formula each.
#include <specverify/session/statistics.hpp>

int main() {
  using namespace specverify;
  session_statistics first, second;
  count_drafts(first, 4, 3, 2);  // 4 drafted, 3 looked at, 2 accepted
  first.emitted = 3;             // 2 accepted and the target's own token
  first.bytes_up = 60;
  count_drafts(second, 4, 4, 4);
  second.emitted = 5;
  second.bytes_up = 60;
  merge(first, second);
  if (accepted_per_round(first) != 3.0 || tokens_per_round(first) != 4.0) return 1;
  if (acceptance_per_drafted(first) != 0.75 || acceptance_per_evaluated(first) != 6.0 / 7.0) return 2;
  return uplink_bits_per_token(first) == 120.0 && acceptance_at(first, 2) == 0.5 ? 0 : 3;
}
