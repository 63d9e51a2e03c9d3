// SPDX-License-Identifier: Apache-2.0
// What skipping uploads saves on a link.
#include <specverify/link/energy.hpp>

int main() {
  using namespace specverify;
  const power_options power;  // 10 W device, 1.5 W radio, 250 W server
  if (!check(power).ok()) return 1;
  channel_state link;
  link.uplink_rate = 2e6;
  const energy_times full = round_energy_times({}, 736000, 15, link);
  const energy_times compressed = round_energy_times({}, 4600, 15, link);
  energy_meter always, gated;
  for (int round = 0; round < 4; ++round) {
    always.add(round_energy(power, full, true), true);
    gated.add(round_energy(power, compressed, round == 0), round == 0);  // one round in four is uncertain
  }
  const double saved = energy_saving(gated.energy, always.energy);
  return gated.uploads == 1 && saved > 0.5 && saved < 1 ? 0 : 2;
}
