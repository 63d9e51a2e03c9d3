// SPDX-License-Identifier: Apache-2.0
// Random numbers are a function of where they are used.
#include <specverify/core/random.hpp>

int main() {
  using namespace specverify;
  const philox device{{{0x5ec4e7, 17}}}, cloud{{{0x5ec4e7, 18}}};  // a key each; sessions derive theirs
  const random_counter at_position_9{9, 2, 0, purpose::acceptance, 0};
  if (!(cloud(at_position_9) == cloud(at_position_9))) return 1;  // a restarted cloud repeats its verdict
  if (cloud(at_position_9) == device(at_position_9)) return 2;    // and the device cannot foresee it
  const double u = decision_uniform(cloud(at_position_9));
  if (!(u >= 0 && u < 1)) return 3;
  return uniform_integer(device, {9, 2, 0, purpose::draft_draw, 0}, 100) < 100 ? 0 : 4;
}
