// SPDX-License-Identifier: Apache-2.0
// One value says where the text stands; every use of randomness there has a stream of its own.
#include <specverify/core/uniforms.hpp>

int main() {
  using namespace specverify;
  const uniforms here{philox{{{0x5ec4e7, 17}}}, 9, 2};  // position 9, round 2
  const auto accept = here.at(purpose::acceptance), residual = here.at(purpose::residual_draw);
  if (accept.uniform() == residual.uniform()) return 1;  // purposes never share a number
  if (!(accept.block() == here.source({9, 2, 0, purpose::acceptance, 0}))) return 2;
  if (!(residual.block(3) == here.source({9, 2, 3, purpose::residual_draw, 0}))) return 3;  // trial 3 stands in lane 3
  const uniforms next = here.after(1);
  if (next.position != 10 || next.round != 2) return 4;
  return next.at(purpose::draft_draw).integer(100) < 100 ? 0 : 5;
}
